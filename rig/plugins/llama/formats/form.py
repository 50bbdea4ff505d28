"""A model's own form of answers, and the choice of an answer format for a model by name."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import ClassVar, NamedTuple

from rig.config.engine import GrammarArm, LeakedCalls, ThinkingArm
from rig.core import registry as plugins
from rig.core.calls import Call, Json, JsonObject, Outcome
from rig.core.errors import RigError
from rig.core.models import BROKEN, OWN, Message, ReplyMessage, ToolDoc, UserMessage
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.core.template import QUIET, ChatMessage, ChatTemplate, ToolCall
from rig.plugins.llama.formats import base, leaks
from rig.plugins.llama.formats.base import AnswerFormat, Offer, Reading, RigFormat, Span, prompt_json
from rig.plugins.llama.formats.detection import Native, Unsupported, family_native, native_of, thoughts_of
from rig.plugins.llama.formats.probe import MARKER, Probe
from rig.plugins.llama.formats.reader import NAME, CallReader, NotRead
from rig.plugins.llama.formats.salvage import AnswerError, check_unicode
from rig.plugins.llama.formats.shape import AGAIN, HOLES, ID, INDEX, ORDINAL
from rig.plugins.llama.grammar.language import Arguments, Language, Maybe, Pattern, RegexText
from rig.plugins.llama.grammar.schema import SchemaError

_NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}, "additionalProperties": False}
_UNIT = re.compile(rf"(?:{MARKER.pattern})\w{{1,40}}(?:{MARKER.pattern})")
"""Marks that are one only together, with a word between them."""
_PYTHON_TAG = "<|python_tag|>"
"""Llama 3 may write this before a call, as text without a meaning."""


class NativeFormat(AnswerFormat):
    """The form that `native` describes, for one set of tools."""

    name: ClassVar[str] = "native"
    version: ClassVar[str] = "1"

    def __init__(
        self,
        tools: tuple[ToolDoc, ...],
        grammar: GrammarArm,
        template: ChatTemplate,
        *,
        native: Native,
        thinking: ThinkingArm = "auto",
        leaked: LeakedCalls = "lenient",
    ) -> None:
        super().__init__(tools, grammar, template)
        self._native = native
        self._leaks = leaks.LeakReader(self.checker, is_strict=leaked == "strict")
        self._shape = native.shape
        self._schemas = {name: self._arranged(schema) for name, schema in self.checker.schemas.items()}
        if strange := [tool for tool in self._schemas if not NAME.fullmatch(tool)]:
            raise SchemaError(f"{strange[0]!r} is no name that can be called in a model's own form")
        on, off = native.thinking.on or {}, native.thinking.off or QUIET
        self.variables = {"auto": {}, "on": on, "off": off}[thinking]
        self._reply_tool = "" if native.reply_tool in self._schemas else native.reply_tool
        self._off_word = native.thinking.off_word if thinking == "off" else ""
        prompt = Probe(template).after_question([], generation=True, variables=self.variables) or ""
        self._thoughts = thoughts_of(native.thinking, prompt, may_begin=thinking != "off")
        mark = native.words[0]
        # Some templates end the prompt with the mark that begins an answer; then the model does not write it.
        self._mark_is_in_prompt = bool(mark) and prompt.endswith(mark)
        self._language = self._made_language()

    def _arranged(self, part: Json) -> Json:
        """Return a schema with its properties in the order in which the form writes them."""
        if isinstance(part, list):
            return [self._arranged(item) for item in part]
        if not isinstance(part, Mapping):
            return part
        arranged = {key: self._arranged(value) for key, value in part.items()}
        if isinstance(properties := arranged.get("properties"), dict):
            arranged["properties"] = {name: properties[name] for name in self._shape.names(properties)}
        return arranged

    def offer(self) -> Offer:
        switch = self._off_word
        if self._native.tools_in:
            return Offer(
                switch, "", base.declarations(self.tools), self._native.declared_as, context_apart=True
            )
        example = self._shape.write((Call("NAME", {"PARAMETER": "VALUE"}),))
        rules = "\n\n".join(filter(None, (_RULES.format(example=example), switch)))
        return Offer(rules, base.declarations_in_words(self.tools))

    def _made_language(self) -> Language:
        shape = self._shape
        before, trigger, behind = shape.opening
        before = before.removeprefix(self._native.words[0] if self._mark_is_in_prompt else "")
        also = (Maybe(_filled(shape.also_after)),) if shape.also_after else ()
        # In one piece with the name, since words may begin alike.
        glue = shape.open if shape.lead else ""
        calls = tuple(
            (glue + name, *_filled(after, name), Arguments(schema, shape.arguments), *also)
            for name, schema in self._schemas.items()
            for after in (shape.after_name, *shape.also_after_name)
        )
        no_arguments = Arguments(_NO_PARAMETERS, shape.arguments)
        replies = (self._reply_tool, *_filled(shape.after_name, self._reply_tool), no_arguments, *also)
        marks = {*self._native.words, _PYTHON_TAG, *MARKER.findall(before)}
        if self._thoughts is None and self._native.thinking.known:
            marks.add(self._native.thinking.close)
        pieces = {piece for mark in marks for piece in (MARKER.findall(mark) or [mark]) if piece}
        if any(trigger.startswith(piece) and trigger != piece for piece in pieces):
            # A single one could begin calls; what it is part of does not.
            pieces = {unit for mark in self._native.words for unit in _UNIT.findall(mark)}
        return Language(
            calls=calls,
            replies=(replies,) if self._reply_tool else (),
            trigger=trigger,
            prefix=_filled(behind.removesuffix(glue)),
            separator=_filled(shape.between.removesuffix(glue)),
            suffix=_filled(shape.close),
            lead=shape.lead,
            call_lead=before,
            thoughts=self._thoughts,
            marks=frozenset(pieces),
            leaks={} if self._leaks.is_strict else self._schemas,
        )

    def write(self, messages: Sequence[Message]) -> list[ChatMessage]:
        write = None if self._native.shows_calls else self._shape.write
        several = bool(self._shape.between)
        chat = chat_messages(
            messages, self._tool_call, self._result, self._native.thinking.key, write, several=several
        )
        return [self._without_words(message) for message in chat]

    def _without_words(self, message: ChatMessage) -> ChatMessage:
        """Return a message without its words, where the template does not take them beside its calls."""
        takes = self._native.words_beside_calls
        if not message.calls or takes == "yes" or (takes == "without thoughts" and not all(message.thoughts)):
            return message
        return replace(message, parts=())

    def _tool_call(self, number: int, call: Call) -> ToolCall:
        identity = f"{number:09}" if self._native.ids == "nine" else f"functions.{call.name}:{number}"
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        return ToolCall(identity, call.name, prompt_json(arguments) if self._native.as_text else arguments)

    def _result(self, tool_call: ToolCall, outcome: Outcome) -> ChatMessage:
        text = result_text(outcome)
        if not self.template.results:
            text = f"Result of {tool_call.name}: {text}"
        return ChatMessage("tool", (text,), name=tool_call.name, call_id=tool_call.id)

    def spans(self, answer: Call | str) -> tuple[Span, ...]:
        """Return an answer's spans; in a reply, whose words are free, only the decision to reply counts."""
        thoughts = self._thoughts
        closing = [Span(f"{thoughts.close}\n\n", "answer")] if thoughts and thoughts.is_open else []
        if isinstance(answer, str):
            begun = self._shape.lead + ("" if self._mark_is_in_prompt else self._native.words[0])
            text, cut = begun + answer, len(begun) + 1
            return *closing, Span(text[:cut], "answer"), Span(text[cut:], None)
        return tuple(span for span in (*closing, *self._shape.spans([answer])) if span.text)

    def read(self, text: str) -> Reading:
        reasoning, answer = self._apart(text)
        try:
            raw_calls, content, notes = self._calls(answer, loose=self.grammar == "none")
        except NotRead as error:
            if leak := self._fullest(self._unclosed(answer), error.calls, answer):
                return self._leaks.take(leak, self._words(answer), reasoning)
            raise AnswerError(str(error), form=f"{BROKEN}{self._shape.trigger.strip()}") from error
        if not raw_calls:
            return self._leaks.read(answer, content, reasoning)
        how = ", ".join(dict.fromkeys(notes))
        raw_calls = [call for call in raw_calls if call != Call(self._reply_tool)]
        check_unicode([call.arguments for call in raw_calls], how)
        if "not closed" in notes and raw_calls:
            own = self._without_end(raw_calls, content)
            fullest = self._fullest(own, own.calls[:-1], answer) or own
            return self._leaks.take(fullest, self._words(answer), reasoning)
        calls = tuple(self.checker.call(call.name, call.arguments, how, OWN) for call in raw_calls)
        return Reading(calls, content, reasoning, how, OWN if calls else "")

    def reasoning(self, text: str) -> str:
        return self._apart(text)[0]

    def _apart(self, text: str) -> tuple[str, str]:
        """Split a text into the thoughts and the answer after them."""
        thinking, thoughts = self._native.thinking, self._thoughts
        begun, opening = text.lstrip(), thinking.open.lstrip()
        is_opened = thinking.known and begun.startswith(opening)
        if not is_opened and not (thoughts and thoughts.is_open):
            return "", text
        if thinking.close not in text and self._shape.trigger in text:
            return "", text  # there were no thoughts, or no mark separates them from the call
        inner = begun[len(opening) :] if is_opened else text
        reasoning, _, answer = inner.partition(thinking.close)
        return reasoning.strip(), answer

    def _fullest(self, own: leaks.Leak | None, whole: Sequence[Call], answer: str) -> leaks.Leak | None:
        """Return the leaked calls of an answer: those in its own form without an end, or more in any form.

        Calls in any form count only if they begin with those that were read whole in the own form.
        """
        other = leaks.leaked(answer, self.checker.schemas)
        names = [call.name for call in other.calls[: len(whole)]] if other else []
        if other is None or names != [call.name for call in whole]:
            return own
        return other if own is None or len(other.calls) > len(own.calls) else own

    def _unclosed(self, answer: str) -> leaks.Leak | None:
        """Return the calls of an answer in the own form if only its end is missing."""
        with suppress(NotRead):
            calls, content, notes = self._calls(answer, loose=True)
            if "not closed" in notes and all(call.name in self.checker.schemas for call in calls):
                return self._without_end(calls, content)
        return None

    def _without_end(self, calls: Sequence[Call], words: str) -> leaks.Leak:
        return leaks.Leak(tuple(calls), f"{self._shape.trigger.strip()} without its end", words)

    def _calls(self, answer: str, *, loose: bool) -> tuple[list[Call], str, list[str]]:
        """Return the calls in an answer, the words beside them, and what was overlooked. Raises NotRead."""
        shape = self._shape
        reader = CallReader(shape, self.checker.schemas, loose=loose)
        before, *opened = shape.opening
        opening = "".join(opened)
        words = answer.partition(shape.trigger)[0]
        at_once = answer.startswith(shape.open) and NAME.match(answer, len(shape.open))
        if shape.lead and not answer.startswith(shape.lead) and (not loose or at_once):
            words, before, opening = "", "", shape.open
        elif shape.trigger not in answer:
            return [], self._words(answer), []
        elif loose and len(shape.trigger) == 1:  # a bracket; words may contain others
            place = reader.first(answer, opening)
            if place is None:
                return [], self._words(answer), []
            words = answer[:place]
        calls, end = reader.read(answer, len(words), opening)
        notes = [*reader.notes]
        if rest := answer[end:].strip():
            if not loose:
                raise NotRead(f"after the calls there is {rest[:30]!r}", calls)
            notes.append("words after the calls")
        return calls, self._words(words.removesuffix(before)), notes

    def _words(self, text: str) -> str:
        opened, closed = self._native.words
        words = text.strip().removeprefix(_PYTHON_TAG)
        for mark in (self._shape.lead.lstrip(), opened):
            words = words.removeprefix(mark)
        ends = _UNIT.match(closed)
        return words.partition(ends[0])[0].strip() if ends else words.removesuffix(closed).strip()


