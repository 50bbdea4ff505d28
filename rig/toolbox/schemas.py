"""Check arguments against a JSON Schema: the one place for it, for tools, faults and all checks of calls."""

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date, datetime, time
from functools import cache
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import UUID

from rig import times
from rig.calls import Json, JsonObject
from rig.toolbox.rules import equal, is_match
from rig.toolbox.spec import Tool, ToolError, quoted

Kind: TypeAlias = Literal["unknown", "missing", "type", "choice", "form"]


class SchemaFault(NamedTuple):
    """An argument that does not fit: what it should be, in words, and its value.

    `culprit` is the value at fault: that of the argument, or an element of it.
    """

    kind: Kind
    name: str
    needed: str
    value: Json
    culprit: Json


class _Type(NamedTuple):
    python: type | tuple[type, ...]
    one: str
    many: str


_LONGEST = 200
"""The most characters quoted from a validator's message."""

_TYPES = {
    "string": _Type(str, "a string", "strings"),
    "integer": _Type(int, "a whole number", "whole numbers"),
    "number": _Type((int, float), "a number", "numbers"),
    "boolean": _Type(bool, "true or false", "truth values"),
    "array": _Type(list, "a list", "lists"),
    "object": _Type(dict, "an object", "objects"),
}


def without_keys(node: Any, keys: Collection[str], *, names: bool = False) -> Any:
    """Return a schema without some of its keywords. Keys under `properties` are names, and all stay."""
    if isinstance(node, dict):
        return {
            key: without_keys(value, keys, names=key == "properties" and not names)
            for key, value in node.items()
            if names or key not in keys
        }
    return [without_keys(item, keys) for item in node] if isinstance(node, list) else node


def mapped(value: Json, change: Callable[[Json], Json]) -> Json:
    """Return a value with every scalar in it changed, and the names in its objects as well."""
    if isinstance(value, dict):
        return {change(name): mapped(inner, change) for name, inner in value.items()}
    return [mapped(inner, change) for inner in value] if isinstance(value, list | tuple) else change(value)


def with_texts(value: Json, change: Callable[[str], str]) -> Json:
    """Return a value with every text in it changed, and the names in its objects as well."""
    return mapped(value, lambda inner: change(inner) if isinstance(inner, str) else inner)


def schema_faults(schema: JsonObject, arguments: Json) -> Iterator[SchemaFault]:
    """Yield the faults of arguments that are given, in their order, then the required ones that are missing.

    `schema` is a tool's, of type object. Null for an optional argument means that it is not given.
    """
    if not isinstance(arguments, dict):
        yield SchemaFault("type", "arguments", "an object", arguments, arguments)
        return
    for name, value in arguments.items():
        if name not in schema["properties"]:
            yield SchemaFault("unknown", name, "no such argument", value, value)
        elif value is not None or name in schema["required"]:
            yield from _schema_fault(schema["properties"][name], name, value)
    for name in schema["required"]:
        if name not in arguments:
            yield SchemaFault("missing", name, "to be given", None, None)


def kind_of(value: Json) -> str:
    """Return the JSON type of a value, in words."""
    if value is None:
        return "null"
    return next(
        element.one for name, element in _TYPES.items() if name != "integer" and _is_a(element, value)
    )


def _schema_fault(schema: JsonObject, name: str, value: Json) -> Iterator[SchemaFault]:
    """Yield the first fault in the value of an argument, if there is any."""
    if not _is_flat(schema):
        errors = validator(schema).iter_errors(value)
        for error in sorted(errors, key=lambda error: list(map(str, error.absolute_path)))[:1]:
            where = "".join(f".{step}" for step in error.absolute_path)
            text = error.message if len(error.message) <= _LONGEST else f"{error.message[:_LONGEST]}…"
            yield SchemaFault("choice", name, f"as declared ({name}{where}: {text})", value, value)
        return
    form = times.FORMS.get(schema.get("x-format", ""))
    has_bounds = not isinstance(value, bool) and ("minimum" in schema or "maximum" in schema)
    lowest, highest = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if not _is_a(_TYPES[schema["type"]], value):
        yield SchemaFault("type", name, _words(schema), value, value)
    elif "enum" in schema and not any(equal(value, element) for element in schema["enum"]):
        yield SchemaFault("choice", name, " or ".join(map(str, schema["enum"])), value, value)
    elif has_bounds and isinstance(value, int | float) and not lowest <= value <= highest:
        yield SchemaFault("choice", name, f"from {lowest} to {highest}", value, value)
    elif form is not None and isinstance(value, str) and not times.read_or_none(value, form.pattern):
        yield SchemaFault("form", name, form.words, value, value)
    elif "items" in schema and isinstance(value, list):
        elements = (fault for element in value for fault in _schema_fault(schema["items"], name, element))
        for fault in islice(elements, 1):
            needed = _words(schema) if fault.kind == "type" else fault.needed
            yield fault._replace(needed=needed, value=value)


def misformed(schema: JsonObject, value: Json, name: str = "it") -> Iterator[str]:
    """Yield each text that is not what the `format` of its schema says: only that, not other faults."""
    if isinstance(value, dict):
        for inner, of in schema.get("properties", {}).items():
            if inner in value and isinstance(of, dict):
                yield from misformed(of, value[inner], inner)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for element in value:
            yield from misformed(schema["items"], element, name)
    elif isinstance(value, str) and (form := _FORMATS.get(schema.get("format", ""))) is not None:
        words, read = form
        try:
            read(value)
        except ValueError:
            yield f"{name} is {value!r}, which is not {words}"


