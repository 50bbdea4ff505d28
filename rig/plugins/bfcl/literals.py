"""Values of Java and JavaScript: reading them as BFCL's checker does, and writing them.

An argument is a text that stands for a value. A text that cannot be read stays a text, which is of the wrong
type. The rules are BFCL's, odd ones included.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rig.core.calls import Json, JsonObject

TYPES: Mapping[str, Mapping[str, type]] = {
    "python": {
        **dict.fromkeys(("string", "any"), str),
        "integer": int,
        "float": float,
        "boolean": bool,
        **dict.fromkeys(("array", "tuple"), list),
        "dict": dict,
    },
    "java": {
        **dict.fromkeys(("byte", "short", "integer", "long"), int),
        **dict.fromkeys(("float", "double"), float),
        "boolean": bool,
        **dict.fromkeys(("char", "String", "any"), str),
        **dict.fromkeys(("Array", "ArrayList", "Queue", "Stack"), list),
        "Set": set,
        **dict.fromkeys(("HashMap", "Hashtable"), dict),
    },
    "javascript": {
        **dict.fromkeys(("String", "any"), str),
        **dict.fromkeys(("integer", "Bigint"), int),
        "float": float,
        "Boolean": bool,
        "dict": dict,
        "array": list,
    },
}
"""The Python type that stands for each type of a language."""


def value_of(language: str, text: str, kind: str, inner: str | None = None) -> Json:
    """Return the value of this type that a text stands for; `inner` is the type of its elements.

    Raises LookupError for a type that BFCL's checker does not read.
    """
    if kind in _ATOMS[language]:
        is_one, read = _ATOMS[language][kind]
        return read(text) if is_one(text) else text
    match language, kind:
        case "java", "ArrayList":
            return _java_list(text, inner)
        case "java", "Array":
            array = _JAVA_ARRAY.search(text)
            elements = map(str.strip, array[1].split(",")) if array else ()
            return _elements("java", filter(None, elements), inner) if array else text
        case "java", "HashMap":
            if members := _MAP_WITH.search(text):
                return {key: _plain("java", value.strip()) for key, value in _PUT.findall(members[1])}
            return {} if _MAP.search(text) else text
        case "javascript", "array":
            return _array(text.strip(), inner)
        case "javascript", "dict":
            return _object(text.strip())
    raise LookupError(kind)


_REAL = r"^-?\d+(\.\d+)?([eE][+-]?\d+)?"
_WHOLE = re.compile(r"^-?\d+$").match
_LONG = re.compile(r"^-?\d+[lL]$").match
_FLOAT = re.compile(f"{_REAL}[fF]$").match
_PLAIN_REAL, _BIG = re.compile(r"^-?\d+(\.\d+)?$").match, re.compile(r"^-?\d+n$").match


def _is_quoted(text: str) -> bool:
    return any(text.startswith(quote) and text.endswith(quote) for quote in ('"', "'"))


_BOOLEAN = ("true", "false").__contains__, "true".__eq__

_ATOMS: Mapping[str, Mapping[str, tuple[Callable[[str], object], Callable[[str], Json]]]] = {
    "java": {
        **dict.fromkeys(("byte", "short", "integer"), (_WHOLE, int)),
        "long": (_LONG, lambda text: int(text.rstrip("\n")[:-1])),
        "float": (_FLOAT, lambda text: float(text.rstrip("\n")[:-1])),
        "double": (re.compile(f"{_REAL}$").match, float),
        "boolean": _BOOLEAN,
        **dict.fromkeys(("char", "String", "any"), (bool, str)),
    },
    "javascript": {
        "String": (_is_quoted, lambda text: text[1:-1]),
        "integer": (_WHOLE, int),
        "float": (_PLAIN_REAL, float),
        "Bigint": (_BIG, lambda text: int(text[:-1])),
        "Boolean": _BOOLEAN,
        "any": (bool, str),
    },
}
"""For each type without parts: a test for whether a text is one, and a function that reads its value."""

_LIST_OF = re.compile(r"new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)")
_LIST_WITH = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{\s*(.+?)\s*\}\}", re.DOTALL)
_LIST = re.compile(r"new\s+ArrayList<\w*>\(\)")
_JAVA_ARRAY = re.compile(r"new\s+\w+\[\]\s*\{(.*?)\}")
_MAP_WITH = re.compile(r"new\s+HashMap<.*?>\s*\(\)\s*\{\s*\{?\s*(.*?)\s*\}?\s*\}", re.DOTALL)
_MAP = re.compile(r"new\s+HashMap<.*?>\s*\(\)")
_PUT = re.compile(r'put\("(.*?)",\s*(.*?)\)')
_ADD = re.compile(r"add\((.+?)\)")

_TABLE = re.compile(r"\[\s*\[.*?\]\s*(,\s*\[.*?\]\s*)*\]|\bnew\s+Array\(\s*\[.*?\]\s*(,\s*\[.*?\]\s*)*\)")
_ARRAY = re.compile(r"\[(.*?)\]|\bnew\s+Array\((.*?)\)")
_ROW = re.compile(r"\[(.*?)\]")
_OBJECT = re.compile(r"\{(.*?)\}")
_PAIR = re.compile(r"([^:]+):\s*(.*?)(?:,\s*(?=[^,]+:)|$)")
_LONGEST = 20_000
"""The most characters of an argument that is parsed, as BFCL's expressions take quadratic time."""