def chat_messages(
    messages: Sequence[Message],
    tool_call: Callable[[int, Call], ToolCall],
    result: Callable[[ToolCall, Outcome], ChatMessage],
    thoughts_key: str,
    write_calls: Callable[[Sequence[ToolCall]], str] | None = None,
    *,
    several: bool = True,
) -> list[ChatMessage]:
    """Return the history in OpenAI's shape: calls are parts of messages, their results separate messages.

    Without `several`, each call is a message of its own. `tool_call` makes a call with its number in the
    history, `result` the message that shows its outcome. Thoughts are shown under `thoughts_key`, or left out
    if that is empty.
    """
    chat: list[ChatMessage] = []
    number, calling = 0, -1  # the place of the message whose calls another may join
    for message in messages:
        if isinstance(message, UserMessage):
            chat.append(ChatMessage("user", (message.text,)))
            calling = -1
            continue
        thoughts = (thoughts_key if message.reasoning else "", message.reasoning)
        if isinstance(message, ReplyMessage):
            chat.append(ChatMessage("assistant", (message.text,), thoughts=thoughts))
            calling = -1
            continue
        call = tool_call(number, message.call)
        number += 1
        if several and message.joins and calling >= 0:
            chat[calling] = replace(chat[calling], calls=(*chat[calling].calls, call))
        else:
            calling = len(chat)
            chat.append(ChatMessage("assistant", (message.content,), (call,), "", "", thoughts, write_calls))
        chat.append(result(call, message.outcome))
    return chat


