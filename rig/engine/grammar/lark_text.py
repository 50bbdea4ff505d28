"""Pieces of Lark's text: literals, regular expressions between slashes, and values by their types."""

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from rig.calls import JsonObject
from rig.engine.grammar.language import Tags


def by_llguidance(schema: JsonObject, options: JsonObject) -> str:
    """Return the rule of a value that llguidance writes in its own way."""
    return f"%json {json.dumps({**schema, 'x-guidance': options}, ensure_ascii=False)}"


def in_doubles(value: Any) -> Any:
    """Return a schema without the bounds that llguidance would round."""
    if isinstance(value, dict):
        return {
            key: in_doubles(inner)
            for key, inner in value.items()
            if key not in ("minimum", "maximum") or not isinstance(inner, int) or abs(inner) < 2**53
        }
    return [in_doubles(inner) for inner in value] if isinstance(value, list) else value


def values_of(schema: JsonObject) -> Sequence[Any]:
    """Return the values that a schema lists; none if it does not list any."""
    values: Sequence[Any] = schema.get("enum", [schema["const"]] if "const" in schema else ())
    return values


def counted(schema: JsonObject, most: float = math.inf) -> str:
    """Return the number of characters that a string may have, as a quantifier, held up to `most`."""
    high = schema.get("maxLength", math.inf)
    return f"{{{min(schema.get('minLength', 0), most)},{'' if high > most or high == math.inf else high}}}"


def literal(text: str) -> str:
    """Return a Lark string. It has JSON's escapes, but DEL must be escaped as well."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def in_regex(text: str) -> str:
    """Return a regular expression, for use between slashes, that matches a text."""
    return "".join(char if char.isalnum() or not char.isascii() else f"\\x{ord(char):02x}" for char in text)


def in_slashes(regex: str) -> str:
    """Escape the slashes of a regular expression, for use between slashes."""
    return re.sub(r"(?<!\\)((?:\\\\)*)/", r"\1\\/", regex)


def by_type(schema: JsonObject) -> list[JsonObject]:
    """Return the options of a schema, those that list values split into strings and others."""
    if "anyOf" in schema:
        return [part for option in schema["anyOf"] for part in by_type(option)]
    if not isinstance(values := schema.get("enum"), list):
        return [schema]
    texts = [value for value in values if isinstance(value, str)]
    others = [value for value in values if not isinstance(value, str)]
    return [{"enum": group} for group in (texts, others) if group]


def word(schema: JsonObject, tags: Tags) -> str:
    """Return the rule of true, false or null as a whole value, in the family's words and in JSON's.

    It is empty for a schema that has none of them.
    """
    values = values_of(schema)
    if not values:
        values = {"boolean": (True, False), "null": (None,)}.get(str(schema.get("type")), ())
    elif not any(isinstance(value, bool) or value is None for value in values):
        return ""
    texts = [text for value in values for text in (tags.value(value), json.dumps(value))]
    return " | ".join(map(literal, dict.fromkeys(texts)))
