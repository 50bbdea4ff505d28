"""Java's way of writing values, as BFCL's checker reads it: an argument is a text that stands for a value.

What cannot be read stays a text, and then is of the wrong type. The rules are BFCL's, odd ones included.
"""

import re
from collections.abc import Mapping

from rig.calls import Json

TYPES: Mapping[str, type] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    **dict.fromkeys(("float", "double"), float),
    "boolean": bool,
    **dict.fromkeys(("char", "String", "any"), str),
    **dict.fromkeys(("Array", "ArrayList", "Queue", "Stack"), list),
    "Set": set,
    **dict.fromkeys(("HashMap", "Hashtable"), dict),
}
"""What type of Python's a value of each type of Java's is."""

_WHOLE = re.compile(r"^-?\d+$")
_LONG = re.compile(r"^-?\d+[lL]$")
_REAL = r"^-?\d+(\.\d+)?([eE][+-]?\d+)?"
_FLOAT, _DOUBLE = re.compile(f"{_REAL}[fF]$"), re.compile(f"{_REAL}$")

_LIST_OF = re.compile(r"new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)")
_LIST_WITH = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{\s*(.+?)\s*\}\}", re.DOTALL)
_LIST = re.compile(r"new\s+ArrayList<\w*>\(\)")
_ARRAY = re.compile(r"new\s+\w+\[\]\s*\{(.*?)\}")
_MAP_WITH = re.compile(r"new\s+HashMap<.*?>\s*\(\)\s*\{\s*\{?\s*(.*?)\s*\}?\s*\}", re.DOTALL)
_MAP = re.compile(r"new\s+HashMap<.*?>\s*\(\)")
_PUT = re.compile(r'put\("(.*?)",\s*(.*?)\)')
_ADD = re.compile(r"add\((.+?)\)")


def value_of(text: str, kind: str, inner: str | None = None) -> Json:
    """The value that a text stands for as one of this type, its elements being of the type `inner`.

    Raises LookupError for a type that BFCL's checker does not read.
    """
    match kind:
        case "byte" | "short" | "integer":
            return int(text) if _WHOLE.match(text) else text
        case "long":
            return int(text.rstrip("\n")[:-1]) if _LONG.match(text) else text
        case "float":
            return float(text.rstrip("\n")[:-1]) if _FLOAT.match(text) else text
        case "double":
            return float(text) if _DOUBLE.match(text) else text
        case "boolean":
            return text == "true" if text in ("true", "false") else text
        case "char" | "String" | "any":
            return text
        case "ArrayList":
            return _list(text, inner)
        case "Array":
            return _array(text, inner)
        case "HashMap":
            return _map(text)
    raise LookupError(kind)


def _list(text: str, inner: str | None) -> Json:
    if match := _LIST_OF.search(text):
        return [_element(element.strip(), inner) for element in match[1].split(",")]
    if match := _LIST_WITH.search(text):
        return [_element(element.strip(), inner) for element in _ADD.findall(match[1])]
    return [] if _LIST.search(text) else text


def _element(text: str, inner: str | None) -> Json:
    if inner in ("char", "String"):
        return text[1:-1]
    return value_of(text, inner) if inner else _plain(text)


def _array(text: str, inner: str | None) -> Json:
    match = _ARRAY.search(text)
    if not match:
        return text
    elements = [element.strip() for element in match[1].split(",") if element.strip()]
    return [value_of(element, inner) if inner else _plain(element) for element in elements]


def _map(text: str) -> Json:
    if match := _MAP_WITH.search(text):
        return {key: _plain(value.strip()) for key, value in _PUT.findall(match[1])}
    return {} if _MAP.search(text) else text


def _plain(text: str) -> Json:
    """A value that says by itself of what type it is."""
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"') and text.endswith('"'):
        return text[1:-1]
    if _LONG.match(text):
        return int(text[:-1])
    if _FLOAT.match(text):
        return float(text[:-1])
    return number_or_text(text)


def number_or_text(text: str) -> Json:
    """A number, if Python reads one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