def result_text(outcome: Outcome) -> str:
    """Return the text that shows a model the outcome of a call."""
    return prompt_json(
        {"exception": outcome.exception} if outcome.exception is not None else outcome.response
    )


_RULES = (
    "You can call tools. To call one, write it exactly in this form,"
    " with the tool's name and its parameters:\n"
    "{example}\n"
    "After a tool was used you are shown its result. When nothing is left to be done, reply in words."
)


def _filled(text: str, name: str = "") -> Pattern:
    """Return a text of a shape as a pattern, with its holes, for a call of this name."""
    number = RegexText("[0-9]{1,4}")
    holes = {ID: RegexText("[A-Za-z0-9]{9}"), INDEX: number, ORDINAL: number}
    parts = re.split(f"({HOLES.pattern})", text.replace(AGAIN, name))
    return tuple(holes.get(part, part) for part in parts if part)


class FormatChoice(NamedTuple):
    """A format for one model: how it is made for a set of tools, and all of it that can change an answer.

    `remarks` are lines that a person should know before a run.
    """

    make: Callable[[tuple[ToolDoc, ...], GrammarArm, ChatTemplate], AnswerFormat]
    fingerprint: JsonObject
    salvage_rules: str
    remarks: tuple[str, ...] = ()


def check_name(name: str) -> None:
    """Raise RigError, which lists the formats there are, if there is none of this name."""
    registry = plugins.registered()
    names = dict.fromkeys(("auto", "native", *registry.formats, *registry.presets))
    if name not in names:
        raise RigError(f"--format {name}: no such format; choose from {', '.join(names)}")


