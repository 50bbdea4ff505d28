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
        schema = {"properties": {}, **value, "type": "object"}
        _check_schema(schema, self._root)
        found = self._node(schema, "", ())
        return {**found, "required": found.get("required", []), "additionalProperties": False}

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
            return {"anyOf": [self._node(each, where, references) for each in options], **documented}
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
        kept = [name for each in kinds for name in _KEPT[each]]
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
        name = schema["$ref"]
        if not isinstance(name, str) or not name.startswith("#"):
            raise self._fault(where, f"refers to {name!r}; only references within the file are followed")
        if name in references:
            raise self._fault(where, f"refers to itself: {' → '.join((*references, name))}")
        found = self._root.value
        for step in name.lstrip("#").strip("/").split("/"):
            step = step.replace("~1", "/").replace("~0", "~")
            if step:
                found = self._step(found, step, name, where)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        if not isinstance(found, dict):
            raise self._fault(where, f"refers to {name!r}, which is not a schema")
        return self._node({**found, **beside}, where, (*references, name))

    def _step(self, value: Any, step: str, name: str, where: str) -> Any:
        """The value at a name of an object, or at a position of a list."""
        if isinstance(value, dict) and step in value:
            return value[step]
        if isinstance(value, list) and step.isascii() and step.isdigit() and int(step[:9]) < len(value):
            return value[int(step)]
        raise self._fault(where, f"refers to {name!r}, which is not there")

    def _merged(self, schema: JsonObject, where: str, references: tuple[str, ...]) -> JsonObject:
        """The schemas of an allOf as one, where all of them are objects or there is one alone."""
        merged: JsonObject = {name: value for name, value in schema.items() if name != "allOf"}
        parts = schema["allOf"]
        if not isinstance(parts, list) or not all(isinstance(each, dict) for each in parts):
            raise self._fault(where, "needs a list of schemas in allOf")
        for part in parts:
            if "$ref" in part:
                part = self._reference(part, where, references)
            for name, value in part.items():
                before = merged.get(name, value)
                if name == "properties":
                    merged[name] = {**merged.get(name, {}), **value}
                elif name == "required":
                    merged[name] = [*merged.get(name, []), *value]
                elif before != value and name not in _DOCUMENTATION:
                    raise self._fault(where, f"has two values of {name} in allOf; write one")
                else:
                    merged[name] = before
        return merged

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
