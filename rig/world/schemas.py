"""Check arguments against a JSON Schema: the one place for it, for tools, faults and all checks of calls."""

import math
import re
from collections.abc import Callable, Collection, Iterator
from fractions import Fraction
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeAlias

from rig.core import times
from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.world.patterns import is_match
from rig.world.spec import Tool, ToolError, quoted

Kind: TypeAlias = Literal["unknown", "undeclared", "missing", "type", "choice", "form"]


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
    """Yield the faults of arguments in their order, then the required ones that are missing.

    `schema` is a tool's, of type object. Null for an optional argument means that it is absent. An argument
    that the schema neither declares nor excludes is "undeclared".
    """
    if not isinstance(arguments, dict):
        yield SchemaFault("type", "arguments", "an object", arguments, arguments)
        return
    properties, required = schema.get("properties", {}), schema.get("required", ())
    others = schema.get("additionalProperties", True)
    for name, value in arguments.items():
        if value is None and name not in required and name in properties:
            continue
        if name in properties:
            inner = _with_nulls_absent(properties[name], value, schema)
            yield from _schema_fault(properties[name], name, inner, schema)
        elif "patternProperties" in schema or isinstance(others, dict):
            continue  # as the whole schema says
        elif others is False:
            yield SchemaFault("unknown", name, "no such argument", value, value)
        else:
            yield SchemaFault("undeclared", name, "no declared argument", value, value)
    for name in required:
        if name not in arguments:
            yield SchemaFault("missing", name, "to be given", None, None)
    if schema.keys() - _PLAIN or isinstance(others, dict):
        yield from _whole_fault(schema, with_nulls_absent(schema, arguments))


def with_nulls_absent(schema: JsonObject, arguments: JsonObject) -> JsonObject:
    """Return arguments without the optional ones that are null, which stands for their absence.

    Within objects, null stays where the schema declares it.
    """
    required, properties = schema.get("required", ()), schema.get("properties", {})
    return {
        name: _with_nulls_absent(properties.get(name), value, schema)
        for name, value in arguments.items()
        if value is not None or name in required
    }


def _with_nulls_absent(schema: Json, value: Json, whole: JsonObject) -> Json:
    if not isinstance(value, list | dict) or not isinstance(schema, dict):
        return value
    schema = whole.get("$defs", {}).get(str(schema.get("$ref")).removeprefix("#/$defs/"), schema)
    if isinstance(value, list):
        return [_with_nulls_absent(schema.get("items"), item, whole) for item in value]
    declared, required = schema.get("properties", {}), schema.get("required", ())
    defined = {"$defs": whole.get("$defs", {})}
    return {
        name: _with_nulls_absent(declared.get(name), item, whole)
        for name, item in value.items()
        if item is not None or name in required or fits(None, {**defined, **declared.get(name, {})})
    }


def _whole_fault(schema: JsonObject, arguments: JsonObject) -> Iterator[SchemaFault]:
    """Yield what a schema says of its arguments together, in words that apply to no one of them."""
    together = {word: value for word, value in schema.items() if word not in _PLAIN or word == "$defs"}
    listed = dict.fromkeys(schema.get("properties", {}), True)
    rest = {"additionalProperties": schema.get("additionalProperties", True), "properties": listed}
    for error in islice(faults(arguments, {**together, **rest}), 1):
        yield SchemaFault("choice", "arguments", f"as declared ({_cut(error.message)})", arguments, arguments)


def kind_of(value: Json) -> str:
    """Return the JSON type of a value, in words."""
    if value is None:
        return "null"
    return next(
        element.one for name, element in _TYPES.items() if name != "integer" and _is_a(element, value)
    )


def _schema_fault(schema: JsonObject, name: str, value: Json, whole: JsonObject) -> Iterator[SchemaFault]:
    """Yield the first fault in the value of an argument, if there is any. `whole` has the definitions."""
    if not _is_flat(schema):
        definitions = {"$defs": whole["$defs"]} if "$defs" in whole else {}
        errors = faults(value, {**schema, **definitions})
        for error in sorted(errors, key=lambda error: list(map(str, error.absolute_path)))[:1]:
            where = "".join(f".{step}" for step in error.absolute_path)
            yield SchemaFault(
                "choice", name, f"as declared ({name}{where}: {_cut(error.message)})", value, value
            )
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
        elements = (
            fault for element in value for fault in _schema_fault(schema["items"], name, element, whole)
        )
        for fault in islice(elements, 1):
            needed = _words(schema) if fault.kind == "type" else fault.needed
            yield fault._replace(needed=needed, value=value)


def equal(expected: Json, got: Json) -> bool:
    """Return whether two values are equal as JSON: 1 equals 1.0, and true is not a number."""
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(map(equal, expected, got))
    if isinstance(expected, dict) and isinstance(got, dict):
        return expected.keys() == got.keys() and all(equal(expected[name], got[name]) for name in expected)
    return bool(expected == got)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _words(schema: JsonObject) -> str:
    if "items" not in schema or schema["type"] != "array":
        return _TYPES[schema["type"]].one
    return f"a list of {_TYPES[schema['items']['type']].many}"