def choose(settings: EngineSettings, template: ChatTemplate) -> FormatChoice:
    """Return the format that the settings ask for, for a model with this template. Raises RigError."""
    formats: Mapping[str, type[AnswerFormat]] = plugins.registered().formats
    check_name(settings.format)
    name = settings.format
    remarks: tuple[str, ...] = ()
    if name not in formats:
        choice = _native(settings, template)
        if isinstance(choice, FormatChoice):
            return choice
        name, remarks = RigFormat.name, (choice,)
    format_class = formats[name]
    several = {} if settings.several_calls or format_class is RigFormat else {"several_calls": False}
    version = f"{format_class.name}-{format_class.version}"
    fingerprint: JsonObject = {"prompt_format": version, "tool_choice": settings.tool_choice, **several}
    return FormatChoice(format_class, fingerprint, format_class.salvage_rules, remarks)


def _native(settings: EngineSettings, template: ChatTemplate) -> FormatChoice | str:
    """Return the model's own form or a family's, or else a line that says why `auto` uses neither."""
    name = settings.format
    no_tools = "no tools in its chat template"
    try:
        native = native_of(template) if name in ("auto", "native") else family_native(name, template)
    except Unsupported as error:
        if name == "auto":
            why = f"its chat template {error}" if error.shows_calls else no_tools
            return f"{why}: it answers in rig's form"
        raise RigError(
            f"--format native: the chat template {error}; use --format rig, a family"
            f" ({', '.join(plugins.registered().presets)}), or another template with --chat-template"
        ) from error
    if name == "auto" and not native.is_supported:
        return f"{no_tools}: it answers in rig's form"
    form = NativeFormat.name if name == "auto" else name
    fingerprint = {
        "prompt_format": f"{form}-{NativeFormat.version}",
        "native_format": native.as_json(),
        "several_calls": settings.several_calls,
        "tool_choice": settings.tool_choice,
        "leaked_calls": settings.leaked or "lenient",
        "leak_rules": leaks.RULES,
    }
    if native.thinking.known:
        fingerprint |= {"thinking": settings.thinking, "thinking_tokens": settings.thinking_tokens}
    make = partial(
        NativeFormat, native=native, thinking=settings.thinking, leaked=settings.leaked or "lenient"
    )
    return FormatChoice(make, fingerprint, NativeFormat.salvage_rules, native.remarks(settings.thinking))
