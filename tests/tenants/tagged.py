"""A toy answer format: words, and then a call between tags. The declarations go to the chat template."""

import json
from collections.abc import Sequence
from functools import cache

from rig.core.calls import Call
from rig.core.models import CallMessage, Message, UserMessage
from rig.core.registry import Registry
from rig.plugins.llama.core.template import ChatMessage
from rig.plugins.llama.formats.base import AnswerFormat, Offer, Reading, Span
from rig.plugins.llama.formats.salvage import AnswerError
from rig.plugins.llama.grammar.language import Language

OPEN, CLOSE = "<do>", "</do>"


class Tagged(AnswerFormat):
    """`<do>{"name": …, "arguments": …}</do>`, after words or without any."""

    name, version = "tagged", "1"

    def offer(self) -> Offer:
        tools = (f"{tool.name}: {json.dumps(tool.parameters)}" for tool in self.tools)
        return Offer(f"To use a tool write {OPEN} and {CLOSE} around a call.", "\n".join(tools))

    @cache  # noqa: B019 - the grammar is found again by this very object
    def language(self, choice: str = "auto") -> Language:
        calls = (((f'{{"name": "{t.name}", "arguments": '), t.parameters, "}") for t in self.tools)
        return Language(calls=tuple(calls), trigger=OPEN, suffix=CLOSE, choice=choice)

    def write(self, messages: Sequence[Message]) -> list[ChatMessage]:
        chat = []
        for message in messages:
            if isinstance(message, CallMessage):
                chat.append(ChatMessage("assistant", (self.spans(message.call)[0].text,)))
                chat.append(ChatMessage("user", (f"Result: {json.dumps(message.outcome.as_json())}",)))
            else:
                role = "user" if isinstance(message, UserMessage) else "assistant"
                chat.append(ChatMessage(role, (message.text,)))
        return chat

    def read(self, text: str) -> Reading:
        words, opening, rest = text.partition(OPEN)
        if not opening:
            return Reading(content=text)
        try:
            return Reading((Call(**json.loads(rest.removesuffix(CLOSE))),), words)
        except (ValueError, TypeError) as error:
            raise AnswerError(f"no call: {error}") from error

    def spans(self, answer: Call | str) -> tuple[Span, ...]:
        if isinstance(answer, str):
            return (Span(answer, None),)
        call = json.dumps({"name": answer.name, "arguments": answer.arguments})
        return (Span(OPEN + call + CLOSE, "answer"),)


def register(registry: Registry) -> None:
    registry.formats.add(Tagged)
