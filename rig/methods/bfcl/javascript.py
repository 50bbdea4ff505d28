"""JavaScript's way of writing values, as BFCL's checker reads it. The rules are BFCL's, odd ones included."""

import re
from collections.abc import Mapping

from rig.calls import Json
from rig.methods.bfcl.java import number_or_text

TYPES: Mapping[str, type] = {
    **dict.fromkeys(("String", "any"), str),
    **dict.fromkeys(("integer", "Bigint"), int),
    "float": float,
    "Boolean": bool,
    "dict": dict,
    "array": list,
}
"""What type of Python's a value of each type of JavaScript's is."""

_WHOLE, _REAL, _BIG = re.compile(r"^-?\d+$"), re.compile(r"^-?\d+(\.\d+)?$"), re.compile(r"^-?\d+n$")
_TABLE = re.compile(r"\[\s*\[.*?\]\s*(,\s*\[.*?\]\s*)*\]|\bnew\s+Array\(\s*\[.*?\]\s*(,\s*\[.*?\]\s*)*\)")
_ARRAY = re.compile(r"\[(.*?)\]|\bnew\s+Array\((.*?)\)")
_ROW = re.compile(r"\[(.*?)\]")
_OBJECT = re.compile(r"\{(.*?)\}")
_PAIR = re.compile(r"([^:]+):\s*(.*?)(?:,\s*(?=[^,]+:)|$)")
_QUOTES = ('"', "'")
_LONGEST = 20_000
"""Characters of an argument whose parts are looked for; BFCL's own expressions take quadratic time."""


def value_of(text: str, kind: str, inner: str | None = None) -> Json:
    """The value that a text stands for as one of this type, its elements being of the type `inner`.

    Raises LookupError for a type that BFCL's checker does not read.
    """
    match kind:
        case "String":
            return text[1:-1] if _is_quoted(text) else text
        case "integer":
            return int(text) if _WHOLE.match(text) else text
        case "float":
            return float(text) if _REAL.match(text) else text
        case "Bigint":
            return int(text[:-1]) if _BIG.match(text) else text
        case "Boolean":
            return text == "true" if text in ("true", "false") else text
        case "any":
            return text
        case "array":
            return _array(text.strip(), inner)
        case "dict":
            return _object(text.strip())
    raise LookupError(kind)


def _array(text: str, inner: str | None) -> Json:
    if len(text) > _LONGEST:
        return text
    try:
        if table := _TABLE.match(text):
            return _rows(table[0])
        array = _ARRAY.match(text)
        if array is None:
            return text
        within = (array[1] if array[1] is not None else array[2]).strip()
        elements = [element.strip() for element in within.split(",")] if within else []
        return [value_of(element, inner) if inner else _plain(element) for element in elements]
    except (LookupError, ValueError):
        return text


def _rows(text: str) -> list[Json]:
    rows = [row.strip() for row in _ROW.findall(text)]
    if rows and rows[0].startswith("["):
        rows[0] = rows[0][1:]
    return [[_plain(element.strip()) for element in row.split(",")] for row in rows]


def _object(text: str) -> Json:
    if text == "{}":
        return {}
    members = _OBJECT.match(text)
    if not members or len(text) > _LONGEST:
        return text
    return {key.strip().strip("'\""): _member(value.strip()) for key, value in _PAIR.findall(members[1])}


def _member(text: str) -> Json:
    if text.startswith("[") and text.endswith("]"):
        return _array(text, None)
    if text.startswith("{") and text.endswith("}"):
        return _object(text)
    return _plain(text.strip("'\""))


def _plain(text: str) -> Json:
    """A value that says by itself of what type it is."""
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    return text[1:-1] if _is_quoted(text) else number_or_text(text)


def _is_quoted(text: str) -> bool:
    return any(text.startswith(quote) and text.endswith(quote) for quote in _QUOTES)
