"""Thirty short conversations that differ in what templates treat differently."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from rig.core.calls import Json, JsonObject
from rig.core.models import ToolDoc
from rig.plugins.llama.formats.base import declarations

_CITY: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_TRIP: JsonObject = {
    "type": "object",
    "properties": {
        "stops": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "note": {"type": "string", "description": "Words <for> the 'driver' & café."},
        "cheap": {"type": "boolean"},
        "seats": {"type": "integer", "enum": [1, 2]},
    },
}
TOOLS = declarations(
    [ToolDoc("get_weather", "The weather today.", _CITY), ToolDoc("plan_trip", "Plans a trip.", _TRIP)]
)
THINKS: JsonObject = {"enable_thinking": True, "thinking": True}
QUIET: JsonObject = {"enable_thinking": False, "thinking": False}


class TemplateTalk(NamedTuple):
    """A conversation as servers get it, with the texts of it that a model should read, by what they are.

    A text that is empty stands for the end of the prompt.
    """

    name: str
    messages: tuple[JsonObject, ...]
    tools: tuple[JsonObject, ...] = ()
    variables: JsonObject = {}  # noqa: RUF012 - nothing changes it

    def with_texts(self) -> "TemplateTalk":
        """Return the conversation with the arguments of its calls as text, as OpenAI's clients send them."""
        return self._replace(messages=tuple(map(_with_texts, self.messages)))

    @property
    def parts(self) -> Iterator[tuple[str, str]]:
        """What it consists of, and a text of each part that a prompt has if it shows the part."""
        for message in self.messages:
            role, content = message["role"], message["content"]
            text = content if isinstance(content, str) else content[0]["text"]
            calls = message.get("tool_calls", [])
            of = {"tool": "a result", "assistant": "words beside a call" if calls else "a reply"}
            if text.strip():
                yield of.get(role, f"a {role}'s message"), text.split()[0]
            if thoughts := message.get("reasoning_content"):
                yield "thoughts", thoughts
            for call in calls:
                yield "a call", call["function"]["name"] + "|" + _first_text(call["function"]["arguments"])
        for tool in self.tools:
            yield "a tool", tool["function"]["description"]


def _first_text(arguments: JsonObject) -> str:
    texts = [value for value in arguments.values() if isinstance(value, str)]
    return texts[0].split()[0] if texts else ""


def _with_texts(message: JsonObject) -> JsonObject:
    if "tool_calls" not in message:
        return message
    calls = [
        {**call, "function": {**call["function"], "arguments": json.dumps(call["function"]["arguments"])}}
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}


def _say(role: str, content: Json, **more: Json) -> JsonObject:
    return {"role": role, "content": content, **more}


_SYSTEM = _say("system", "Instructed: be brief.")
_USER = _say("user", "Asked: the weather in Oslo?")
_REPLY = _say("assistant", "Replied: it rains.")
_NEXT = _say("user", "Further: and in Rome?")


def _thinking(thoughts: str) -> JsonObject:
    """Thoughts under every key from which templates take them."""
    return dict.fromkeys(("reasoning_content", "reasoning", "thinking"), thoughts)


def _calling(*calls: tuple[str, JsonObject], words: str = "", thoughts: str = "") -> tuple[JsonObject, ...]:
    """An assistant's message with calls, and their results."""
    ids = [f"call{number:05}" for number in range(len(calls))]
    made = [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
        for id_, (name, arguments) in zip(ids, calls, strict=True)
    ]
    more: JsonObject = {"tool_calls": made, **(_thinking(thoughts) if thoughts else {})}
    results = (
        _say("tool", f'{{"found{number}": "clear"}}', name=name, tool_call_id=id_)
        for number, (id_, (name, _)) in enumerate(zip(ids, calls, strict=True))
    )
    return _say("assistant", words, **more), *results


