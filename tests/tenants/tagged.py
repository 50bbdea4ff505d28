"""A toy answer format: words, and then a call between tags. The declarations go to the chat template."""

import json
from collections.abc import Sequence

from rig.calls import Call
from rig.engine.formats.base import AnswerError, AnswerFormat, Offer, Reading, Span
from rig.engine.grammar.language import Language
from rig.engine.templates.template import ChatMessage
from rig.models import CallMessage, Message, ReplyMessage, UserMessage
from rig.plugins import Registry

OPEN, CLOSE = "<do>", "</do>"


class Tagged(AnswerFormat):
    """`<do>{"name": …, "arguments": …}</do>`, after words or without any."""

    name = "tagged"
    version = "1"

    def offer(self) -> Offer:
        lines = [f"{tool.name}: {json.dumps(tool.parameters)}" for tool in self.tools]
        return Offer(f"To use a tool write {OPEN} and {CLOSE} around a call.", "\n".join(lines))

    def language(self) -> Language:
        if not hasattr(self, "_language"):
            calls = tuple(
                ('{"name": ' + json.dumps(tool.name) + ', "arguments": ', tool.parameters, "}")
                for tool in self.tools
            )
            self._language = Language(calls=calls, trigger=OPEN, suffix=CLOSE)
        return self._language

    def write(self, messages: Sequence[Message]) -> list[ChatMessage]:
        chat = []
        for message in messages:
            match message:
                case UserMessage(text):
                    chat.append(ChatMessage("user", (text,)))
                case ReplyMessage(text):
                    chat.append(ChatMessage("assistant", (text,)))
                case CallMessage(call, outcome):
                    words = "".join(span.text for span in self.spans(call))
                    chat.append(ChatMessage("assistant", (words,)))
                    chat.append(ChatMessage("user", (f"Result: {json.dumps(outcome.as_json())}",)))
        return chat

    def read(self, text: str) -> Reading:
        words, found, rest = text.partition(OPEN)
        if not found:
            return Reading(content=text)
        try:
            call = json.loads(rest.removesuffix(CLOSE))
            return Reading((Call(call["name"], call["arguments"]),), words)
        except (ValueError, KeyError, TypeError) as error:
            raise AnswerError(f"no call: {error}") from error

    def spans(self, answer: Call | str) -> tuple[Span, ...]:
        if isinstance(answer, str):
            return (Span(answer, None),)
        text = json.dumps({"name": answer.name, "arguments": answer.arguments})
        return (Span(f"{OPEN}{text}{CLOSE}", "answer"),)


def register(registry: Registry) -> None:
    registry.add_format(Tagged)
