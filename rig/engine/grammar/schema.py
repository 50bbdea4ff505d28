"""The JSON Schemas that rig enforces: the part that both engines and the validator understand alike.

A schema is narrowed to that part: every answer that fits the narrowed schema fits the original one. A schema
that cannot be narrowed is refused, because a grammar must not allow more than the validator does.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from typing import Any, TypeAlias

from rig.calls import JsonObject
from rig.engine.grammar.patterns import MOST, NAMED, canonical
from rig.errors import RigError

RULES = "1"
"""The version of how schemas become texts; part of the fingerprint of arms with a grammar."""

LARGEST = 10**15
"""Numbers stay within ±10^15, without exponents: as text or as a double they are the same, and finite."""

_DOCUMENTATION = (
    *("description", "title", "default", "examples", "deprecated"),
    *("readOnly", "writeOnly", "$comment", "$schema"),
)
_MOST_PLACES = 30
"""The most decimals of a bound; each is a level of a regular expression."""
_FORMATS = ("x-format", "format")
_DEEPEST = 32

_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_KEYWORDS: Mapping[str, frozenset[str]] = {
    "string": frozenset({"pattern", "minLength", "maxLength"}),
    "integer": _BOUNDS,
    "number": _BOUNDS,
    "boolean": frozenset(),
    "null": frozenset(),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "object": frozenset({"properties", "required", "additionalProperties"}),
}
_PYTHON: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_PLAIN = [{"type": kind} for kind in ("string", "number", "boolean", "null")]
_ANYTHING: JsonObject = {
    "anyOf": [
        *_PLAIN,
        {"type": "array", "items": {"anyOf": _PLAIN}},
        {"type": "object", "additionalProperties": {"anyOf": _PLAIN}},
    ]
}
"""The values of an object that declares nothing: one more level of lists and objects."""


_Narrow: TypeAlias = Callable[[Any, str], JsonObject]
"""Narrows a schema inside another one; the second argument names its place."""


class SchemaError(RigError):
    """A schema of a tool's parameters cannot be enforced; the message says where and why, in one line."""


def narrow(schema: Any, where: str, *, formats: bool, depth: int = 0) -> JsonObject:
    """Return the part of a schema that is enforced. `where` names its place in messages, `depth` its nesting.

    With `formats`, `format` and `x-format` become patterns; without, they are documentation, as JSON Schema
    has it. Keywords keep their order, and a schema that needs no narrowing stays the same text. Raises
    SchemaError.
    """
    if depth > _DEEPEST:
        raise SchemaError(f"{where}: nested deeper than {_DEEPEST} levels")
    if not isinstance(schema, dict):
        raise SchemaError(f"{where}: {_shown(schema)} is not an object")
    inside: _Narrow = partial(narrow, formats=formats, depth=depth + 1)
    named = {key: schema[key] for key in _FORMATS if key in schema}
    node = {key: value for key, value in schema.items() if key not in _DOCUMENTATION and key not in named}
    if "anyOf" in node:
        return _any_of(node, where, inside)
    if "enum" in node or "const" in node:
        return _values(node, where)
    kind = node.get("type")
    if isinstance(kind, list):
        return _any_of({"anyOf": [_only(schema, one) for one in kind]}, where, inside)
    if not isinstance(kind, str) or kind not in _KEYWORDS:
        raise SchemaError(f"{where}: a type is needed, one of {', '.join(_KEYWORDS)}; got {_shown(kind)}")
    unknown = [key for key in node if key != "type" and key not in _KEYWORDS[kind]]
    if unknown:
        raise SchemaError(f"{where}: {unknown[0]!r} of type {kind} cannot be enforced; leave it out")
    match kind:
        case "string":
            return _string(node, named if formats else {}, where)
        case "integer" | "number":
            return _number(node, where, whole=kind == "integer")
        case "array":
            if "items" not in node:
                raise SchemaError(f"{where}: a list of anything cannot be enforced; say what its items are")
            node = _counts(node, "minItems", "maxItems", where)
            return {**node, "items": inside(node["items"], f"{where}[]")}
        case "object":
            return _object(node, where, inside, is_outermost=not depth)
    return node


