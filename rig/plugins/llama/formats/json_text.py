"""JSON in an answer, which is hostile: read strictly, with every oddity refused and every depth bounded."""

import json
import math
from typing import Any

from rig.core.budget import values_at
from rig.core.calls import JsonObject

DEEPEST = 64
"""The most levels of lists and objects in an answer."""


class JsonError(ValueError):
    """Text is not JSON, or is ambiguous JSON."""


def read_json(text: str, *, repeats: bool = False) -> Any:
    """Return the value of a JSON text. Raises JsonError, also for repeated names and infinite numbers.

    With `repeats` names may repeat; the last value counts, as for nearly every reader of JSON.
    """
    try:
        value = (_LAST if repeats else _DECODER).decode(text)
    except (ValueError, RecursionError) as error:
        raise JsonError(str(error)) from error
    return _within_depth(value)


def read_json_at(text: str, place: int, *, repeats: bool = False) -> tuple[Any, int]:
    """Return the JSON value at a place of a text, and where it ends. Raises JsonError as `read_json` does."""
    try:
        value, end = (_LAST if repeats else _DECODER).raw_decode(text, place)
    except RecursionError as error:
        raise JsonError("nested too deeply") from error
    except ValueError as error:
        raise JsonError(str(error)) from error
    return _within_depth(value), end


def _unique(pairs: list[tuple[str, Any]]) -> JsonObject:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise JsonError("a name comes twice in one object")
    return members


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise JsonError("a number is too large")
    return number


def _refuse(text: str) -> Any:
    raise JsonError(f"{text} is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_refuse)
_LAST = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse)


def _within_depth(value: Any) -> Any:
    if any(isinstance(inner, dict | list) for inner in values_at(value, DEEPEST)):
        raise JsonError(f"nested deeper than {DEEPEST} levels")
    return value
