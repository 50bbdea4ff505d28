"""A server's answers: put together from events, checked piece by piece, and read as calls or words."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from rig.config.engine import LeakedCalls
from rig.core.budget import parse_json
from rig.core.calls import Call, Json, JsonObject, Outcome
from rig.core.errors import ErrorKind
from rig.core.models import Message, ToolDoc, Usage
from rig.plugins.llama.core.template import ChatMessage, ToolCall
from rig.plugins.llama.formats.base import CallChecker, Offer, Reading, declarations, prompt_json
from rig.plugins.llama.formats.form import chat_messages, result_text
from rig.plugins.llama.formats.leaks import LeakReader
from rig.plugins.llama.formats.salvage import AnswerError, read_answer
from rig.plugins.served.wire.events import END
from rig.plugins.served.wire.faults import ServerFault

CALL = re.compile(
    r"<tool_call|\[TOOL_CALLS\]|<\|tool_call|<function=|<\|python_tag\|>|{\"name\":|\"arguments\":"
)
"""What a call looks like among words."""
NO_CALLS = "finish_reason says that there are calls, but there are none"
"""The fault of a server that loses what it read as calls."""
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
_CUT = ("length", "max_tokens", "model_length")
_CALLED = ("tool_calls", "function_call")
_FAILED = ("error", "content_filter", "abort", "cancelled")
_MOST_CALLS = 256
_PREFIXED = re.compile(r"(?:functions?|tools?|default_api)[.:](.+?)(?::\d{1,4})?")
"""A name with a family's prefix, which its server should have taken off, and a number after it."""


