"""The words of JSON Schema 2020-12, and what other drafts, OpenAPI, PHP, Python and Gemini write for them."""

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from rig.core.calls import Json, JsonObject

DOCUMENTATION = ("title", "description", "default", "examples")
ANNOTATIONS = frozenset(
    (
        *("$schema", "$id", "id", "$anchor", "$comment", "$vocabulary", "$defs", "definitions", "components"),
        *("deprecated", "readOnly", "writeOnly", "strict", "optional", "example", "discriminator", "xml"),
        *("externalDocs", "contentEncoding", "contentMediaType", "contentSchema", "name", "in", "style"),
        *("explode", "enumNames", "enumDescriptions", "order", "propertyOrdering", "markdownDescription"),
        *("errorMessage", "tsType", "cache_control"),
    )
)
"""Words that do not constrain a value; they are left out without a note, like those that begin with x-."""

SCHEMAS = frozenset(
    ("items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else")
)
"""Words whose value is a schema."""
SCHEMA_LISTS = frozenset(("allOf", "anyOf", "prefixItems"))
SCHEMA_MAPS = frozenset(("properties", "patternProperties", "dependentSchemas"))
HIGHEST = frozenset(("minLength", "minItems", "minContains", "minProperties", "minimum", "exclusiveMinimum"))
"""Bounds of which the highest holds where a value has to satisfy several schemas."""
LOWEST = frozenset(("maxLength", "maxItems", "maxContains", "maxProperties", "maximum", "exclusiveMaximum"))
"""Bounds of which the lowest holds there."""
_NUMBERS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
_COUNTS = (HIGHEST | LOWEST) - _NUMBERS

BY_TYPE: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "object": frozenset(
            (
                *("properties", "required", "additionalProperties", "patternProperties", "propertyNames"),
                *("minProperties", "maxProperties", "dependentRequired", "dependentSchemas"),
            )
        ),
        "array": frozenset(
            (
                *("items", "prefixItems", "minItems", "maxItems", "uniqueItems"),
                *("contains", "minContains", "maxContains"),
            )
        ),
        "string": frozenset(("pattern", "minLength", "maxLength", "format", "x-format")),
        "number": _NUMBERS,
        "integer": _NUMBERS,
        "boolean": frozenset(),
        "null": frozenset(),
    }
)
"""The words that say something of values of one type alone."""
OF_ANY_TYPE = frozenset(("type", "enum", "const", "allOf", "anyOf", "not", "if", "then", "else"))

_ALIASES = {
    "str": "string",
    "text": "string",
    "char": "string",
    "file": "string",
    "binary": "string",
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "decimal": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "set": "array",
    "dict": "object",
    "map": "object",
    "none": "null",
    "any": "any",
    "mixed": "any",
    "unknown": "any",
}
"""Names of types in other languages. `any` is draft 3's word for no constraint."""
_FORMATS = {
    "date": "date",
    "datetime": "date-time",
    "date-time": "date-time",
    "timestamp": "date-time",
    "time": "time",
    "uuid": "uuid",
    "email": "email",
    "uri": "uri",
    "url": "uri",
}
"""Formats that are written as types."""
_LISTS = ("list", "array", "sequence", "iterable", "set", "tuple")
_GENERIC = re.compile(r"(?:typing\.)?(\w+)[\[<](.+)[\]>]|(.+)\[\]")


def normal(schema: JsonObject) -> JsonObject:
    """Return a schema in the words of 2020-12, what is inside it unread. Raises ValueError for what is none.

    Null stands for an absent word. `oneOf` is read as `anyOf`, which is what its writers mean by it.
    """
    kept = {
        word: value for word, value in schema.items() if value is not None or word in ("const", "default")
    }
    if "oneOf" in kept:
        options = kept.pop("oneOf")
        if "anyOf" in kept:
            kept["allOf"] = [*_list("allOf", kept.get("allOf", [])), {"anyOf": options}]
        else:
            kept["anyOf"] = options
    _drafts(kept)
    _of_languages(kept)
    is_nullable = kept.pop("nullable", False) is True
    if "type" in kept:
        kept["type"] = _types(kept["type"])
        if kept["type"] is None:
            del kept["type"]
    for word in [word for word in kept if word not in DOCUMENTATION]:
        kept[word] = _value(word, kept[word])
        if kept[word] is None and word != "const":
            del kept[word]
    return _or_null(kept) if is_nullable else kept


def _drafts(kept: JsonObject) -> None:
    """Replace what drafts 3 to 2019-09 write in another way."""
    for word, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(kept.get(word), bool) and kept.pop(word) and bound in kept:
            kept[word] = kept.pop(bound)
    if isinstance(kept.get("items"), list):
        kept["prefixItems"] = kept.pop("items")
        if "additionalItems" in kept:
            kept["items"] = kept["additionalItems"]
    kept.pop("additionalItems", None)
    if isinstance(kept.get("required"), bool):  # on the property itself, which its object has read
        del kept["required"]
    if "divisibleBy" in kept:
        kept.setdefault("multipleOf", kept.pop("divisibleBy"))
    if isinstance(dependencies := kept.pop("dependencies", None), dict):
        for word, kind in (("dependentRequired", list), ("dependentSchemas", dict)):
            if of_kind := {name: value for name, value in dependencies.items() if isinstance(value, kind)}:
                kept.setdefault(word, of_kind)
    if "unevaluatedProperties" in kept:
        # References and allOf are merged, so that no property is left that only an evaluation knows of.
        kept.setdefault("additionalProperties", kept.pop("unevaluatedProperties"))
    kept.pop("unevaluatedItems", None)