def _day(text: str) -> object:
    # `fromisoformat` also reads 20250309 and 2025-W10-7, which JSON Schema's date is not.
    if len(text) != len("2025-03-09") or text[4] != "-":
        raise ValueError("another form")
    return date.fromisoformat(text)


def _address(text: str) -> object:
    user, _, host = text.rpartition("@")
    if not (user and host) or " " in text:
        raise ValueError("no address")
    return user, host


_FORMATS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "date": ("a date as in 2025-03-09", _day),
    "date-time": ("a date and time as in 2025-03-09T14:30:00Z", datetime.fromisoformat),
    "time": ("a time as in 14:30:00", time.fromisoformat),
    "email": ("an e-mail address", _address),
    "uuid": ("a UUID", UUID),
}
"""Formats of JSON Schema: what they are in words, and what reads them or raises ValueError."""


def _words(schema: JsonObject) -> str:
    if "items" not in schema or schema["type"] != "array":
        return _TYPES[schema["type"]].one
    return f"a list of {_TYPES[schema['items']['type']].many}"


def _is_a(needed: _Type, value: Json) -> bool:
    if needed.python is int and isinstance(value, float):
        return value.is_integer()  # as JSON Schema has it
    # To Python true is a number, to JSON it is not.
    return isinstance(value, needed.python) and (needed.python is bool or not isinstance(value, bool))


_FLAT = frozenset(
    ("type", "items", "enum", "minimum", "maximum", "description", "x-format", "format", "title", "default")
)


def _is_flat(schema: JsonObject) -> bool:
    """Return whether a schema is of the kind that `@tool` makes: of one plain type, or a list of one."""
    plain = schema.keys() <= _FLAT and isinstance(schema.get("type"), str) and schema["type"] != "object"
    return plain and ("items" not in schema or _is_flat(schema["items"])) and schema["type"] != "null"


def validator(schema: JsonObject, *, whole_patterns: bool = False) -> Any:
    """Return a validator of JSON Schema (`jsonschema`'s) that limits the time of patterns.

    With `whole_patterns`, patterns have to begin with ^ and end with $ and match whole texts, as grammars
    enforce them; Python's `$` would let a final line break through.
    """
    return _validator_class(whole_patterns)(schema)


def fits(value: Json, schema: JsonObject) -> bool:
    """Return whether a value fits a schema whose patterns match whole texts."""
    return bool(validator(schema, whole_patterns=True).is_valid(value))


@cache
def _validator_class(whole_patterns: bool) -> Any:
    from jsonschema import Draft202012Validator, ValidationError  # loaded only for such tools
    from jsonschema.validators import extend

    def pattern(_: Any, needed: str, value: Any, __: Any) -> Iterator[ValidationError]:
        if not isinstance(value, str):
            return
        if whole_patterns and not is_match(needed[1:-1], value):
            yield ValidationError(f"{value!r} does not have the form that is asked for")
        elif not whole_patterns and not is_match(needed, value, whole=False):
            yield ValidationError(f"{value!r} does not match {needed!r}")

    return extend(Draft202012Validator, {"pattern": pattern})  # type: ignore[no-untyped-call]


_ORDER: dict[Kind, int] = {"unknown": 0, "missing": 1, "type": 2, "choice": 2}
"""Which fault is reported first. The form of a text is left for the tool to check."""


def check(tool: Tool, arguments: JsonObject) -> JsonObject:
    """Return the arguments without the optional ones that are null.

    Raises ToolError for the first argument that is unknown, missing or of a wrong type.
    """
    refusal = refused(tool, arguments)
    if refusal is not None:
        raise ToolError(refusal)
    required = tool.parameters["required"]
    return {name: value for name, value in arguments.items() if value is not None or name in required}


def refused(tool: Tool, arguments: Json) -> str | None:
    """Return why a tool's schema refuses arguments, in words for the model; None if they fit."""
    faults = [fault for fault in schema_faults(tool.parameters, arguments) if fault.kind in _ORDER]
    if not faults:
        return None
    kind, name, needs, value, culprit = min(faults, key=lambda fault: _ORDER[fault.kind])
    if kind == "unknown":
        takes = ", ".join(tool.parameters["properties"]) or "none"
        return f"{tool.name} has no argument '{quoted(name)}'; it takes {takes}."
    if kind == "missing":
        return f"{tool.name} needs the argument {name}."
    if kind == "choice":
        return f"{name} must be {needs}, not '{quoted(culprit)}'."
    if culprit is value:
        return f"{name} must be {needs}, not {kind_of(culprit)}."
    return f"{name} must be {needs}; it holds {kind_of(culprit)}."


def is_refusal(tool: Tool, text: str) -> bool:
    """Return whether a text is a refusal of arguments by the tool's schema, not the tool's own words."""
    name, any_name = re.escape(tool.name), "|".join(map(re.escape, tool.parameters["properties"]))
    forms = (
        rf"{name} has no argument '.*'; it takes .+\.",
        rf"{name} needs the argument (?:{any_name})\.",
        rf"(?:{any_name}) must be .+(?:, not .+|; it holds .+)\.",
    )
    return any(re.fullmatch(form, text, re.DOTALL) for form in forms)


def check_names(tool: Tool, arguments: JsonObject) -> None:
    """Raise ToolError if Python would refuse the keyword arguments."""
    for name in arguments:
        if name not in tool.parameters["properties"]:
            raise ToolError(f"{tool.name}.call() got an unexpected keyword argument '{name}'")
    missing = [f"'{name}'" for name in tool.parameters["required"] if name not in arguments]
    if missing:
        count = f"{len(missing)} required positional argument{'s' if len(missing) > 1 else ''}"
        raise ToolError(f"{tool.name}.call() missing {count}: {' and '.join(missing)}")
