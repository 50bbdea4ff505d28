"""The JSON Schema of a tool's parameters, as somebody else wrote it: references resolved, faults named.

The result is what a grammar can enforce, and the same is checked after each call. What had to be left out is
noted.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from rig.calls import Json, JsonObject
from rig.documents import Part

MOST_NODES = 5_000

ANYTHING: Mapping[str, Json] = {"type": ["string", "number", "boolean"]}
"""What stands for a value of any kind: one that can be written without saying more of it."""

_DOCUMENTATION = ("title", "description", "default", "examples")
_NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_KEPT: Mapping[str, tuple[str, ...]] = {
    "string": ("pattern", "minLength", "maxLength", "format", "x-format"),
    "integer": _NUMBER,
    "number": _NUMBER,
    "boolean": (),
    "null": (),
    "array": ("items", "minItems", "maxItems"),
    "object": ("properties", "required", "additionalProperties"),
}
_SILENT = (
    "$schema",
    "$id",
    "$defs",
    "definitions",
    "$comment",
    "deprecated",
    "readOnly",
    "writeOnly",
    "strict",
)
"""Keywords that say nothing of a value."""
_FORMATS = ("date", "date-time", "email", "time", "uuid")


class Declared:
    """Reads the schemas of one tool. `notes` say what of them is not held to, a line on each."""

    def __init__(self, root: Part) -> None:
        self._root = root
        self._left = MOST_NODES
        self.notes: list[str] = []

    def parameters(self) -> JsonObject:
        """The schema of the arguments: of type object. Raises RigError for a fault, with its place."""
        value = self._root.value
        if value is None or value == {}:
            value = {"type": "object", "properties": {}}
        if not isinstance(value, dict):
            raise self._root.fault("the schema of parameters has to be an object")
        if value.get("type", "object") != "object":
            raise self._root.fault(f"the parameters have to be of type object, not {value['type']!r}")
        _check_schema(value, self._root)
        is_plain = not {"$ref", "allOf", "anyOf", "oneOf"} & value.keys()
        node = self._node({"properties": {}, **value, "type": "object"} if is_plain else value, "", ())
        united = self._united(node)
        return {**united, "required": united.get("required", []), "additionalProperties": False}

    def _united(self, node: JsonObject) -> JsonObject:
        """One object for all alternatives of the parameters: every property, and what all of them require."""
        options = [self._united(option) for option in node.get("anyOf", ())]
        if not options:
            if node.get("type") != "object":
                raise self._root.fault("the parameters have to be of type object")
            return node if "properties" in node else {**node, "properties": {}}
        self._note("", "which arguments belong together: those of every alternative can be given")
        schemas: dict[str, list[JsonObject]] = {}
        for option in options:
            for name, schema in option["properties"].items():
                if schema not in schemas.setdefault(name, []):
                    schemas[name].append(schema)
        first, *others = (option.get("required", []) for option in options)
        return {
            **{name: node[name] for name in _DOCUMENTATION if name in node},
            "type": "object",
            "properties": {
                name: each[0] if len(each) == 1 else {"anyOf": each} for name, each in schemas.items()
            },
            "required": [name for name in first if all(name in other for other in others)],
        }

    def _node(self, schema: Any, where: str, references: tuple[str, ...]) -> JsonObject:
        self._left -= 1
        if self._left < 0:
            raise self._root.fault(f"more than {MOST_NODES} schemas in one tool")
        if schema is True or schema == {}:
            return self._anything(where, {})
        if not isinstance(schema, dict):
            raise self._fault(where, "is no schema")
        if "$ref" in schema:
            return self._reference(schema, where, references)
        if "allOf" in schema:
            return self._node(self._merged(schema, where, references), where, references)
        options = schema.get("anyOf", schema.get("oneOf"))
        documented = {name: schema[name] for name in _DOCUMENTATION if name in schema}
        if options is not None:
            if not isinstance(options, list) or not options:
                raise self._fault(where, "needs a list of schemas in anyOf")
            chosen = "anyOf" if "anyOf" in schema else "oneOf"
            beside = {
                name: schema[name] for name in schema if name not in (chosen, *_DOCUMENTATION, *_SILENT)
            }
            alternatives = [{"allOf": [beside, option]} if beside else option for option in options]
            return {
                "anyOf": [self._node(alternative, where, references) for alternative in alternatives],
                **documented,
            }
        if "enum" in schema or "const" in schema:
            kept = ("type", "enum", "const")
            return {**{name: schema[name] for name in kept if name in schema}, **documented}
        return {**self._typed(schema, where, references), **documented}

    def _typed(self, schema: JsonObject, where: str, references: tuple[str, ...]) -> JsonObject:
        kind = schema.get("type", _implied(schema))
        if kind is None:
            return self._anything(where, schema)
        kinds = kind if isinstance(kind, list) else [kind]
        if schema.get("nullable") is True and "null" not in kinds:
            kinds = [*kinds, "null"]
        for each in kinds:
            if each not in _KEPT:
                raise self._fault(where, f"has the type {each!r}; choose from: {', '.join(_KEPT)}")
        kept = [name for kind in kinds for name in _KEPT[kind]]
        self._note_left_out(schema, kept, where)
        found: JsonObject = {"type": kinds[0] if len(kinds) == 1 else kinds}
        found |= {name: schema[name] for name in kept if name in schema}
        if "string" in kinds:
            self._one_shape(found, where)
        if "array" in kinds:
            found["items"] = self._node(schema.get("items", True), f"{where}[]", references)
        if "object" in kinds and ("properties" in found or not where):
            found["properties"] = {
                name: self._node(each, f"{where}.{name}".lstrip("."), references)
                for name, each in schema.get("properties", {}).items()
            }
            found["required"] = self._required(found, where)
        elif "object" in kinds:
            self._any_names(found, where, references)
        return found

    def _any_names(self, found: JsonObject, where: str, references: tuple[str, ...]) -> None:
        """An object that declares no property: its values can be declared."""
        others = found.pop("additionalProperties", True)
        if others is False:
            found["additionalProperties"] = False
        elif isinstance(others, dict) and others:
            found["additionalProperties"] = self._node(others, f"{where}.*", references)
        if found.pop("required", []):
            raise self._fault(where, "requires names, of which none is a property")

    def _required(self, found: JsonObject, where: str) -> list[str]:
        required: list[str] = found.get("required", [])
        for name in required:
            if name not in found["properties"]:
                raise self._fault(where, f"requires {name!r}, which is not a property")
        return list(dict.fromkeys(required))

    def _one_shape(self, found: JsonObject, where: str) -> None:
        """Of pattern, lengths and format only one can be held to, in this order."""
        pattern = found.get("pattern", "^$")
        if not (pattern.startswith("^") and pattern.endswith("$")):
            self._note(where, f"the pattern {found.pop('pattern')!r}, which does not go from ^ to $")
        if "format" in found and found["format"] not in _FORMATS:
            self._note(where, f"the format {found.pop('format')!r}")
        shapes = (("pattern",), ("minLength", "maxLength"), ("x-format",), ("format",))
        first = next((shape for shape in shapes if found.keys() & set(shape)), ())
        for name in (name for shape in shapes for name in shape if name not in first):
            if name in found:
                del found[name]
                self._note(where, name)

    def _anything(self, where: str, schema: JsonObject) -> JsonObject:
        self._note(where, "a value of any kind: a text, a number, true or false is what can be given")
        return {**ANYTHING, **{name: schema[name] for name in _DOCUMENTATION if name in schema}}

    def _reference(self, schema: JsonObject, where: str, references: tuple[str, ...]) -> JsonObject:
        return self._node(self._target(schema, where, references), where, (*references, schema["$ref"]))

    def _target(self, schema: JsonObject, where: str, references: tuple[str, ...]) -> JsonObject:
        """What a schema refers to, with what stands beside the reference."""
        name = schema["$ref"]
        if not isinstance(name, str) or not name.startswith("#"):
            raise self._fault(where, f"refers to {name!r}; only references within the file are followed")
        if name in references:
            raise self._fault(where, f"refers to itself: {' → '.join((*references, name))}")
        target = self._root.value
        for step in name.lstrip("#").strip("/").split("/"):
            step = step.replace("~1", "/").replace("~0", "~")
            if step:
                target = self._step(target, step, name, where)
        if not isinstance(target, dict):
            raise self._fault(where, f"refers to {name!r}, which is not a schema")
        return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}

    def _step(self, value: Any, step: str, name: str, where: str) -> Any:
        """The value at a name of an object, or at a position of a list."""
        if isinstance(value, dict) and step in value:
            return value[step]
        if isinstance(value, list) and step.isascii() and step.isdigit() and int(step[:9]) < len(value):
            return value[int(step)]
        raise self._fault(where, f"refers to {name!r}, which is not there")

    def _merged(self, schema: JsonObject, where: str, references: tuple[str, ...]) -> JsonObject:
        """A schema with those of its allOf as one. What two of them say of one property holds together."""
        merged: JsonObject = {name: value for name, value in schema.items() if name != "allOf"}
        parts = schema["allOf"]
        if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
            raise self._fault(where, "needs a list of schemas in allOf")
        for part in parts:
            inside = references
            while "$ref" in part or "allOf" in part:
                self._left -= 1
                if self._left < 0:
                    raise self._root.fault(f"more than {MOST_NODES} schemas in one tool")
                if "$ref" in part:
                    part, inside = self._target(part, where, inside), (*inside, part["$ref"])
                else:
                    part = self._merged(part, where, inside)
            for name, value in part.items():
                merged[name] = self._both(name, merged[name], value, where) if name in merged else value
        return merged

    def _both(self, name: str, one: Json, other: Json, where: str) -> Json:
        """What two schemas of an allOf say under one keyword."""
        if one == other or name in _DOCUMENTATION:
            return one
        if name == "properties":
            shared = {key: {"allOf": [one[key], other[key]]} for key in one.keys() & other.keys()}
            return {**one, **other, **shared}
        if name == "required":
            return [*one, *other]
        if name in ("anyOf", "oneOf"):
            return [{"allOf": [first, second]} for first in one for second in other]
        raise self._fault(where, f"has two values of {name} in allOf; write one")

    def _note_left_out(self, schema: JsonObject, kept: list[str], where: str) -> None:
        known = {"type", "nullable", *kept, *_DOCUMENTATION, *_SILENT}
        for name in schema:
            if name not in known:
                self._note(where, name)

    def _note(self, where: str, what: str) -> None:
        self.notes.append(f"{self._root.place}: {where or 'parameters'}: not held to: {what}")

    def _fault(self, where: str, text: str) -> Exception:
        return self._root.fault(f"{where or 'it'} {text}")


def _implied(schema: JsonObject) -> str | None:
    """The type that the keywords of a schema without one speak of."""
    return next(
        (kind for kind in ("object", "array") if {"properties", "items"} & set(_KEPT[kind]) & schema.keys()),
        None,
    )


def _check_schema(schema: JsonObject, root: Part) -> None:
    plain = _without_foreign(schema)
    for error in _errors(_of_schemas(), plain):
        path = ".".join(map(str, error.absolute_path))
        raise root.fault(f"{path or 'it'} is not a JSON Schema: {error.message[:200]}")


@cache
def _of_schemas() -> Any:
    """What checks that a schema is one."""
    from jsonschema import Draft202012Validator  # loaded for those alone who have schemas of their own

    return Draft202012Validator(Draft202012Validator.META_SCHEMA)


def _errors(validator: Any, schema: JsonObject) -> Iterator[Any]:
    return iter(sorted(validator.iter_errors(schema), key=lambda error: len(error.absolute_path)))


def _without_foreign(schema: JsonObject) -> JsonObject:
    """The schema without `$schema`, by which a validator would look for another draft."""
    return {name: value for name, value in schema.items() if name != "$schema"}