def _of_languages(kept: JsonObject) -> None:
    """Replace a type that is written as in a programming language: List[str], str | None, string[], date."""
    name = kept.get("type")
    if not isinstance(name, str) or name.lower() in BY_TYPE:
        return
    name = name.strip()
    if (form := _FORMATS.get(name.lower())) is not None:
        kept["type"] = "string"
        kept.setdefault("format", form)
    elif (generic := _GENERIC.fullmatch(name)) is not None:
        outer, inner = (generic[1] or "list").lower(), generic[2] or generic[3]
        if outer == "optional":
            kept["type"] = [inner, "null"]
        elif outer in _LISTS:
            kept["type"] = "array"
            kept.setdefault("items", {} if "," in inner else {"type": inner})
        else:
            kept["type"] = outer
    elif "|" in name:
        kept["type"] = [part.strip() for part in name.split("|")]


def is_type(name: Json) -> bool:
    """Return whether a value names a type, in this language or another, as `{"city": "string"}` does."""
    return isinstance(name, str) and name.lower() in {*BY_TYPE, *_ALIASES, *_FORMATS}


def named(value: Json) -> Json:
    """Return properties by name, where they are a list of schemas that have names; else the value."""
    if not isinstance(value, list) or not value:
        return value
    if not all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in value):
        return value
    return {item["name"]: {word: of for word, of in item.items() if word != "name"} for item in value}


def _or_null(schema: JsonObject) -> JsonObject:
    """Return a schema that null satisfies as well (OpenAPI's `nullable`)."""
    if schema.keys() & {"$ref", "allOf", "anyOf"}:
        inner = {word: value for word, value in schema.items() if word not in DOCUMENTATION}
        outer = {word: value for word, value in schema.items() if word in DOCUMENTATION}
        return {"anyOf": [inner, {"type": "null"}], **outer}
    if "type" in schema and "null" not in schema["type"]:
        schema["type"] = [*schema["type"], "null"]
    if "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    return schema


def _types(value: Json) -> list[str] | None:
    """Return the names of types as a list; None where any will do."""
    names = []
    for name in value if isinstance(value, list) else [value]:
        name = "null" if name is None else name.lower() if isinstance(name, str) else name
        if isinstance(name, str) and (name := _ALIASES.get(name, name)) == "any":
            return None
        if not isinstance(name, str) or name not in BY_TYPE:
            raise ValueError(f"has the type {_shown(name)}; choose from: {', '.join(BY_TYPE)}")
        names.append(name)
    return list(dict.fromkeys(names)) or None


def _value(word: str, value: Any) -> Any:
    """Return the value of a word in the form that 2020-12 has it; None for one that constrains nothing."""
    if word in _COUNTS | _NUMBERS and isinstance(value, str):
        value = _number(value)
    if word in _COUNTS:
        if value == math.inf:  # as 1e400 is read
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value % 1:
            raise ValueError(f"has {word} {_shown(value)}, which is not a count")
        return int(value)
    if word in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"has {word} {_shown(value)}, which is not a number")
        is_finite = isinstance(value, int) or math.isfinite(value)
        return value if is_finite and (word != "multipleOf" or value > 0) else None
    if word in ("pattern", "format", "x-format", "$ref"):
        if not isinstance(value, str):
            raise ValueError(f"has {word} {_shown(value)}, which is not a text")
    elif word in SCHEMA_MAPS:
        value = named(value) if word == "properties" else value
        if not isinstance(value, dict) and value != []:  # an empty object, as PHP writes it
            raise ValueError(f"needs names with schemas in {word}")
        return value or {}
    elif word in SCHEMA_LISTS:
        return _list(word, value)
    elif word == "required":
        return list(dict.fromkeys(_names(word, value)))
    elif word == "dependentRequired":
        if not isinstance(value, dict):
            raise ValueError("needs names with lists of names in dependentRequired")
        return {name: _names(word, names) for name, names in value.items()}
    elif word == "enum":
        return (value or None) if isinstance(value, list) else [value]  # an empty list stands for no choice
    elif word == "uniqueItems":
        return value if isinstance(value, bool) else None
    elif word == "additionalProperties":
        return {"false": False, "true": True}.get(value, value) if isinstance(value, str) else value
    return value


def _number(text: str) -> Json:
    """Return the number that a short text is; else the text."""
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        return text


def _list(word: str, value: Json) -> Json:
    if isinstance(value, dict) and value and word != "prefixItems":
        return [value]  # one schema alone
    if not isinstance(value, list):
        raise ValueError(f"needs a list of schemas in {word}")
    return value or None


def _names(word: str, value: Json) -> list[str]:
    if isinstance(value, dict) and all(isinstance(flag, bool) for flag in value.values()):
        value = [name for name, flag in value.items() if flag]
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"needs a list of names in {word}")
    return names


def _shown(value: Json) -> str:
    # The digits of a number can be more than Python writes.
    text = "a number of many digits" if isinstance(value, int) and abs(value) >= 10**60 else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
