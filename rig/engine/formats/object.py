"""An answer format for models that should say one thing only: the arguments of one function, as JSON.

A judge that has to give a reason and then a verdict has no call to choose and no reply to make. The fields
come in the order in which the function declares its parameters. They are described after the question, so
that the same question with other choices is read from the cache.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jsonschema

from rig.calls import Call, JsonObject
from rig.engine.core.settings import GrammarArm
from rig.engine.formats.base import AnswerError, AnswerFormat, Offer, Reading, Span
from rig.engine.formats.salvage import MARKS, JsonError, read_json
from rig.engine.grammar.language import Language
from rig.engine.grammar.schema import SchemaError, narrow
from rig.engine.templates.template import ChatMessage, ChatTemplate
from rig.models import CallMessage, Message, ReplyMessage, ToolDoc, UserMessage


class ObjectFormat(AnswerFormat):
    """One JSON object on one line: the arguments of the only function there is."""

    name = "object"
    version = "2"

    def __init__(self, tools: tuple[ToolDoc, ...], grammar: GrammarArm, template: ChatTemplate) -> None:
        super().__init__(tools, grammar, template)
        if len(tools) != 1:
            raise SchemaError(f"the form `object` is for one function; here there are {len(tools)}")
        [self._tool] = tools
        schema = narrow(self._tool.parameters, self._tool.name, formats=grammar == "strict")
        self._validator = jsonschema.Draft202012Validator(schema)
        self._language = Language(schema, marks=MARKS)

    def offer(self) -> Offer:
        return Offer()

    @property
    def _fields(self) -> str:
        lines = [
            f'- "{name}": {_described(part)}' for name, part in self._tool.parameters["properties"].items()
        ]
        return "\n".join(
            ("Answer with exactly one JSON object on one line. Its fields, in this order:", *lines)
        )

    def language(self) -> Language:
        return self._language

    def write(self, messages: Sequence[Message]) -> list[ChatMessage]:
        chat: list[ChatMessage] = []
        for message in messages:
            match message:
                case UserMessage(text, shared):
                    parts = (text[:shared], text[shared:]) if shared else (text,)
                    chat.append(ChatMessage("user", parts))
                case ReplyMessage(text):
                    chat.append(ChatMessage("assistant", (text,)))
                case CallMessage(call, outcome):
                    chat.append(ChatMessage("assistant", (_json(call.arguments),)))
                    chat.append(ChatMessage("user", (_json(outcome.as_json()),)))
        if chat and chat[-1].role == "user":
            chat[-1] = replace(chat[-1], parts=(*chat[-1].parts, f"\n\n{self._fields}"))
        return chat

    def read(self, text: str) -> Reading:
        try:
            found: JsonObject = read_json(text)
            _json(found).encode()
        except JsonError as error:
            raise AnswerError(f"not JSON: {error}") from error
        except UnicodeEncodeError as error:
            raise AnswerError("a string holds half of a surrogate pair, which is no Unicode text") from error
        fault = next(self._validator.iter_errors(found), None)
        if fault is not None:
            raise AnswerError(f"{self._tool.name}: {fault.message[:200]}")
        return Reading((Call(self._tool.name, found),))

    def spans(self, answer: Call | str) -> tuple[Span, ...]:
        if isinstance(answer, str) or not isinstance(answer.arguments, dict):
            return (Span(_json(answer if isinstance(answer, str) else answer.arguments), None),)
        spans = []
        between = "{"
        for name, value in answer.arguments.items():
            spans += [Span(f"{between}{_json(name)}: ", "parameter"), Span(_json(value), "value")]
            between = ", "
        return *spans, Span("}", "parameter")


def _described(schema: JsonObject) -> str:
    """What a field is, as a model reads it."""
    if "enum" in schema:
        kind = " or ".join(map(_json, schema["enum"]))
    elif "maxLength" in schema:
        kind = f"{schema['type']}, at most {schema['maxLength']} characters"
    else:
        kind = str(schema.get("type", "any value"))
    said = schema.get("description")
    return f"{kind}. {said}" if said else kind


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
