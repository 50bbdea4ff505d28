"""Conversations with tools, as they stand in prompts: what is read of them there, and what is missing."""

import random
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import native_templates
from native_known import Known

from rig.core.calls import Call, Outcome
from rig.core.models import CallMessage, Message, ReplyMessage, ToolDoc, UserMessage
from rig.plugins.llama.core.template import ChatMessage
from rig.plugins.llama.formats.form import NativeFormat
from rig.plugins.llama.formats.reader import CallReader, NotRead, _literal

_WHERE = {
    "type": "object",
    "properties": {
        "place": {"type": "string"},
        "near": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
    },
    "required": ["place"],
}
_EITHER = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
PLAN = ToolDoc(
    "plan_trip",
    "Plans it.",
    {
        "type": "object",
        "properties": {
            "where": _WHERE,
            "either": _EITHER,
            "lines": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
            "text": {"type": "string"},
        },
        "required": ["where"],
    },
)
_TEXTS = ('Say "yes" & <b>', " ä\n語 😀 ", "it's", "a\\n", "[x]", "two  words", "{}", "7")


class Talk(NamedTuple):
    """A conversation: its tools, its messages, and the calls and thoughts of each of the model's messages."""

    tools: tuple[ToolDoc, ...]
    messages: tuple[Message, ...]
    calls: tuple[tuple[Call, ...], ...]
    thoughts: tuple[str, ...]


def talk(source: random.Random) -> Talk:
    """A conversation of two turns. Each word of users, results and thoughts is there once."""
    tools = (*native_templates.tools(source), PLAN)
    messages: list[Message] = []
    calls: list[tuple[Call, ...]] = []
    thoughts: list[str] = []
    for turn in range(2):
        messages.append(UserMessage(f"question{turn}x {source.choice(_TEXTS)} y"))
        for step in range(source.randint(1, 2)):
            made = tuple(_call(source, tools) for _ in range(source.choice((1, 1, 2, 3))))
            thought = f"thought{turn}{step}x" if source.random() < 0.7 else ""
            content = "I look." if source.random() < 0.3 else ""
            for number, call in enumerate(made):
                result = Outcome(f"result{len(calls)}{number}x {source.choice(_TEXTS)}")
                first = number == 0
                messages.append(
                    CallMessage(
                        call,
                        result,
                        joins=not first,
                        content=content if first else "",
                        reasoning=thought if first else "",
                    )
                )
            calls.append(made)
            thoughts.append(thought)
        messages.append(ReplyMessage(f"answer{turn}x", f"closing{turn}x"))
        thoughts.append(f"closing{turn}x")
    messages.append(UserMessage("question9x"))
    return Talk(tools, tuple(messages), tuple(calls), tuple(thoughts))


def _call(source: random.Random, tools: tuple[ToolDoc, ...]) -> Call:
    if source.random() < 0.6:
        return native_templates.call(source, tools[:-1])
    near = [{"name": source.choice(_TEXTS)} for _ in range(source.randint(0, 2))]
    rest: dict[str, Any] = {
        "either": source.choice(("a b", 12, "x", -3)),
        "lines": [[1, 2], [], [source.randint(-9, 9)]][: source.randint(0, 3)],
        "text": source.choice(_TEXTS),
    }
    kept = {name: value for name, value in rest.items() if source.random() < 0.7}
    return Call(PLAN.name, {"where": {"place": source.choice(_TEXTS), "near": near}, **kept})


def prompt(each: Known, form: NativeFormat, messages: tuple[Message, ...]) -> str:
    """The prompt of a conversation, as `PromptBuilder` has it made."""
    chat = [message.with_written_calls() for message in form.write(messages)]
    offer = form.offer()
    declared, variables = offer.declarations, dict(form.variables)
    if declared and offer.declared_as != "tools":
        variables[offer.declared_as], declared = list(declared), ()
    system = ChatMessage("system", ("\n\n".join(filter(None, ("Be brief.", offer.rules, offer.tools))),))
    fragments = each.template.render([system, *chat], declared, variables)
    return "".join(fragment.text for fragment in fragments)


def _first(reader: CallReader, text: str, begins: Iterable[tuple[int, str]]) -> tuple[list[Call], int]:
    """The calls that begin first; a result may hold a short opening as well."""
    for place, opening in begins:
        with suppress(NotRead):
            return reader.read(text, place, opening)
    return [], 0


def faults(each: Known, source: random.Random) -> Iterator[str]:
    """What is wrong with one conversation's prompt: calls that are read as others, and what is missing."""
    made = talk(source)
    if "Hermes-3" in each.name and "null" in repr(made.tools):
        return  # its macro goes on for ever
    form = each.form(made.tools, thinking="auto" if each.native.thinking.on is None else "on")
    text = prompt(each, form, made.messages)
    if missing := [tool.name for tool in made.tools if tool.name not in text]:
        yield f"tools are missing: {missing}"
    reader = CallReader(each.native.shape, form.checker.schemas, loose=False)
    shape = each.native.shape
    # gpt-oss is shown the name in another place than where it writes it.
    opening = (shape.open or shape.trigger) if shape.lead else "".join(shape.opening[1:])
    others = [text.removeprefix(shape.open).strip() for text in (shape.lead, each.native.thinking.open)]
    others = [text for text in others if text]
    not_words = f"(?!{'|'.join(map(re.escape, others))})" if shape.lead else ""
    if any("of later messages in another form" in fault for fault in each.native.faults):
        opening = opening.removeprefix(shape.trigger)
    place = text.index("question0x")
    for number, calls in enumerate(made.calls):
        read: list[Call] = []
        while len(read) < len(calls):
            begins = re.finditer(f"{_literal(opening, False).pattern}{not_words}", text[place:])
            some, end = _first(reader, text, ((place + begun.start(), begun[0]) for begun in begins))
            if not some:
                yield f"{calls} are not shown after {text[place : place + 90]!r}"
                return
            place = end
            read += some
            place = max(place, text.find(f"result{number}{len(read) - 1}x", place))
        expected = [Call(call.name, shape.ordered(call.arguments)) for call in calls]
        read, expected = each.told(read), each.told(expected)
        if repr(read) != repr(expected):
            yield f"{expected} are read as {read}"
    for kind in ("question", "answer"):
        for turn in range(2):
            if f"{kind}{turn}x" not in text:
                yield f"{kind} {turn} is missing"
    kept = each.native.thinking.kept
    if kept == "in part":
        return
    for thought in filter(None, made.thoughts):
        # The last message is the user's.
        expected = kept == "always" or (kept == "beside calls" and thought.startswith("thought"))
        if (thought in text) != expected:
            yield f"{thought} is {'shown' if thought in text else 'missing'}, thoughts are kept {kept}"
    during = made.messages[:-2]
    within = prompt(each, form, during)
    last = [message for message in during if isinstance(message, CallMessage) and message.reasoning]
    for message in last:
        is_now = during.index(message) > max(n for n, m in enumerate(during) if isinstance(m, UserMessage))
        if (message.reasoning in within) != (
            kept in ("always", "beside calls") or (kept == "within a turn" and is_now)
        ):
            yield f"{message.reasoning} is wrong within the turn, thoughts are kept {kept}"