@dataclass(slots=True)
class ServedCall:
    """A call as the server sent it. Its arguments should be text, but can be any JSON."""

    id: str
    name: str
    arguments: Json

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are complete."""
        if not isinstance(self.arguments, str):
            return True
        with suppress(ValueError, RecursionError):
            parse_json(self.arguments)
            return True
        return False


@dataclass(slots=True)
class StreamedAnswer:
    """The part of an answer that has arrived. `oddities` describes what a client has to overlook in it.

    `finish` is why it ended, None until the server says so; `is_over` is whether the server said that nothing
    follows. `deltas` is the number of pieces of text.
    """

    content: str = ""
    reasoning: str = ""
    calls: list[ServedCall] = field(default_factory=list)
    finish: str | None = None
    is_over: bool = False
    deltas: int = 0
    usage: Mapping[str, Json] = field(default_factory=dict)
    build: str = ""
    oddities: list[str] = field(default_factory=list)
    _indices: list[Json] = field(default_factory=list)
    _choice: list[Json] = field(default_factory=list)
    _events: int = 0

    def take(self, event: JsonObject) -> tuple[str, bool]:
        """Add an event. Returns the text that it adds, and whether that is a thought. Raises ServerFault.

        Events without choices, such as pings and the usage at the end, add no text.
        """
        if event is END:
            self.is_over = True
            return "", False
        self._events += 1
        if isinstance(event.get("usage"), dict):
            self.usage = event["usage"]
        self.build = str(event.get("system_fingerprint") or self.build)
        choice = self._chosen(event.get("choices"))
        if choice is None:
            return "", False
        if isinstance(choice.get("usage"), dict):
            self.usage = choice["usage"]
        reason = str(choice.get("finish_reason") or "")
        if reason not in ("", "null", "None"):
            self.finish = "length" if reason.lower() in _CUT else reason
        part = choice.get("delta")
        if part is None and not self.deltas:  # some repeat the whole message at the end
            part = choice.get("message")
        if part is None and isinstance(choice.get("text"), str):  # as completions without roles have it
            part = {"content": choice["text"]}
        part = part or {}
        if not isinstance(part, dict):
            raise _malformed("an answer without a message")
        thought = next((_text(part[name]) for name in _THOUGHTS if part.get(name)), "")
        content, thoughts = _parts(part.get("content"))
        thought += thoughts
        content += _text(part.get("refusal"))
        self.reasoning += thought
        self.content += content
        called = "".join(map(self._take_call, self._calls_in(part)))
        self.deltas += bool(thought or content or called)
        return _encodable(thought or content + called), bool(thought)

    def settle(self) -> None:
        """Join the halves of characters that came apart, and replace what is no text in words."""
        self.content, self.reasoning = _encodable(self.content), _encodable(self.reasoning)
        for call in self.calls:
            if isinstance(call.arguments, str):
                call.arguments = _joined(call.arguments)

    def end(self) -> None:
        """Raise ServerFault if the answer is incomplete, or is none."""
        if (self.finish or "").lower() in _FAILED:
            raise ServerFault(ErrorKind.HTTP_STATUS, f"the server ended the answer: {self.finish}")
        if self._events and not self._choice:
            raise _malformed("an answer without choices")
        if self.finish is None:
            if not self.is_over or not self._events:
                raise ServerFault(ErrorKind.CONNECTION, "the answer ended without saying that it has")
            if not all(call.is_whole or call.arguments == "" for call in self.calls):
                raise ServerFault(ErrorKind.CONNECTION, "the answer ended within a call")
            self.oddities.append("no finish_reason")
        if not all(call.name for call in self.calls):
            raise _malformed("a call without a name")
        is_empty = not self.calls and not self.content.strip()
        if self.finish in _CALLED and is_empty and not CALL.search(self.reasoning):
            raise _malformed(NO_CALLS)

    def _chosen(self, choices: Json) -> JsonObject | None:
        """Return the choice that is read: always the one whose number came first."""
        if choices is None or choices == []:
            return None
        if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
            raise _malformed("choices that are no list of objects")
        if not self._choice:
            self._choice.append(choices[0].get("index"))
        return next((one for one in choices if one.get("index") in (None, *self._choice)), None)

    def _calls_in(self, part: JsonObject) -> Sequence[Json]:
        calls = part.get("tool_calls")
        if calls is None and isinstance(part.get("function_call"), dict):
            self._note("a call in the older form")
            return [{"index": "function_call", "function": part["function_call"]}]
        if isinstance(calls, dict):
            self._note("calls that are no list")
            calls = [calls]
        if calls is not None and not isinstance(calls, list):
            raise _malformed("calls that are no list")
        return [call for call in calls or () if call is not None]

    def _take_call(self, part: Json) -> str:
        if not isinstance(part, dict):
            raise _malformed("a call that is no object")
        function = part.get("function")
        if function is None:  # some servers put name and arguments into the call itself
            function = part
        if not isinstance(function, dict):
            raise _malformed("a call that is no function's")
        identity, name = str(part.get("id") or ""), str(function.get("name") or "")
        arguments = function.get("arguments")
        place = self._place(part.get("index"), identity, name)
        call = None if place is None else self.calls[place]
        if call and name and call.is_whole:
            if identity == call.id and identity and arguments == call.arguments:
                self._note("a call is sent twice")
                return ""
            call = None
        if call is None:
            if len(self.calls) >= _MOST_CALLS:
                raise _malformed(f"more than {_MOST_CALLS} calls")
            self.calls.append(ServedCall(identity, name, "" if arguments is None else arguments))
            # Some servers number no calls.
            self._indices.append(part.get("index"))
            return f"{name} {arguments if isinstance(arguments, str) else ''}"
        if name != call.name and call.arguments == "":
            call.name += name
        if arguments is not None:
            if not isinstance(call.arguments, str) or not isinstance(arguments, str):
                raise _malformed("arguments that are no text go on")
            if call.arguments in ("{}", "null") and arguments.lstrip().startswith("{"):
                self._note("arguments begin twice")  # with a placeholder
                call.arguments = ""
            elif call.arguments and name == call.name and arguments.startswith(call.arguments):
                self._note("arguments that are repeated as they grow")
                call.arguments = ""
            call.arguments += arguments
        return arguments if isinstance(arguments, str) else ""

    def _place(self, index: Json, identity: str, name: str) -> int | None:
        """Return the place of the call that a piece continues; None if it begins another.

        Servers number calls, or give them ids, or neither; some number the pieces of one call, or give all
        calls one number.
        """
        places = range(len(self.calls) - 1, -1, -1)
        if index is not None:
            for place in places:
                call = self.calls[place]
                if self._indices[place] != index:
                    continue
                if name and identity and identity != call.id:
                    self._note("two calls have one index")
                    return None
                if name and call.is_whole and not identity:
                    self._note("two calls have one index")
                return place
        for place in places:
            call = self.calls[place]
            if identity and call.id == identity and name in ("", call.name) and not call.is_whole:
                self._note("a call has several indices" if index is not None else "calls without an index")
                return place
        if not self.calls or (identity and name):
            return None
        call = self.calls[-1]
        goes_on = not name or (index is None and name == call.name and not call.is_whole)
        return len(self.calls) - 1 if goes_on else None

    def _note(self, oddity: str) -> None:
        if oddity not in self.oddities:
            self.oddities.append(oddity)

    @property
    def raw(self) -> str:
        """The answer as text: its words, or the whole message as JSON if it has calls."""
        if not self.calls:
            return self.content
        calls = [{"name": call.name, "arguments": call.arguments} for call in self.calls]
        return prompt_json({"content": self.content, "tool_calls": calls})

    def tokens(self, name: str, *path: str) -> int:
        """Return a number of the usage, below the members in `path`; 0 if the server sent none."""
        value: Any = self.usage
        for step in (*path, name):
            value = value.get(step) if isinstance(value, Mapping) else None
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else 0

    def used(self, prefill_s: float, decode_s: float) -> Usage:
        """Return the tokens and the seconds of the answer: to its first piece, and from there to its end."""
        return Usage(
            prompt_tokens=self.tokens("prompt_tokens"),
            cached_tokens=self.tokens("cached_tokens", "prompt_tokens_details"),
            # For servers that count no tokens: most of them send one at a time.
            completion_tokens=self.tokens("completion_tokens") or self.deltas,
            reasoning_tokens=self.tokens("reasoning_tokens", "completion_tokens_details"),
            prefill_s=prefill_s,
            decode_s=decode_s,
            first_token_s=prefill_s,
        )


class ServedFormat:
    """The format of OpenAI's API for one set of tools: the server itself writes prompts and reads answers.

    Calls that it left in the words or the thoughts have leaked; they are carried out if `leaked` says so.
    """

    name = "served"
    version = "1"

    def __init__(self, tools: tuple[ToolDoc, ...], leaked: LeakedCalls = "strict") -> None:
        self.tools = tools
        self._checker = CallChecker(tools, "none")
        self._leaks = LeakReader(self._checker, is_strict=leaked == "strict")

    def offer(self) -> Offer:
        """Return the declarations. As in models' own forms, the context is in the user's first message."""
        return Offer(declarations=declarations(self.tools), context_apart=True)

    def write(self, messages: Sequence[Message]) -> list[ChatMessage]:
        """Return the history as chat messages; calls have their arguments as text."""

        def tool_call(number: int, call: Call) -> ToolCall:
            arguments = call.arguments if isinstance(call.arguments, dict) else {}
            return ToolCall(f"{number:09}", call.name, prompt_json(arguments))

        def result(call: ToolCall, outcome: Outcome) -> ChatMessage:
            return ChatMessage("tool", (result_text(outcome),), name=call.name, call_id=call.id)

        return chat_messages(messages, tool_call, result, "reasoning_content")

    def read(self, answer: StreamedAnswer) -> Reading:
        """Read the calls or the words. Raises AnswerError for an invalid call or an empty answer."""
        if not answer.calls:
            return self._without_calls(answer)
        calls, oddities = [], list(answer.oddities)
        for call in answer.calls:
            arguments = call.arguments
            if isinstance(arguments, str):
                arguments = read_answer(arguments) if arguments.strip() else {}
            elif arguments is not None:
                oddities.append("arguments that are no text")
                arguments = read_answer(prompt_json(arguments))
            name = self._own_name(call.name)
            if name != call.name:
                oddities.append("a name with a prefix")
            if arguments is None:
                oddities.append("arguments that are null")
                arguments = {}
            if not isinstance(arguments, dict):
                raise AnswerError(f"{call.name}: the arguments are no object: {json.dumps(arguments)[:80]}")
            calls.append(self._checker.call(name, arguments))
        content = answer.content.strip()
        return Reading(tuple(calls), content, answer.reasoning, ", ".join(dict.fromkeys(oddities)))

    def _own_name(self, name: str) -> str:
        """Return the tool's name in a name with a prefix, if that is no tool's and this is one's."""
        own = _PREFIXED.fullmatch(name)
        is_own = own and name not in self._checker.schemas and own[1] in self._checker.schemas
        return own[1] if own and is_own else name if name in self._checker.schemas else name.strip()

    def _without_calls(self, answer: StreamedAnswer) -> Reading:
        """Read an answer in which the server found no calls. Raises AnswerError if nothing was said."""
        words = answer.content.strip()
        reading = self._leaks.read(words, words, answer.reasoning, ", ".join(answer.oddities))
        if not reading.calls and not words:
            call = " but a call within the thoughts" if reading.form else ""
            raise AnswerError(f"nothing was said{call}", reading.salvage, reading.form)
        return reading