def _any_of(node: JsonObject, where: str, inside: _Narrow) -> JsonObject:
    options = node["anyOf"]
    others = [key for key in node if key != "anyOf"]
    if others:
        raise SchemaError(f"{where}: {others[0]!r} beside anyOf cannot be enforced; move it into the options")
    if not isinstance(options, list) or not options:
        raise SchemaError(f"{where}: anyOf needs a list of schemas")
    # Two equal options would allow no more texts, but make them readable in two ways.
    narrowed = (inside(option, where) for option in options)
    distinct = {json.dumps(option, sort_keys=True): option for option in narrowed}
    # A lexer cannot tell objects with any names from other objects, so they are left out beside others.
    objects = [inner for option in distinct.values() for inner in _objects(option)]
    free = [inner for inner in objects if isinstance(inner["additionalProperties"], dict)]
    kept = free[:1] if len(free) == len(objects) else []
    return {"anyOf": _without(distinct.values(), [inner for inner in free if inner not in kept])}


def _objects(schema: JsonObject) -> list[JsonObject]:
    """Return the object schemas among the options of a narrowed schema."""
    inner = [inner_object for option in schema.get("anyOf", ()) for inner_object in _objects(option)]
    return [schema] if schema.get("type") == "object" else inner


def _without(options: Iterable[JsonObject], dropped: list[JsonObject]) -> list[JsonObject]:
    """Return narrowed schemas without the dropped objects; an option with nothing else is left out."""
    kept = []
    for option in options:
        if "anyOf" in option and dropped:
            inner = _without(option["anyOf"], dropped)
            kept += [{"anyOf": inner}] if inner else []
        elif option not in dropped:
            kept.append(option)
    return kept


def _only(schema: JsonObject, kind: Any) -> JsonObject:
    """Return the part of a schema of several types that applies to one of them."""
    alien = frozenset().union(*_KEYWORDS.values(), _FORMATS if kind != "string" else ())
    alien -= _KEYWORDS.get(kind, frozenset()) if isinstance(kind, str) else frozenset()
    return {**{key: value for key, value in schema.items() if key not in alien}, "type": kind}


def _values(node: JsonObject, where: str) -> JsonObject:
    others = [key for key in node if key not in ("type", "enum", "const")]
    if others or ("enum" in node and "const" in node):
        beside = (others or ["const"])[0]
        raise SchemaError(f"{where}: {beside!r} beside enum cannot be enforced; leave it out")
    values = node["enum"] if "enum" in node else [node["const"]]
    if not isinstance(values, list) or not values:
        raise SchemaError(f"{where}: enum needs a list of values")
    kind = node.get("type", list(_PYTHON))
    kinds = kind if isinstance(kind, list) else [kind]
    for value in values:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not any(_is_a(value, one) for one in kinds):
            raise SchemaError(f"{where}: {_shown(value)} in enum is not of type {_shown(kind)}")
        if isinstance(value, str) and not _is_text(value):
            raise SchemaError(f"{where}: a value of enum is not Unicode text")
        if is_number and not (math.isfinite(value) and abs(value) <= LARGEST and "e" not in repr(value)):
            raise SchemaError(f"{where}: {value} in enum is not a number within ±10^15, or has an exponent")
    if any(isinstance(value, float) and value.is_integer() for value in values):
        return {"enum": [_whole(value) for value in values]}
    return node


