"""The part of a tool's schema that a grammar holds a model to.

A schema is narrowed to what both engines can write. What a grammar cannot express is left open, at the
parameter that has it: any text, or any JSON. Calls are judged by the tool's own schema afterwards, so that a
grammar need not hold all of it, and refuses no tool. What a grammar keeps a model from is little: numbers
beyond `LARGEST`, and members that a schema allows without declaring them.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.plugins.llama.grammar.patterns import MOST, NAMED, canonical
from rig.world.schemas import fits

RULES = "1"
"""The version of how schemas become texts; part of the fingerprint of arms with a grammar."""

LARGEST = 10**100
"""Numbers stay within ±10^100, without exponents: as text or as a double they are the same, and finite."""
MOST_ITEMS = 4096
"""The highest count of a list's elements that a grammar counts."""

_DOCUMENTATION = frozenset(
    (
        *("description", "title", "default", "examples", "deprecated", "readOnly", "writeOnly"),
        *("$comment", "$schema", "$defs", "definitions"),
    )
)
_MOST_PLACES = 30
"""The most decimals of a bound; each is a level of a regular expression."""
_FORMATS = ("x-format", "format")
_DEEPEST = 32
_MOST_SCHEMAS = 20_000
"""The most schemas of one tool that are narrowed, with those that hold themselves written out once."""

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
ANYTHING: JsonObject = {}
"""The narrowed schema of any JSON value."""


class SchemaError(RigError):
    """Tools cannot be offered in this form; the message says why, in one line."""


def narrow(schema: Any, where: str, *, formats: bool, notes: list[str] | None = None) -> JsonObject:
    """Return the part of the schema of a tool's parameters that a grammar holds. `where` names the tool.

    With `formats`, `format` and `x-format` become patterns; without, they are documentation, as JSON Schema
    has it. `notes` gets a line for each thing that is left open, and for each maximum that the grammar sets
    itself.
    """
    root = schema if isinstance(schema, dict) else {}
    narrowing = _Narrowing(root.get("$defs", {}), formats, [] if notes is None else notes)
    node = narrowing.node(root, _Place(where))
    if "properties" in node:
        return node
    members = root.get("properties", {})
    return {"type": "object", "properties": members and {}, "additionalProperties": ANYTHING}


@dataclass(frozen=True, slots=True)
class _Place:
    where: str
    depth: int = 0
    is_referred: bool = False
    """Whether it is inside a schema that was referred to. References in there are left open."""

    def inside(self, step: str) -> "_Place":
        return _Place(self.where + step, self.depth + 1, self.is_referred)


