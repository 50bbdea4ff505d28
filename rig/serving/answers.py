"""A server's answers: put together from events, checked piece by piece, and read as calls or words."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rig.calls import Call, Json, JsonObject, Outcome
from rig.engine.core.template import ChatMessage, ToolCall
from rig.engine.formats.base import CallChecker, Offer, Reading, declarations, json_text
from rig.engine.formats.form import chat_messages, result_text
from rig.engine.formats.salvage import AnswerError, read_answer
from rig.errors import ErrorKind
from rig.models import Message, ToolDoc
from rig.serving.wire.client import ServerFault

_THOUGHTS = ("reasoning_content", "reasoning")
_MOST_CALLS = 256


@dataclass(slots=True)
class ServedCall:
    """A call as the server sent it. Its arguments should be text, but can be any JSON."""

    id: str
    name: str
    arguments: Json


@dataclass(slots=True)
class StreamedAnswer:
    """The part of an answer that has arrived. `oddities` describes what a client has to overlook in it.

    `finish` is why it ended, None until the server says so. `deltas` is the number of pieces of text.
    """

    content: str = ""
    reasoning: str = ""
    calls: list[ServedCall] = field(default_factory=list)
    finish: str | None = None
    deltas: int = 0
    usage: Mapping[str, Json] = field(default_factory=dict)
    build: str = ""
    oddities: list[str] = field(default_factory=list)
    _indices: list[Json] = field(default_factory=list)

    def take(self, event: JsonObject) -> tuple[str, bool]:
        """Add an event. Returns the text that it adds, and whether that is a thought. Raises ServerFault."""
        if isinstance(event.get("usage"), dict):
            self.usage = event["usage"]
        self.build = str(event.get("system_fingerprint") or self.build)
        choices = event.get("choices")
        if not isinstance(choices, list):
            raise _malformed("an answer without choices")
        if not choices:
            return "", False
        choice = choices[0]
        part = (choice.get("delta") or choice.get("message") or {}) if isinstance(choice, dict) else None
        if not isinstance(part, dict):
            raise _malformed("an answer without a message")
        if choice.get("finish_reason") is not None:
            self.finish = str(choice["finish_reason"])
        thought = next((_text(part[name]) for name in _THOUGHTS if part.get(name)), "")
        content = _text(part.get("content"))
        self.reasoning += thought
        self.content += content
        calls = [] if part.get("tool_calls") is None else part["tool_calls"]
        if not isinstance(calls, list):
            raise _malformed("calls that are no list")
        called = "".join(map(self._take_call, calls))
        self.deltas += bool(thought or content or called)
        return thought or content + called, bool(thought)

    def _take_call(self, part: Json) -> str:
        function = part.get("function") if isinstance(part, dict) else None
        if not isinstance(part, dict) or not isinstance(function, dict):
            raise _malformed("a call that is no function's")
        identity, name = str(part.get("id") or ""), str(function.get("name") or "")
        arguments, begins = function.get("arguments"), bool(identity or name or not self.calls)
        # Some servers number no calls.
        index = part.get("index", len(self.calls) if begins else self._indices[-1])
        place = self._indices.index(index) if index in self._indices else None
        if place is not None and identity and name and identity != self.calls[place].id:
            # Another call, under an index that is in use.
            self.oddities.append("two calls have one index")
            place = None
        if place is None:
            if len(self.calls) >= _MOST_CALLS:
                raise _malformed(f"more than {_MOST_CALLS} calls")
            self.calls.append(ServedCall(identity, name, "" if arguments is None else arguments))
            self._indices.append(index)
            return f"{name} {arguments if isinstance(arguments, str) else ''}"
        # This continues the newest call of the index.
        place = len(self._indices) - 1 - self._indices[::-1].index(index)
        call = self.calls[place]
        if name != call.name and call.arguments == "":
            call.name += name
        if arguments is not None:
            if not isinstance(call.arguments, str) or not isinstance(arguments, str):
                raise _malformed("arguments that are no text go on")
            call.arguments += arguments
        return arguments if isinstance(arguments, str) else ""

    @property
    def raw(self) -> str:
        """The answer as text: its words, or the whole message as JSON if it has calls."""
        if not self.calls:
            return self.content
        calls = [{"name": call.name, "arguments": call.arguments} for call in self.calls]
        return json_text({"content": self.content, "tool_calls": calls})

    def tokens(self, name: str, *path: str) -> int:
        """Return a number of the usage, below the members in `path`; 0 if the server sent none."""
        value: Any = self.usage
        for step in (*path, name):
            value = value.get(step) if isinstance(value, Mapping) else None
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else 0


class ServedFormat:
    """The format of OpenAI's API for one set of tools: the server itself writes prompts and reads answers."""

    name = "served"
    version = "1"

    def __init__(self, tools: tuple[ToolDoc, ...]) -> None:
        self.tools = tools
        self._checker = CallChecker(tools, "none")

    def offer(self) -> Offer:
        """Return the declarations. As in models' own forms, the context is in the user's first message."""
        return Offer(declarations=declarations(self.tools), context_apart=True)

    def write(self, messages: Sequence[Message]) -> list[ChatMessage]:
        """Return the history as chat messages; calls have their arguments as text."""

        def tool_call(number: int, call: Call) -> ToolCall:
            arguments = call.arguments if isinstance(call.arguments, dict) else {}
            return ToolCall(f"{number:09}", call.name, json_text(arguments))

        def result(call: ToolCall, outcome: Outcome) -> ChatMessage:
            return ChatMessage("tool", (result_text(outcome),), name=call.name, call_id=call.id)

        return chat_messages(messages, tool_call, result, "reasoning_content")

    def read(self, answer: StreamedAnswer) -> Reading:
        """Read the calls or the words. Raises AnswerError for an invalid call or an empty answer."""
        if not answer.calls:
            if not answer.content.strip():
                raise AnswerError("nothing was said")
            return Reading((), answer.content.strip(), answer.reasoning)
        calls, notes = [], list(answer.oddities)
        for call in answer.calls:
            arguments = call.arguments
            if isinstance(arguments, str):
                arguments = read_answer(arguments) if arguments.strip() else {}
            else:
                notes.append("arguments that are no text")
                arguments = read_answer(json_text(arguments))
            if not isinstance(arguments, dict):
                raise AnswerError(f"{call.name}: the arguments are no object: {json.dumps(arguments)[:80]}")
            calls.append(self._checker.call(call.name, arguments))
        content = answer.content.strip()
        return Reading(tuple(calls), content, answer.reasoning, ", ".join(dict.fromkeys(notes)))


def _text(value: Json) -> str:
    """Return a text, or the joined texts of its parts; characters that UTF-8 cannot encode are replaced."""
    if value is None:
        return ""
    if isinstance(value, list):
        value = "".join(str(part.get("text", "")) for part in value if isinstance(part, dict))
    if not isinstance(value, str):
        raise _malformed(f"a text that is {type(value).__name__}")
    return value.encode("utf-8", "replace").decode()


def _malformed(what: str) -> ServerFault:
    return ServerFault(ErrorKind.MALFORMED, f"not as OpenAI's API has it: {what}")