def _whole(value: Any) -> Any:
    """Return a whole number without a decimal point, as one of the engines would write it anyway."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_a(value: Any, kind: Any) -> bool:
    if isinstance(value, bool):  # an int to Python
        return bool(kind == "boolean")
    return isinstance(kind, str) and isinstance(value, _PYTHON.get(kind, ()))


def _string(node: JsonObject, named: JsonObject, where: str) -> JsonObject:
    shapes = [key for key in node if key != "type"]
    if ("pattern" in node and len(shapes) > 1) or (named and shapes) or len(named) > 1:
        raise SchemaError(f"{where}: of pattern, format and lengths only one can be enforced")
    if named:
        ((keyword, name),) = named.items()
        if not isinstance(name, str) or name not in NAMED[keyword]:
            names = ", ".join(NAMED[keyword])
            raise SchemaError(f"{where}: {keyword} {_shown(name)} is not known; those known are {names}")
        return {**node, "pattern": NAMED[keyword][name]}
    if "pattern" in node:
        if not isinstance(node["pattern"], str):
            raise SchemaError(f"{where}: pattern is not a text")
        try:
            return {**node, "pattern": canonical(node["pattern"])}
        except ValueError as error:
            raise SchemaError(f"{where}: the pattern {_shown(node['pattern'])}: {error}") from error
    return _counts(node, "minLength", "maxLength", where)


def _number(node: JsonObject, where: str, *, whole: bool) -> JsonObject:
    limits = {key: value for key, value in node.items() if key != "type"}
    for key, value in limits.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        # A number with digits after the point has a negative exponent: their count.
        if not is_number or int(Decimal(repr(value)).as_tuple().exponent) < -_MOST_PLACES:
            raise SchemaError(
                f"{where}: {key} {_shown(value)} is not a number of at most {_MOST_PLACES} places"
            )
    low: int | float = _whole(max(limits.get("minimum", -LARGEST), -LARGEST))
    high: int | float = _whole(min(limits.get("maximum", LARGEST), LARGEST))
    if whole:
        low, high = math.ceil(low), math.floor(high)
        low = max(low, math.floor(limits.get("exclusiveMinimum", low - 1)) + 1)
        high = min(high, math.ceil(limits.get("exclusiveMaximum", high + 1)) - 1)
    else:
        if "exclusiveMinimum" in limits:
            low = max(low, _beyond(limits["exclusiveMinimum"], math.inf))
        if "exclusiveMaximum" in limits:
            high = min(high, _beyond(limits["exclusiveMaximum"], -math.inf))
    if low > high:
        raise SchemaError(f"{where}: no number is allowed")
    return {"type": node["type"], "minimum": low, "maximum": high}


def _beyond(bound: float, direction: float) -> float:
    """Return a number just beyond a bound: the nearest double, but at least a billionth away."""
    step = math.copysign(1e-9, direction)
    return bound + step if bound + step != bound else math.nextafter(bound, direction)


def _object(node: JsonObject, where: str, inside: _Narrow, *, is_outermost: bool) -> JsonObject:
    others = node.get("additionalProperties", "properties" not in node)
    properties, required = node.get("properties", {}), node.get("required", [])
    if not isinstance(others, bool | dict):
        raise SchemaError(f"{where}: additionalProperties has to be true, false or a schema")
    is_free = "properties" not in node and others is not False
    if is_free and is_outermost:
        raise SchemaError(
            f"{where}: an object that allows anything is not a list of parameters; name its properties"
        )
    if not is_free and not isinstance(properties, dict):
        raise SchemaError(f"{where}: properties has to be an object")
    are_known = isinstance(required, list) and all(name in properties for name in required)
    if (required or not is_free) and not are_known:
        raise SchemaError(f"{where}: required has to be a list of names that properties has too")
    if is_free:
        schema = others if isinstance(others, dict) and others else _ANYTHING
        return {"type": "object", "properties": {}, "additionalProperties": inside(schema, f"{where}.*")}
    strange = [name for name in properties if not isinstance(name, str) or not _is_text(name)]
    if strange:
        raise SchemaError(f"{where}: the name {strange[0]!a} is not Unicode text")
    inner = {name: inside(part, f"{where}.{name}") for name, part in properties.items()}
    return {**node, "properties": inner, "additionalProperties": False}


def parts_of(schema: JsonObject) -> Iterator[JsonObject]:
    """Yield a narrowed schema and all schemas inside it."""
    yield schema
    inner = (*schema.get("anyOf", ()), *schema.get("properties", {}).values())
    for part in (*inner, schema.get("items"), schema.get("additionalProperties")):
        if isinstance(part, dict):
            yield from parts_of(part)


def holds_any_names(schema: JsonObject) -> bool:
    """Return whether a narrowed schema has an object with undeclared names, which may come twice."""
    return any(isinstance(part.get("additionalProperties"), dict) for part in parts_of(schema))


def _counts(node: JsonObject, lowest: str, highest: str, where: str) -> JsonObject:
    """Check a node's counts, and return it with the highest count limited to what automata can bear."""
    for key, most in ((lowest, MOST), (highest, math.inf)):
        value = node.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise SchemaError(
                f"{where}: {key} {_shown(value)} is not a count{f' up to {MOST}' * (key == lowest)}"
            )
    if node.get(lowest, 0) > node.get(highest, MOST):
        raise SchemaError(f"{where}: {lowest} is more than {highest}")
    return {key: min(value, MOST) if key == highest else value for key, value in node.items()}


def _is_text(text: str) -> bool:
    return not any(0xD800 <= ord(character) <= 0xDFFF for character in text)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