@dataclass(slots=True)
class _Narrowing:
    """The narrowing of one tool's schema."""

    definitions: Mapping[str, Any]
    formats: bool
    notes: list[str]
    left: int = field(default=_MOST_SCHEMAS)

    def node(self, schema: Any, place: _Place) -> JsonObject:
        """Return what a grammar holds of a schema: `ANYTHING` if that is nothing."""
        self.left -= 1
        if self.left < 0 or place.depth > _DEEPEST:
            return self._open(place, "what is nested deep in a schema")
        if not isinstance(schema, dict) or not schema.keys() - _DOCUMENTATION:
            return ANYTHING
        node = {key: value for key, value in schema.items() if key not in _DOCUMENTATION}
        if "$ref" in node:
            target = self.definitions.get(str(node["$ref"]).rpartition("/")[2])
            if target is None or place.is_referred:
                return self._open(place, "a schema inside itself")
            return self.node(target, _Place(place.where, place.depth + 1, is_referred=True))
        if "enum" in node or "const" in node:
            return self._values(schema, node, place)
        if "type" not in node:
            return self._untyped(node, place)
        kind = node["type"]
        if isinstance(kind, list):
            return self._any_of([_only(schema, one) for one in kind], place)
        if kind not in _KEYWORDS:
            return self._open(place, f"the type {_shown(kind)}")
        kept = _KEYWORDS[kind]
        for key in node:
            if key not in ("type", *kept, *_FORMATS):
                self._open(place, _of(key, node[key]))
        node = {key: value for key, value in node.items() if key == "type" or key in kept or key in _FORMATS}
        match kind:
            case "string":
                return self._string(node, place)
            case "integer" | "number":
                return self._number(node, place, whole=kind == "integer")
            case "array":
                items = self.node(node.get("items", {}), place.inside("[]"))
                if "prefixItems" in schema:
                    items = ANYTHING
                return {
                    "type": "array",
                    "items": items,
                    **self._counts(node, "minItems", "maxItems", place, MOST_ITEMS),
                }
            case "object":
                return self._object(schema, node, place)
        return {"type": kind}

    def _open(self, place: _Place, what: str) -> JsonObject:
        """Note what a grammar does not hold, and return the schema of any value."""
        self.notes.append(f"{place.where}: a grammar does not hold {what}; calls are judged by it afterwards")
        return ANYTHING

    def _untyped(self, node: JsonObject, place: _Place) -> JsonObject:
        if isinstance(options := node.get("anyOf"), list) and options:
            for key in node.keys() - {"anyOf"}:
                self._open(place, _of(key, node[key]))
            return self._any_of(options, place)
        if isinstance(parts := node.get("allOf"), list):
            # The first part that says what a value looks like; it is judged by all of them.
            self._open(place, "all of several schemas at once")
            narrowed = (self.node(part, place) for part in parts)
            return next((part for part in narrowed if part != ANYTHING), ANYTHING)
        return self._open(place, ", ".join(sorted(node)))

    def _any_of(self, options: Sequence[Any], place: _Place) -> JsonObject:
        # Two equal options would allow no more texts, but make them readable in two ways.
        narrowed = (self.node(option, place) for option in options)
        distinct = {json.dumps(option, sort_keys=True): option for option in narrowed}
        if ANYTHING in distinct.values():
            return ANYTHING
        # A lexer cannot tell an object of any names from another one that begins alike.
        objects = [inner for option in distinct.values() for inner in _objects(option)]
        if len(objects) > 1 and not all(inner.get("additionalProperties") is False for inner in objects):
            return self._open(place, "several kinds of objects, of which one has any names")
        return {"anyOf": list(distinct.values())}

    def _values(self, schema: JsonObject, node: JsonObject, place: _Place) -> JsonObject:
        values = node["enum"] if "enum" in node else [node["const"]]
        rest = {key: value for key, value in node.items() if key not in ("enum", *_FORMATS)}
        fitting = [_whole(value) for value in values if _is_written(value) and fits(value, rest)]
        if not fitting:
            return self._open(place, "a choice of which no value fits the rest of its schema")
        return {**({"type": node["type"]} if isinstance(node.get("type"), str) else {}), "enum": fitting}

    def _string(self, node: JsonObject, place: _Place) -> JsonObject:
        """Return the first that a grammar can hold of pattern, format and lengths; it holds one of them."""
        shape: JsonObject = {}
        for keyword in ("pattern", *_FORMATS, "lengths"):
            if keyword == "lengths":
                lengths = self._counts(node, "minLength", "maxLength", place, MOST)
                if shape and lengths:
                    self._open(place, " and ".join(_of(key, value) for key, value in lengths.items()))
                shape = shape or lengths
            elif keyword in node and (keyword == "pattern" or self.formats):
                pattern = (
                    node[keyword] if keyword == "pattern" else NAMED[keyword].get(str(node[keyword]), "")
                )
                try:
                    canonical_pattern = canonical(pattern)
                except ValueError as error:
                    why = f" ({error})" if pattern else ""
                    self._open(place, f"{_of(keyword, node[keyword])}{why}")
                    continue
                if shape:
                    self._open(place, _of(keyword, node[keyword]))
                shape = shape or {"pattern": canonical_pattern if keyword == "pattern" else pattern}
        return {"type": "string", **shape}

    def _number(self, node: JsonObject, place: _Place, *, whole: bool) -> JsonObject:
        limits: dict[str, int | float] = {}
        for key, value in node.items():
            if key in _BOUNDS and _is_number(value):
                if abs(value) > LARGEST:
                    self.notes.append(
                        f"{place.where}: a grammar writes numbers up to 10^100 alone, not {_of(key, value)}"
                    )
                    value = LARGEST if value > 0 else -LARGEST
                # A number with digits after the point has a negative exponent: their count.
                if isinstance(value, float) and int(Decimal(repr(value)).as_tuple().exponent) < -_MOST_PLACES:
                    self._open(place, _of(key, value))
                    continue
                limits[key] = _whole(value)
        low, high = limits.get("minimum", -LARGEST), limits.get("maximum", LARGEST)
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
            return self._open(place, "bounds that no number is within")
        return {"type": node["type"], "minimum": low, "maximum": high}

    def _object(self, schema: JsonObject, node: JsonObject, place: _Place) -> JsonObject:
        others, properties = node.get("additionalProperties", True), node.get("properties", {})
        properties = properties if isinstance(properties, dict) else {}
        required = [name for name in node.get("required", ()) if isinstance(name, str)]
        is_open = others is not False or "patternProperties" in schema
        if is_open and not properties and not required and (place.depth or "properties" not in node):
            values: Json = next(iter(schema.get("patternProperties", {}).values()), {})
            inner = self.node(values if others is False else others, place.inside(".*"))
            return {"type": "object", "properties": {}, "additionalProperties": inner}
        # A name that is only required has a value of any kind.
        members = {**dict.fromkeys(required, ANYTHING), **properties}
        inner_nodes = {
            name: self.node(part, place.inside(f".{name}"))
            for name, part in members.items()
            if _is_text(name)
        }
        return {
            "type": "object",
            "properties": {
                name: inner_nodes[name] for name in (*properties, *required) if name in inner_nodes
            },
            **(
                {"required": [name for name in required if name in inner_nodes]} if "required" in node else {}
            ),
            "additionalProperties": False,
        }

    def _counts(self, node: JsonObject, lowest: str, highest: str, place: _Place, most: int) -> JsonObject:
        """Return the counts of a node that a grammar can bear."""
        counts: JsonObject = {}
        for key in node:
            if key in (lowest, highest) and isinstance(node[key], int):
                if node[key] > most:
                    self._open(place, _of(key, node[key]))
                else:
                    counts[key] = node[key]
        if counts.get(lowest, 0) > counts.get(highest, most):
            self._open(place, f"{lowest} above {highest}")
            return {}
        return counts


