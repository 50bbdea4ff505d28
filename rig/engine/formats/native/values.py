"""Values read back from calls: JSON, Python's, and a family's own spelling.

The text comes from a model and is therefore hostile: depth and length are limited.
"""

import json
import math
import re
from typing import Any

from rig.calls import Json
from rig.engine.formats.salvage import DEEPEST, JsonError

_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_WORD = re.compile(r"[A-Za-z]+")
_NUMBER = re.compile(r"-?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?")
_BARE_KEY = re.compile(r"[^\s:,{}\[\]\"']{1,200}")
_SPACE = re.compile(r"[ \t\r\n]*")
_DOUBLE = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SINGLE = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


def read_value(
    text: str, place: int, quote: str = "", depth: int = 0, *, repeats: bool = False
) -> tuple[Json, int]:
    """The value that begins at a place, and where it ends. `quote` stands around strings, if given.

    With `repeats` a name may come twice; the last value counts. Raises JsonError if there is no value.
    """
    if depth > DEEPEST:
        raise JsonError(f"nested deeper than {DEEPEST} levels")
    place = skip(text, place)
    if quote and text.startswith(quote, place):
        end = text.find(quote, place + len(quote))
        if end < 0:
            raise JsonError(f"a string has no {quote} at its end")
        return text[place + len(quote) : end], end + len(quote)
    match text[place : place + 1]:
        case "{":
            return _object(text, place + 1, quote, depth, repeats)
        case "[":
            return _list(text, place + 1, quote, depth, repeats)
        case '"':
            return _double(text, place)
        case "'":
            return _single(text, place)
    word = _WORD.match(text, place)
    if word and word[0] in _WORDS:
        return _WORDS[word[0]], word.end()
    return _number(text, place)


def skip(text: str, place: int) -> int:
    """Where the white space ends."""
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _number(text: str, place: int) -> tuple[Json, int]:
    found = _NUMBER.match(text, place)
    if not found:
        raise JsonError(f"no value at {text[place : place + 20]!r}")
    whole = found[0].lstrip("-").isdigit()
    number = int(found[0]) if whole else float(found[0])
    if not whole and not math.isfinite(number):
        raise JsonError("a number is too large")
    return number, found.end()


def _double(text: str, place: int) -> tuple[str, int]:
    found = _DOUBLE.match(text, place)
    if not found:
        raise JsonError("a string has no end")
    try:
        return str(json.loads(found[0], strict=False)), found.end()
    except ValueError:
        return _ESCAPE.sub(_unescaped, found[0][1:-1]), found.end()


def _single(text: str, place: int) -> tuple[str, int]:
    found = _SINGLE.match(text, place)
    if not found:
        raise JsonError("a string has no end")
    return _ESCAPE.sub(_unescaped, found[1]), found.end()


def _unescaped(found: re.Match[str]) -> str:
    escape = found[1]
    if escape[0] in "xu" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    return _CONTROLS.get(escape, escape)


def _object(text: str, place: int, quote: str, depth: int, repeats: bool) -> tuple[Json, int]:
    made: dict[str, Any] = {}
    place = skip(text, place)
    while not text.startswith("}", place):
        key, place = _key(text, place, quote)
        place = skip(text, place)
        if not text.startswith(":", place):
            raise JsonError(f"no colon after {key[:40]!r}")
        if key in made and not repeats:
            raise JsonError("a name comes twice in one object")
        made[key], place = read_value(text, place + 1, quote, depth + 1, repeats=repeats)
        place = _next(text, place, "}")
    return made, place + 1


def _key(text: str, place: int, quote: str) -> tuple[str, int]:
    if text[place : place + 1] in ('"', "'") or (quote and text.startswith(quote, place)):
        key, place = read_value(text, place, quote)
        return str(key), place
    found = _BARE_KEY.match(text, place)
    if not found:
        raise JsonError(f"no name at {text[place : place + 20]!r}")
    return found[0], found.end()


def _list(text: str, place: int, quote: str, depth: int, repeats: bool) -> tuple[Json, int]:
    made: list[Any] = []
    place = skip(text, place)
    while not text.startswith("]", place):
        value, place = read_value(text, place, quote, depth + 1, repeats=repeats)
        made.append(value)
        place = _next(text, place, "]")
    return made, place + 1


def _next(text: str, place: int, end: str) -> int:
    """Where the next item begins, or the end stands."""
    place = skip(text, place)
    if text.startswith(",", place):
        return skip(text, place + 1)
    if not text.startswith(end, place):
        raise JsonError(f"{end} or a comma is missing at {text[place : place + 20]!r}")
    return place