def _parts(value: Json) -> tuple[str, str]:
    """Return the words and the thoughts of a content, which is a text or a list of parts."""
    parts = value if isinstance(value, list) else [value]
    thoughts = [part for part in parts if isinstance(part, dict) and part.get("type") in _THOUGHT_PARTS]
    return _text([part for part in parts if part not in thoughts]), _text(thoughts)


_THOUGHT_PARTS = ("thinking", "reasoning", "reasoning_text")
_TEXTS = ("text", "thinking", "reasoning", "refusal", "content")
"""The members of a part that hold its text, which may be parts again."""


def _text(value: Json, depth: int = 3) -> str:
    """Return a text, or the joined texts of its parts."""
    if value is None or depth == 0:
        return ""
    if isinstance(value, dict):
        value = next((value[name] for name in _TEXTS if isinstance(value.get(name), str | list)), None)
        return _text(value, depth - 1)
    if isinstance(value, list):
        return "".join(_text(part, depth - 1) for part in value)
    if not isinstance(value, str):
        raise _malformed(f"a text that is {type(value).__name__}")
    return value


def _joined(text: str) -> str:
    """Return a text with pairs of surrogates as the characters that they are."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _encodable(text: str) -> str:
    """Return a text whose halves of pairs are joined, or replaced if the other half is missing."""
    return _joined(text).encode("utf-8", "replace").decode()


def _malformed(what: str) -> ServerFault:
    return ServerFault(ErrorKind.MALFORMED, f"not as OpenAI's API has it: {what}")
