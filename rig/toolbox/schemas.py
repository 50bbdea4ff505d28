"""Whether arguments fit a JSON Schema: the one place, for tools, faults and whoever checks a call."""

import math
from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

from rig import times
from rig.calls import Json, JsonObject

Kind: TypeAlias = Literal["unknown", "missing", "type", "choice", "form"]


class Misfit(NamedTuple):
    """One argument that does not fit: what it should be, in words, and what it is.

    `culprit` is the value at fault: that of the argument, or an element of it.
    """

    kind: Kind
    name: str
    wanted: str
    value: Json
    culprit: Json


class _Type(NamedTuple):
    python: type | tuple[type, ...]
    one: str
    many: str


_TYPES = {
    "string": _Type(str, "a string", "strings"),
    "integer": _Type(int, "a whole number", "whole numbers"),
    "number": _Type((int, float), "a number", "numbers"),
    "boolean": _Type(bool, "true or false", "truth values"),
    "array": _Type(list, "a list", "lists"),
    "object": _Type(dict, "an object", "objects"),
}


def misfits(schema: JsonObject, arguments: Json) -> Iterator[Misfit]:
    """The arguments that are unknown, missing, or of another type, choice or form, in this order of names.

    `schema` is a tool's: of type object. Null for an optional argument means that it is not given.
    """
    if not isinstance(arguments, dict):
        yield Misfit("type", "arguments", "an object", arguments, arguments)
        return
    for name, value in arguments.items():
        if name not in schema["properties"]:
            yield Misfit("unknown", name, "no such argument", value, value)
        elif value is not None or name in schema["required"]:
            yield from _misfit(schema["properties"][name], name, value)
    for name in schema["required"]:
        if name not in arguments:
            yield Misfit("missing", name, "to be given", None, None)


def kind_of(value: Json) -> str:
    """What a value is, in words."""
    if value is None:
        return "null"
    return next(each.one for name, each in _TYPES.items() if name != "integer" and _is_a(each, value))


def _misfit(schema: JsonObject, name: str, value: Json) -> Iterator[Misfit]:
    """The first thing that is wrong with the value of an argument, if anything is."""
    form = times.FORMS.get(schema.get("x-format", ""))
    if not _is_a(_TYPES[schema["type"]], value):
        yield Misfit("type", name, _words(schema), value, value)
    elif "enum" in schema and value not in schema["enum"]:
        yield Misfit("choice", name, " or ".join(map(str, schema["enum"])), value, value)
    elif (span := _span(schema)) and not span[0] <= value <= span[1]:
        yield Misfit("choice", name, f"from {span[0]} to {span[1]}", value, value)
    elif form is not None and not _is_read(value, form.pattern):
        yield Misfit("form", name, form.words, value, value)
    elif "items" in schema:
        elements = (found for each in value for found in _misfit(schema["items"], name, each))
        for found in islice(elements, 1):
            wanted = _words(schema) if found.kind == "type" else found.wanted
            yield found._replace(wanted=wanted, value=value)


def _span(schema: JsonObject) -> tuple[float, float] | None:
    if "minimum" in schema or "maximum" in schema:
        return schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    return None


def _words(schema: JsonObject) -> str:
    if "items" not in schema:
        return _TYPES[schema["type"]].one
    return f"a list of {_TYPES[schema['items']['type']].many}"


def _is_a(wanted: _Type, value: Json) -> bool:
    # To Python true is a number, to JSON it is not.
    return isinstance(value, wanted.python) and (wanted.python is bool or not isinstance(value, bool))


def _is_read(text: str, pattern: str) -> bool:
    try:
        times.read(text, pattern)
    except ValueError:
        return False
    return True