def _java_list(text: str, inner: str | None) -> Json:
    if match := _LIST_OF.search(text):
        elements = match[1].split(",")
    elif match := _LIST_WITH.search(text):
        elements = _ADD.findall(match[1])
    else:
        return [] if _LIST.search(text) else text
    if inner in ("char", "String"):
        return [element.strip()[1:-1] for element in elements]
    return _elements("java", map(str.strip, elements), inner)


def _array(text: str, inner: str | None) -> Json:
    if len(text) > _LONGEST:
        return text
    try:
        if table := _TABLE.match(text):
            rows = [row.strip() for row in _ROW.findall(table[0])]
            if rows and rows[0].startswith("["):
                rows[0] = rows[0][1:]
            return [_elements("javascript", map(str.strip, row.split(",")), None) for row in rows]
        array = _ARRAY.match(text)
        if array is None:
            return text
        within = (array[1] if array[1] is not None else array[2]).strip()
        return _elements("javascript", map(str.strip, within.split(",")), inner) if within else []
    except (LookupError, ValueError):
        return text


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
    return _plain("javascript", text.strip("'\"").strip())


def _elements(language: str, texts: Iterable[str], inner: str | None) -> list[Json]:
    return [value_of(language, text, inner) if inner else _plain(language, text) for text in texts]


def _plain(language: str, text: str) -> Json:
    """Read a value whose type is evident from its text."""
    if text in ("true", "false"):
        return text == "true"
    if _is_quoted(text) and (language == "javascript" or text[0] == '"'):
        return text[1:-1]
    if language == "java" and (number := _LONG(text) or _FLOAT(text)):
        return (int if _LONG(text) else float)(number[0][:-1])
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


_SUFFIXES: Mapping[str, Mapping[str, str]] = {
    "java": {"long": "L", "float": "f"},
    "javascript": {"Bigint": "n"},
}


def written(value: Any, declared: JsonObject, language: str) -> Json:
    """Return an argument's value as an answer writes it: itself for Python, else a text in the language."""
    kind = declared.get("type", "")
    if language == "python" or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return _java_literal(value)
    if isinstance(value, int | float):
        return f"{value}{_SUFFIXES[language].get(kind, '')}"
    if language == "javascript":
        return json.dumps(value)
    if isinstance(value, dict):
        puts = " ".join(f'put("{key}", {_java_literal(member)});' for key, member in value.items())
        return f"new HashMap<String, Object>() {{{{ {puts} }}}}"
    # BFCL's checker only removes quotes in lists of texts.
    inner = declared.get("items", {}).get("type")
    is_quoted, suffix = kind != "Array" and inner in ("String", "char"), _SUFFIXES["java"].get(inner, "")
    elements = ", ".join(
        _java_literal(element) if is_quoted or isinstance(element, bool) else f"{element}{suffix}"
        for element in value
    )
    if kind == "Array":
        return f"new Object[]{{{elements}}}"
    return f"new ArrayList<>(Arrays.asList({elements}))" if value else "new ArrayList<>()"


def _java_literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)