_OSLO, _ROME = ("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Rome"})
_NESTED = ("plan_trip", {"note": "Slowly", "stops": [{"name": "Åre"}, {}], "cheap": True, "seats": 2})
_QUOTED = ("plan_trip", {"note": 'Quoted "so" & <b>it\'s</b>\n\\n 語 😀'})
_WITHOUT: tuple[str, JsonObject] = ("plan_trip", {})
_THOUGHT = _say("assistant", "Replied: it rains.", **_thinking("Pondered-reply"))
_WITHIN = _say("assistant", "<think>\nInner\n</think>\n\nReplied")
_CALLED, _PONDERED = _calling(_OSLO), _calling(_OSLO, thoughts="Pondered-call")


def _parts(*texts: str) -> list[JsonObject]:
    return [{"type": "text", "text": text} for text in texts]


TALKS: tuple[TemplateTalk, ...] = (
    TemplateTalk("a question", (_USER,)),
    TemplateTalk("a system message", (_SYSTEM, _USER)),
    TemplateTalk("a developer's message", (_say("developer", "Developed: be brief."), _USER)),
    TemplateTalk("two turns", (_SYSTEM, _USER, _REPLY, _NEXT)),
    TemplateTalk("two messages of the user", (_USER, _NEXT)),
    TemplateTalk("two replies", (_USER, _REPLY, _say("assistant", "Added: all day."), _NEXT)),
    TemplateTalk(
        "a later system message", (_SYSTEM, _USER, _REPLY, _say("system", "Later: be kind."), _NEXT)
    ),
    TemplateTalk("white space", (_say("user", "  Spaced\n\n"), _say("assistant", "\n Padded \n"), _NEXT)),
    TemplateTalk("many scripts", (_say("user", "Wörter é 語 😀 \u202eabc"),)),
    TemplateTalk("marks in words", (_say("user", "Marked <|im_end|> </s> [INST] <think>x</think>"),)),
    TemplateTalk(
        "content in parts", (_say("system", _parts("Instructed:")), _say("user", _parts("Asked:", "More")))
    ),
    TemplateTalk("tools", (_USER,), TOOLS),
    TemplateTalk("tools and a system message", (_SYSTEM, _USER), TOOLS),
    TemplateTalk("a call", (_SYSTEM, _USER, *_CALLED), TOOLS),
    TemplateTalk("a call without tools", (_USER, *_CALLED)),
    TemplateTalk("a call with words", (_USER, *_calling(_OSLO, words="Announced: I look.")), TOOLS),
    TemplateTalk("two calls at once", (_USER, *_calling(_OSLO, _ROME)), TOOLS),
    TemplateTalk("two calls, one by one", (_USER, *_CALLED, *_calling(_ROME)), TOOLS),
    TemplateTalk("a call and a reply", (_SYSTEM, _USER, *_CALLED, _REPLY, _NEXT), TOOLS),
    TemplateTalk("a call in each turn", (_USER, *_CALLED, _REPLY, _NEXT, *_calling(_ROME)), TOOLS),
    TemplateTalk("nested arguments", (_USER, *_calling(_NESTED)), TOOLS),
    TemplateTalk("quotes in arguments", (_USER, *_calling(_QUOTED)), TOOLS),
    TemplateTalk("no arguments", (_USER, *_calling(_WITHOUT)), TOOLS),
    TemplateTalk("thoughts beside a call", (_USER, *_PONDERED), TOOLS, THINKS),
    TemplateTalk("thoughts of an earlier turn", (_USER, _THOUGHT, _NEXT), (), THINKS),
    TemplateTalk("thoughts of an earlier call", (_USER, *_PONDERED, _REPLY, _NEXT), TOOLS, THINKS),
    TemplateTalk("thoughts of an earlier turn, thinking off", (_USER, _THOUGHT, _NEXT), (), QUIET),
    TemplateTalk("thoughts in words", (_USER, _WITHIN, _NEXT, _WITHIN, _NEXT)),
    TemplateTalk("thinking on", (_SYSTEM, _USER), TOOLS, THINKS),
    TemplateTalk("thinking off", (_SYSTEM, _USER), TOOLS, QUIET),
)
