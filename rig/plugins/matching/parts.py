"""What a JSON Schema says of one part of a value: references and choices are followed, within bounds."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from rig.core.calls import Json, JsonObject

_MOST_SCHEMAS = 64
_DEEPEST = 8
_DEFINITIONS = "#/$defs/"


class SchemaPart(NamedTuple):
    """The schema of a value, and the whole one that has its definitions."""

    schema: Json
    whole: JsonObject

    def member(self, name: str) -> "SchemaPart":
        """Return the part that a property has; an empty one if it is not declared."""
        return self._inner(self._first("properties", Mapping), name)

    @property
    def items(self) -> "SchemaPart":
        """The part that each element of a list has."""
        return self._inner(self._schemas_with("items"), "items")

    @property
    def format(self) -> str:
        """The format of a text, rig's own before JSON Schema's; "" without one."""
        first = self._first("x-format", str) or self._first("format", str)
        return first if isinstance(first, str) else ""

    @property
    def default(self) -> Json:
        """The value that stands for none; None without one."""
        return self._schemas_with("default").get("default")

    @property
    def properties(self) -> Mapping[str, Any]:
        """The properties that are declared first."""
        return self._first("properties", Mapping) or {}

    def _inner(self, holder: Mapping[str, Any], name: str) -> "SchemaPart":
        return SchemaPart(holder.get(name), self.whole)

    def _first(self, word: str, kind: type) -> Any:
        return next(
            (schema[word] for schema in self._schemas() if isinstance(schema.get(word), kind)),
            {} if kind is Mapping else None,
        )

    def _schemas_with(self, word: str) -> JsonObject:
        return next((schema for schema in self._schemas() if schema.get(word) is not None), {})

    def _schemas(self) -> Iterator[JsonObject]:
        return islice(self._every(self.schema, _DEEPEST), _MOST_SCHEMAS)

    def _every(self, schema: Json, deeper: int) -> Iterator[JsonObject]:
        if not isinstance(schema, Mapping) or not deeper:
            return
        yield dict(schema) if not isinstance(schema, dict) else schema
        name = schema.get("$ref")
        definitions = self.whole.get("$defs")
        if isinstance(name, str) and name.startswith(_DEFINITIONS) and isinstance(definitions, Mapping):
            yield from self._every(definitions.get(name.removeprefix(_DEFINITIONS)), deeper - 1)
        for word in ("allOf", "anyOf"):
            for member in schema.get(word) or ():
                yield from self._every(member, deeper - 1)