def _objects(schema: JsonObject) -> list[JsonObject]:
    """Return what stands for objects at the beginning of a narrowed schema's texts."""
    if not schema:
        return [schema]
    if schema.get("type") == "object":
        return [schema]
    if any(isinstance(value, dict) for value in schema.get("enum", ())):
        return [ANYTHING]
    inner = (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ()))
    return [inner_object for option in inner for inner_object in _objects(option)]


def _only(schema: JsonObject, kind: Any) -> JsonObject:
    """Return the part of a schema of several types that applies to one of them."""
    alien = frozenset().union(*_KEYWORDS.values(), _FORMATS if kind != "string" else ())
    alien -= _KEYWORDS.get(kind, frozenset()) if isinstance(kind, str) else frozenset()
    return {**{key: value for key, value in schema.items() if key not in alien}, "type": kind}


def _whole(value: Any) -> Any:
    """Return a whole number without a decimal point, as one of the engines would write it anyway."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and (isinstance(value, int) or math.isfinite(value))


def _is_written(value: Json) -> bool:
    """Return whether a value of a choice can be in an answer: it has to be Unicode, and finite."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (UnicodeEncodeError, ValueError):
        return False
    return True


def _beyond(bound: float, direction: float) -> float:
    """Return a number just beyond a bound: the nearest double, but at least a billionth away."""
    step = math.copysign(1e-9, direction)
    return bound + step if bound + step != bound else math.nextafter(bound, direction)


def parts_of(schema: JsonObject) -> Iterator[JsonObject]:
    """Yield a narrowed schema and all schemas inside it."""
    yield schema
    inner = (*schema.get("anyOf", ()), *schema.get("properties", {}).values())
    for part in (*inner, schema.get("items"), schema.get("additionalProperties")):
        if isinstance(part, dict):
            yield from parts_of(part)


def holds_any_names(schema: JsonObject) -> bool:
    """Return whether a narrowed schema has an object with undeclared names, which may come twice."""
    return any(not part or isinstance(part.get("additionalProperties"), dict) for part in parts_of(schema))


def _is_text(text: str) -> bool:
    return not any(0xD800 <= ord(character) <= 0xDFFF for character in text)


def _of(keyword: str, value: Any) -> str:
    """Return a keyword with its value, in words that are not too long."""
    return f"{keyword} {_shown(value)}"


def _shown(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST:
        return "of more than 100 digits"
    if isinstance(value, dict | list):
        return "as it is declared"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
