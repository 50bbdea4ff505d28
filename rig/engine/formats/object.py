"""An answer format for models that should say one thing only: the arguments of one function, as JSON.

A judge that has to give a reason and then a verdict has no call to choose and no reply to make. The fields
come in the order in which the function declares its parameters. They are described after the question, so
that the same question with other choices is read from the cache.
"""

from collections.abc import Sequence
from dataclasses import replace

from rig.calls import Call, JsonObject
from rig.engine.core.settings import GrammarArm
from rig.engine.formats.base import AnswerFormat, CallChecker, Offer, Reading, Span, json_text
from rig.engine.formats.salvage import MARKS, read_answer
from rig.engine.grammar.language import JSON, Language
from rig.engine.grammar.schema import SchemaError
from rig.engine.templates.template import ChatMessage, ChatTemplate
from rig.models import CallMessage, Message, ReplyMessage, ToolDoc, UserMessage

_FIELDS = "Answer with exactly one JSON object on one line. Its fields, in this order:"


class ObjectFormat(AnswerFormat):
    """One JSON object on one line: the arguments of the only function there is."""

    name = "object"
    version = "2"

    def __init__(self, tools: tuple[ToolDoc, ...], grammar: GrammarArm, template: ChatTemplate) -> None:
        super().__init__(tools, grammar, template)
        if len(tools) != 1:
            raise SchemaError(f"the form `object` is for one function; here there are {len(tools)}")
        [self._tool] = tools
        self._checker = CallChecker(tools, grammar)
        self._language = Language(self._checker.schemas[self._tool.name], marks=MARKS)

    def offer(self) -> Offer:
        return Offer()

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
                    chat.append(ChatMessage("assistant", (json_text(call.arguments),)))
                    chat.append(ChatMessage("user", (json_text(outcome.as_json()),)))
        if chat and chat[-1].role == "user":
            fields = self._tool.parameters["properties"].items()
            lines = [_FIELDS, *(f'- "{name}": {_described(part)}' for name, part in fields)]
            chat[-1] = replace(chat[-1], parts=(*chat[-1].parts, "\n\n" + "\n".join(lines)))
        return chat

    def read(self, text: str) -> Reading:
        return Reading((self._checker.call(self._tool.name, read_answer(text)),))

    def spans(self, answer: Call | str) -> tuple[Span, ...]:
        if isinstance(answer, str) or not isinstance(answer.arguments, dict):
            return (Span(json_text(answer if isinstance(answer, str) else answer.arguments), None),)
        return tuple(Span(*part) for part in JSON.parts(answer.arguments))


def _described(schema: JsonObject) -> str:
    """What a field is, as a model reads it."""
    if "enum" in schema:
        kind = " or ".join(map(json_text, schema["enum"]))
    elif "maxLength" in schema:
        kind = f"{schema['type']}, at most {schema['maxLength']} characters"
    else:
        kind = str(schema.get("type", "any value"))
    description = schema.get("description")
    return f"{kind}. {description}" if description else kind
