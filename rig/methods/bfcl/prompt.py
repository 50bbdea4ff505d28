"""The prompt of an entry: its functions as tools, prepared as BFCL prepares them."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rig.calls import JsonObject
from rig.errors import RigError
from rig.methods.bfcl.data import SingleTurnEntry
from rig.models import Request, StepKey, ToolDoc

INSTRUCTIONS = """\
You are an assistant with functions. Call those that answer the user's request, with the values that the user
gives; if several calls are due, make all of them at once. If no function can answer it, or a value that one
needs is missing, reply in words and call nothing."""

_HINTS: Mapping[str, str] = {
    "python": " Note that the provided function is in Python 3 syntax.",
    "java": " Note that the provided function is in Java 8 SDK syntax.",
    "javascript": " Note that the provided function is in JavaScript syntax.",
}
_NAMES: Mapping[str, str] = {"java": "Java", "javascript": "JavaScript"}
_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("integer", "byte", "short", "long", "Bigint"), "integer"),
    **dict.fromkeys(("number", "float", "double"), "number"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("array", "list", "tuple", "ArrayList", "Array", "Queue", "Stack"), "array"),
    **dict.fromkeys(("dict", "object", "HashMap", "Hashtable"), "object"),
}
"""JSON Schema's types by BFCL's. What is not here is a text."""

ANY_ELEMENT: Mapping[str, Any] = {"type": ["string", "number", "boolean"]}
AS_TEXT = " Write this object as JSON in a text."
"""Said of an object of anything, to which no grammar can hold a model."""


@dataclass(frozen=True, slots=True)
class BfclSettings:
    """How a model gets entries: with the `names` of functions as they are, or with dots as underscores."""

    names: str = "underscores"

    def __post_init__(self) -> None:
        if self.names not in ("underscores", "dots"):
            raise RigError(f"--set names={self.names}: underscores or dots")

    @property
    def underscores(self) -> bool:
        return self.names == "underscores"

    @property
    def fingerprint(self) -> JsonObject:
        told = json.dumps([INSTRUCTIONS, _HINTS, AS_TEXT]).encode()
        return {"protocol": "bfcl", "names": self.names, "prompt_sha256": hashlib.sha256(told).hexdigest()}


def opening(
    name: str, turn: int, messages: Iterable[Mapping[str, str]], tools: tuple[ToolDoc, ...]
) -> Request:
    """How what a model is asked begins: system messages of the entry come with the context."""
    context = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    return Request(StepKey(name, turn, 0), INSTRUCTIONS, tools, context, (), False, several_calls=True)


def name_of(name: str, settings: BfclSettings) -> str:
    """What a function is called in the prompt."""
    return name.replace(".", "_") if settings.underscores else name


def tools(entry: SingleTurnEntry, settings: BfclSettings) -> tuple[ToolDoc, ...]:
    """The functions of an entry, each name once."""
    return tools_of(entry.functions, entry.language, settings)


def tools_of(functions: Iterable[JsonObject], language: str, settings: BfclSettings) -> tuple[ToolDoc, ...]:
    """Functions of a language as a model reads them, each name once."""
    docs: dict[str, ToolDoc] = {}
    for function in functions:
        name = name_of(function["name"], settings)
        description = f"{function.get('description', '')}{_HINTS[language]}"
        declared = function["parameters"]
        properties = {
            argument: _prepared(parameter, language) for argument, parameter in declared["properties"].items()
        }
        required = [argument for argument in declared["required"] if argument in properties]
        schema: JsonObject = {"type": "object", "properties": properties, "required": required}
        docs.setdefault(name, ToolDoc(name, description, {**schema, "additionalProperties": False}))
    return tuple(docs.values())


def _prepared(declared: JsonObject, language: str) -> JsonObject:
    if language == "python":
        return _cast(declared)
    description, kind, name = declared.get("description", ""), declared.get("type"), _NAMES[language]
    if kind == "any":
        note = f" This parameter can be of any type of {name} object in string representation."
    else:
        note = f" This is {name} {kind} type parameter in string representation."
    if kind in ("ArrayList", "Array", "array") and "items" in declared:
        inner = declared["items"].get("type")
        note += f" The list elements are of type {inner}; they are not in string representation."
    if language == "javascript" and kind == "dict" and "properties" in declared:
        note += (
            " The dictionary entries have the following schema; they are not in string representation."
            f" {json.dumps(declared['properties'])}"
        )
    return {"type": "string", "description": f"{description}{note}"}


def _cast(declared: JsonObject) -> JsonObject:
    """A declaration as a JSON Schema that a model can be held to."""
    kind = _TYPES.get(declared.get("type", ""), "string")
    description = declared.get("description", "")
    if declared.get("type") == "float":
        description += " This is a float type value."
    schema: JsonObject = {"type": kind}
    if kind == "array":
        items = declared.get("items")
        schema["items"] = _cast(items) if isinstance(items, dict) and items else dict(ANY_ELEMENT)
    elif kind == "object" and declared.get("properties"):
        inner = {name: _cast(member) for name, member in declared["properties"].items()}
        required = [name for name in declared.get("required", []) if name in inner]
        schema |= {"properties": inner, "required": required, "additionalProperties": False}
    elif kind == "object":
        schema, description = {"type": "string"}, f"{description}{AS_TEXT}"
    elif isinstance(choices := declared.get("enum"), list) and choices:
        # Those of the data are not always of the type.
        python: Any = {"string": str, "integer": int, "number": (int, float), "boolean": bool}[kind]
        if all(isinstance(choice, python) for choice in choices):
            schema["enum"] = choices
    return {**schema, **({"description": description} if description else {})}
