"""The form of an answer: one JSON object that either calls a tool or replies in words.

The same form is described to the model, enforced by the grammar, checked after decoding, and used to show
the model its own earlier answers.
"""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import jsonschema
from jsonschema.validators import extend

from rig.calls import Call, JsonObject
from rig.engine.formats.salvage import JsonError, Unreadable, read_json, salvage
from rig.engine.grammar.schema import narrow
from rig.engine.settings import GrammarArm
from rig.models import ToolDoc

FORM = (
    "Answer every time with exactly one JSON object on one line, in one of two forms.\n"
    'To use a tool: {"tool": "<name of the tool>", "arguments": {<its parameters>}}\n'
    'To speak to the user: {"reply": "<your words>"}\n'
    "After a tool was used you are shown its result, and answer again."
)

_DOCUMENTATION = ("description", "x-format", "title")


class AnswerError(ValueError):
    """Text that is no valid answer; the message says why in one line, `salvage` how the text was read."""

    def __init__(self, message: str, salvage: str = "") -> None:
        super().__init__(message)
        self.salvage = salvage


class Reading(NamedTuple):
    """A call, or the words of a reply, and how it was salvaged: empty where nothing had to be."""

    answer: Call | str
    salvage: str = ""


def call_text(call: Call) -> str:
    """A call as the model would have written it."""
    return json.dumps({"tool": call.name, "arguments": call.arguments}, ensure_ascii=False)


def reply_text(text: str) -> str:
    """A reply as the model would have written it."""
    return json.dumps({"reply": text}, ensure_ascii=False)


class AnswerForm:
    """What a tool set makes of an answer, under one of the arms of `--grammar`.

    `description` tells a model the form and the tools, in the same words for every arm; `schema` is the JSON
    Schema (2020-12) of an answer; `read` checks finished text against it, `parse` text in the form alone.
    Raises SchemaError for tools whose parameters cannot be enforced.
    """

    def __init__(self, tools: tuple[ToolDoc, ...], grammar: GrammarArm = "json") -> None:
        self.tools = tools
        self._grammar = grammar
        self.description = "\n\n".join([FORM, *(["Tools:"] if tools else []), *map(_declaration, tools)])
        arguments = {
            tool.name: narrow(tool.parameters, tool.name, formats=grammar == "strict") for tool in tools
        }
        calls = [_object({"tool": {"const": name}, "arguments": part}) for name, part in arguments.items()]
        self.schema: JsonObject = {"anyOf": [*calls, _object({"reply": {"type": "string"}})]}
        self._validators = {name: _Validator(part) for name, part in arguments.items()}

    def read(self, text: str) -> Reading:
        """The answer that a text is, or without a grammar the one that is in it. Raises AnswerError."""
        if self._grammar != "none":
            return Reading(self.parse(text))
        try:
            found, how = salvage(text)
        except Unreadable as error:
            raise AnswerError(str(error), error.how) from error
        try:
            return Reading(self._judge(text, found), how)
        except AnswerError as error:
            raise AnswerError(str(error), how) from error

    def parse(self, text: str) -> Call | str:
        """The call, or the words of the reply. Raises AnswerError."""
        try:
            answer = read_json(text)
        except JsonError as error:
            raise AnswerError(f"not JSON: {error}") from error
        return self._judge(text, answer)

    def _judge(self, text: str, answer: Any) -> Call | str:
        if not _is_unicode(text, answer):
            raise AnswerError("a string holds half of a surrogate pair, which is no Unicode text")
        match answer:
            case {"reply": str(reply), **rest} if not rest:
                return reply
            case {"tool": str(name), "arguments": dict(arguments), **rest} if not rest:
                if name not in self._validators:
                    raise AnswerError(f"no tool is called {name!r}")
                fault = next(self._validators[name].iter_errors(arguments), None)
                if fault is not None:
                    raise AnswerError(f"{name}: {fault.message[:200]}")
                return Call(name, arguments)
        raise AnswerError("neither a tool call nor a reply")


def _full_match(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    """JSON Schema's `pattern` as grammars enforce it; Python's `$` would let a final line break through."""
    if isinstance(instance, str) and not _compiled(pattern[1:-1]).fullmatch(instance):
        yield jsonschema.ValidationError(f"{instance!r} does not have the form that is asked for")


_compiled = lru_cache(maxsize=256)(re.compile)
_Validator = extend(jsonschema.Draft202012Validator, {"pattern": _full_match})  # type: ignore[no-untyped-call]


def _is_unicode(text: str, answer: Any) -> bool:
    if "\\u" not in text:
        return True
    try:
        json.dumps(answer, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


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
        return " or ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    if schema.get("type") == "array" and "items" in schema:
        return f"list of {_type(schema['items'])}"
    if schema.get("type") == "object" or not isinstance(schema.get("type"), str):
        return json.dumps(_strip(schema, _DOCUMENTATION), ensure_ascii=False)
    return str(schema["type"])


def _object(properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _strip(node: Any, keywords: tuple[str, ...], *, names: bool = False) -> Any:
    """A schema without some keywords. Under `properties` the keys are names and stay, whatever they are."""
    if isinstance(node, dict):
        return {
            key: _strip(value, keywords, names=key == "properties" and not names)
            for key, value in node.items()
            if names or key not in keywords
        }
    if isinstance(node, list):
        return [_strip(item, keywords) for item in node]
    return node