def _is_a(needed: _Type, value: Json) -> bool:
    if needed.python is int and isinstance(value, float):
        return value.is_integer()  # as JSON Schema has it
    # To Python true is a number, to JSON it is not.
    return isinstance(value, needed.python) and (needed.python is bool or not isinstance(value, bool))


_PLAIN = frozenset(
    (
        "type",
        "properties",
        "required",
        "additionalProperties",
        "$defs",
        "title",
        "description",
        "default",
        "examples",
    )
)
"""Words of parameters that say something of one argument alone, or nothing."""
_FLAT = frozenset(
    ("type", "items", "enum", "minimum", "maximum", "description", "x-format", "format", "title", "default")
)


def _is_flat(schema: Json) -> bool:
    """Return whether a schema is of the kind that `@tool` makes: of one plain type, or a list of one."""
    if not isinstance(schema, dict):  # items: false
        return False
    plain = schema.keys() <= _FLAT and isinstance(schema.get("type"), str) and schema["type"] != "object"
    return plain and ("items" not in schema or _is_flat(schema["items"])) and schema["type"] != "null"


def validator(schema: JsonObject) -> Any:
    """Return `jsonschema`'s validator, which here reads patterns as ECMAScript and limits their time."""
    return _validator_class()(schema)


def fits(value: Json, schema: JsonObject) -> bool:
    """Return whether a value fits a schema."""
    return next(faults(value, schema), None) is None


def faults(value: Json, schema: JsonObject) -> Iterator[Any]:
    """Yield the errors that `jsonschema` finds in a value."""
    try:
        yield from validator(schema).iter_errors(value)
    except RecursionError as error:
        raise RigError("a value is nested too deeply for its schema") from error


_ECMASCRIPT = re.compile(r"\\(?:[dDwW]|.)|\[\^?\]?|\]|\$|\.", re.DOTALL)
_OUTSIDE = {"$": r"\Z", ".": r"[^\n\r\u2028\u2029]"}
_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_"}


@lru_cache(maxsize=4096)
def as_python(pattern: str) -> str:
    """Return an ECMAScript pattern as `regex` has it: $ is the very end, digits and letters are ASCII."""
    is_inside = False

    def rewritten(match: re.Match[str]) -> str:
        nonlocal is_inside
        text = match[0]
        if text[0] == "[":
            was_inside, is_inside = is_inside, True
            return f"\\{text}" if was_inside else text
        if text == "]":
            is_inside = False
        elif text in _OUTSIDE and not is_inside:
            return _OUTSIDE[text]
        elif text[0] == "\\" and (members := _CLASSES.get(text[1].lower())):
            if text[1].islower():
                return members if is_inside else f"[{members}]"
            return text if is_inside else f"[^{members}]"
        return text

    return _ECMASCRIPT.sub(rewritten, pattern)


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if isinstance(value, str) and not is_match(as_python(pattern), value, whole=False):
        yield ValidationError(f"{quoted(value)!r} does not match {pattern!r}")


def _multiple(_: Any, step: float, value: Any, __: Any) -> Iterator[Any]:
    """As decimals, since 0.3 is a multiple of 0.1; binary fractions are not."""
    from jsonschema import ValidationError

    if isinstance(value, int | float) and not isinstance(value, bool):
        exact, of = (
            Fraction(number if isinstance(number, int) else repr(number)) for number in (value, step)
        )
        if exact % of:
            yield ValidationError(f"{value!r} is not a multiple of {step!r}")


@cache
def _validator_class() -> Any:
    from jsonschema import Draft202012Validator  # loaded only for such tools
    from jsonschema.validators import extend

    words = {"pattern": _pattern, "multipleOf": _multiple}
    return extend(Draft202012Validator, words)  # type: ignore[no-untyped-call]


_ORDER: dict[Kind, int] = {"unknown": 0, "missing": 1, "type": 2, "choice": 2}
"""Which fault is reported first. Forms of texts and undeclared arguments are left for the tool to check."""


def check(tool: Tool, arguments: JsonObject) -> JsonObject:
    """Return the arguments without the optional ones that are null.

    Raises ToolError for the first argument that is unknown, missing or of a wrong type.
    """
    refusal = refused(tool, arguments)
    if refusal is not None:
        raise ToolError(refusal)
    return with_nulls_absent(tool.parameters, arguments)


def refused(tool: Tool, arguments: Json, *, undeclared: bool = False) -> str | None:
    """Return why a tool's schema refuses arguments, in words for the model; None if they fit.

    With `undeclared`, those are refused, too, that the schema neither declares nor excludes.
    """
    order = {**_ORDER, "undeclared": 0} if undeclared else _ORDER
    unfit = [fault for fault in schema_faults(tool.parameters, arguments) if fault.kind in order]
    if not unfit:
        return None
    kind, name, needs, value, culprit = min(unfit, key=lambda fault: order[fault.kind])
    if kind in ("unknown", "undeclared"):
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
