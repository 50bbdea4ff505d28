"""rig's own answer format: one JSON object that either calls a tool or replies in words.

The same form is described to the model, enforced by the grammar, checked after decoding, and used to show the
model its own earlier answers. It needs nothing from a chat template but the roles.
"""

from collections.abc import Sequence
from typing import Any

from rig.calls import Call, JsonObject, Outcome
from rig.engine.core.settings import GrammarArm
from rig.engine.formats import salvage
from rig.engine.formats.base import (
    AnswerError,
    AnswerFormat,
    CallChecker,
    Offer,
    Reading,
    Span,
    argument_spans,
    check_unicode,
    json_text,
)
from rig.engine.formats.salvage import JsonError, Unreadable, read_json
from rig.engine.grammar.language import Language
from rig.engine.grammar.schema import holds_any_names
from rig.engine.templates.template import ChatMessage, ChatTemplate
from rig.models import CallMessage, Message, ReplyMessage, ToolDoc, UserMessage

_RULES = (
    "Answer every time with exactly one JSON object on one line, in one of two forms.\n"
    'To use a tool: {"tool": "<name of the tool>", "arguments": {<its parameters>}}\n'
    'To speak to the user: {"reply": "<your words>"}\n'
    "After a tool was used you are shown its result, and answer again."
)


class RigFormat(AnswerFormat):
    """One JSON object on one line, in the same words for every arm of `--grammar`.

    `parse` checks text in the form alone, `read` also what is salvaged where nothing was enforced.
    """

    name = "rig"
    version = "1"
    salvage_rules = salvage.RULES

    def __init__(self, tools: tuple[ToolDoc, ...], grammar: GrammarArm, template: ChatTemplate) -> None:
        super().__init__(tools, grammar, template)
        self._checker = CallChecker(tools, grammar)
        schemas = self._checker.schemas
        self._repeats = any(map(holds_any_names, schemas.values()))
        calls = [_object({"tool": {"const": name}, "arguments": part}) for name, part in schemas.items()]
        schema: JsonObject = {"anyOf": [*calls, _object({"reply": {"type": "string"}})]}
        self._language = Language(schema, marks=salvage.MARKS)
        self._offer = Offer(_RULES, declarations_in_words(tools))

    def offer(self) -> Offer:
        return self._offer

    def language(self) -> Language:
        return self._language

    def write(self, messages: Sequence[Message]) -> list[ChatMessage]:
        chat: list[ChatMessage] = []
        for message in messages:
            match message:
                case UserMessage(text):
                    chat.append(ChatMessage("user", (text,)))
                case ReplyMessage(text):
                    chat.append(ChatMessage("assistant", (_text(self.spans(text)),)))
                case CallMessage(call, outcome):
                    chat.append(ChatMessage("assistant", (_text(self.spans(call)),)))
                    chat.append(ChatMessage("tool", (self._result(call, outcome),)))
        return chat

    def _result(self, call: Call, outcome: Outcome) -> str:
        """What a tool gave back. Under the user's role it says that it is not the user who speaks."""
        failed = outcome.exception is not None
        text = json_text({"exception": outcome.exception} if failed else {"response": outcome.response})
        return text if self.template.tool else f"Result of {call.name}: {text}"

    def spans(self, answer: Call | str) -> tuple[Span, ...]:
        """Of a reply, whose words could be any, only the decision to reply counts."""
        if isinstance(answer, str):
            return Span('{"r', "answer"), Span(f'eply": {json_text(answer)}}}', None)
        spans = [Span('{"tool": ', "answer"), Span(json_text(answer.name), "tool")]
        if not isinstance(answer.arguments, dict):
            arguments = Span(f', "arguments": {json_text(answer.arguments)}}}', "parameter")
            return *spans, arguments
        opening = ', "arguments": '
        spans += argument_spans(answer.arguments, opening)
        return *spans, Span("}}" if answer.arguments else f"{opening}{{}}}}", "parameter")

    def read(self, text: str) -> Reading:
        if self.grammar != "none":
            return self.parse(text)
        try:
            answer, how = salvage.salvage(text)
        except Unreadable as error:
            raise AnswerError(str(error), error.how) from error
        try:
            return self._checked(text, answer)._replace(salvage=how)
        except AnswerError as error:
            raise AnswerError(str(error), how) from error

    def parse(self, text: str) -> Reading:
        """The call, or the words of the reply. Raises AnswerError."""
        try:
            answer = read_json(text, repeats=self._repeats)
        except JsonError as error:
            raise AnswerError(f"not JSON: {error}") from error
        return self._checked(text, answer)

    def _checked(self, text: str, answer: Any) -> Reading:
        check_unicode(text, answer)
        match answer:
            case {"reply": str(reply), **rest} if not rest:
                return Reading(content=reply)
            case {"tool": str(name), "arguments": dict(arguments), **rest} if not rest:
                return Reading((self._checker.call(name, arguments),))
        raise AnswerError("neither a tool call nor a reply")


def _text(spans: Sequence[Span]) -> str:
    return "".join(span.text for span in spans)


def declarations_in_words(tools: Sequence[ToolDoc]) -> str:
    """All tools as a model reads them in a system prompt."""
    return "\n\n".join([*(["Tools:"] if tools else []), *map(_declaration, tools)])


def _declaration(tool: ToolDoc) -> str:
    """A tool as a model reads it: what it does, then a line for each parameter.

    The same as JSON declarations takes nearly twice the tokens, in every prompt of a run.
    """
    returns = f"Returns {tool.returns}." if tool.returns else ""
    sentences = " ".join(filter(None, [tool.description, returns]))
    required = tool.parameters.get("required", [])
    lines = [f"{tool.name}: {sentences}" if sentences else tool.name]
    for name, schema in tool.parameters.get("properties", {}).items():
        form = _type(schema) + ("" if name in required else ", optional")
        description = schema.get("description")
        lines.append(f"- {name} ({form})" + (f": {description}" if description else ""))
    return "\n".join(lines)


def _type(schema: JsonObject) -> str:
    if "enum" in schema:
        return " or ".join(map(json_text, schema["enum"]))
    if schema.get("type") == "array" and "items" in schema:
        return f"list of {_type(schema['items'])}"
    if schema.get("type") == "object" or not isinstance(schema.get("type"), str):
        return json_text(_undocumented(schema))
    return str(schema["type"])


def _object(properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _undocumented(node: Any, *, names: bool = False) -> Any:
    """A schema without its documentation. Under `properties` the keys are names, and all of them stay."""
    if isinstance(node, dict):
        return {
            key: _undocumented(value, names=key == "properties" and not names)
            for key, value in node.items()
            if names or key not in ("description", "x-format", "title")
        }
    return [_undocumented(item) for item in node] if isinstance(node, list) else node
