"""Read the JSON Schema of a tool's parameters as the field writes it, in one form of JSON Schema 2020-12.

References are written out, and what `allOf` demands is one schema; only a schema that holds itself keeps a
reference, into `$defs`. Calls are judged by what is read. A grammar enforces what it can of it
(`rig.plugins.llama.grammar.schema`).
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from math import ceil
from urllib.parse import unquote

from rig.core.budget import Budget
from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.plugins.documents.documents import DocumentPart
from rig.plugins.own_tools import vocabulary
from rig.plugins.own_tools.vocabulary import ANNOTATIONS, BY_TYPE, DOCUMENTATION, HIGHEST, LOWEST, OF_ANY_TYPE
from rig.world.patterns import fault_of, size_of
from rig.world.schemas import as_python

DEEPEST = 40
"""The most levels of schemas inside each other: a validator recurses several calls for each."""
MOST_IN_FILE, MOST_IN_TOOL = 1_500_000, 60_000
"""The most values that the schemas of a file and of one tool stand for, once all is written out."""
_MOST_REFERENCES = 6
"""The most references that are written out inside each other; further ones stay, into `$defs`."""
_MOST_OPTIONS = 16
"""The most alternatives that several lists of alternatives are multiplied out to."""
_PER_SCHEMA, _PER_CHARACTER, _PER_STATE = 10, 1 / 50, 1 / 4
"""What a schema, a character of its texts, and a state of its patterns cost, in values of a list."""
_OUTSIDE = frozenset(
    ("required", "not", "if", "then", "else", "minProperties", "maxProperties", "dependentRequired")
)
"""Words of alternatives that only say which members belong together."""
_IMPLIED = ("object", "array", "string", "number")
"""The types that other words speak of, where a schema names none."""


def weight(value: Json) -> float:
    """Return what a value costs: one for each value in it, and a part of one for each character."""
    total, rest = 0.0, [value]
    while rest:
        value = rest.pop()
        total += 1
        if isinstance(value, str):
            total += len(value) * _PER_CHARACTER
        elif isinstance(value, dict):
            rest += value
            rest += value.values()
        elif isinstance(value, list):
            rest += value
    return total


def _are_properties(value: Json) -> bool:
    """Return whether an object is not a schema but its properties alone, each with a type or a choice."""
    return (
        isinstance(value, dict)
        and bool(value)
        and "properties" not in value
        and all(isinstance(of, dict) and of.keys() & _SAYS_KIND for of in value.values())
    )


_SAYS_KIND = frozenset(("type", "enum", "const", "anyOf", "oneOf", "$ref"))


@dataclass(frozen=True, slots=True)
class _At:
    """Where a schema stands: its path, its depth, and the references on the way to it.

    `loop` are those since the last member or element: if one of them comes again, no value could ever fit.
    """

    where: str = ""
    depth: int = 0
    stack: frozenset[str] = frozenset()
    loop: frozenset[str] = frozenset()

    def inside(self, step: str) -> "_At":
        """Return the place of a member or an element."""
        return _At(f"{self.where}{step}".lstrip("."), self.depth + 1, self.stack)


class ParameterReader:
    """A reader of the schema of one tool; `whole` is the budget of its file.

    `notes` are lines on words in the schema that rig does not know.
    """

    def __init__(self, root: DocumentPart, whole: Budget | None = None) -> None:
        self._root = root
        self._budgets = Budget(root.place, values=MOST_IN_TOOL), whole or Budget(root.place)
        self._names: dict[str, str] = {}
        """The names in `$defs` of the schemas that hold themselves, by reference."""
        self.notes: list[str] = []

    def parameters(self) -> JsonObject:
        """Return the schema of the arguments, of type object. Raises RigError for a fault, with its place."""
        value = [] if self._root.value is None else self._root.value
        if isinstance(value, str):
            with suppress(ValueError):
                value = Budget(self._root.place).json(value)
        value = vocabulary.named(value)
        if value == []:  # PHP's empty object
            value = {}
        if _are_properties(value):
            value = {"properties": value}
        if not isinstance(value, dict):
            raise self._root.fault("the schema of parameters has to be an object")
        node = self._node(value, _At())
        if not node.keys() - set(DOCUMENTATION):
            node |= {"type": "object"}
        united = self._united(node)
        definitions = dict(self._definitions())
        if _is_endless(definitions):
            raise self._fault(_At(), "refers to itself without end")
        return {**united, **({"$defs": definitions} if definitions else {})}

    def _united(self, node: JsonObject) -> JsonObject:
        """Return a schema of type object with all properties of its alternatives, and what all require.

        The alternatives stay beside it where they say more than that.
        """
        kinds = node.get("type", "object")
        if "object" not in (kinds if isinstance(kinds, list) else [kinds]):
            raise self._root.fault(f"the parameters have to be of type object, not {kinds!r}")
        word = next((word for word in ("allOf", "anyOf") if word in node), "")
        if not word or "type" in node:
            return {**node, "type": "object"} | {
                "properties": node.get("properties", {}),
                "required": node.get("required", []),
            }
        options = [self._united(option) for option in node[word] if option.get("type") in (None, "object")]
        if not options:
            raise self._root.fault("the parameters have to be of type object")
        schemas: dict[str, list[JsonObject]] = {}
        for option in options:
            for name, schema in option["properties"].items():
                if schema not in schemas.setdefault(name, []):
                    schemas[name].append(schema)
        properties = {name: of[0] if len(of) == 1 else {word: of} for name, of in schemas.items()}
        first, *others = (option["required"] for option in options)
        required = [name for name in first if all(name in names for names in others)]
        if word == "allOf":
            required = list(dict.fromkeys(name for names in (first, *others) for name in names))
        documented = {name: node[name] for name in node if name in DOCUMENTATION}
        united = {**documented, "type": "object", "properties": properties, "required": required}
        apart = [_apart(option, united) for option in options]
        says_more = any(option.get("required", []) != required or len(option) > 1 for option in apart)
        return {**united, word: apart} if says_more else united

    def _node(self, raw: Json, place: _At) -> JsonObject:
        """Return what a schema says. Raises RigError for one that cannot be read."""
        if raw is None or raw is True:
            return {}
        if raw is False:
            return {"not": {}}
        if vocabulary.is_type(raw):
            raw = {"type": raw}
        if place.depth > DEEPEST:
            raise self._fault(place, f"is nested deeper than {DEEPEST} levels")
        schema, place, reference = self._followed(raw, place)
        if reference is not None:
            documented = {word: value for word, value in schema.items() if word in DOCUMENTATION}
            if len(documented) == len(schema):
                return {"$ref": reference, **documented}
            rest = {word: value for word, value in schema.items() if word not in DOCUMENTATION}
            return {"allOf": [{"$ref": reference}, self._node(rest, place)], **documented}
        if "allOf" not in schema:
            return self._alternatives(schema, place)
        parts, references, place = self._parts(schema, place)
        merged = self._merged(parts) if not references else None
        if merged is not None:
            return self._alternatives(merged, place)
        documented = {word: part[word] for part in reversed(parts) for word in DOCUMENTATION if word in part}
        telling = [part for part in parts if part.keys() - set(DOCUMENTATION)]
        nodes = [
            *({"$ref": name} for name in references),
            *(self._alternatives(part, place) for part in telling),
        ]
        return {**(nodes[0] if len(nodes) == 1 else {"allOf": nodes}), **documented}

    def _alternatives(self, schema: JsonObject, place: _At) -> JsonObject:
        """Return a schema whose alternatives hold what stands beside them, unless they only say what belongs
        together.
        """
        options = schema.get("anyOf")
        if options is None:
            return self._words(schema, place)
        apart = {word: value for word, value in schema.items() if word in DOCUMENTATION}
        beside = {word: value for word, value in schema.items() if word != "anyOf" and word not in apart}
        are_outside = all(isinstance(option, dict) and option.keys() <= _OUTSIDE for option in options)
        if are_outside and beside.keys() & {"type", "properties"}:
            return self._words(schema, place)
        alternatives = [{"allOf": [beside, option]} if beside else option for option in options]
        within = replace(place, depth=place.depth + 1)
        return {"anyOf": [self._node(alternative, within) for alternative in alternatives], **apart}

    def _words(self, schema: JsonObject, place: _At) -> JsonObject:
        """Return a schema with all schemas inside it read, and a type if its words speak of one."""
        kinds = schema.get("type")
        if kinds is None and not schema.keys() & {"enum", "const"}:
            implied = [kind for kind in _IMPLIED if schema.keys() & BY_TYPE[kind]]
            kinds = implied if len(implied) == 1 and not schema.keys() <= _OUTSIDE else None
        node: JsonObject = {} if kinds is None else {"type": kinds[0] if len(kinds) == 1 else kinds}
        words_here = OF_ANY_TYPE.union(DOCUMENTATION, *(BY_TYPE[kind] for kind in kinds or BY_TYPE))
        for word, value in schema.items():
            if word == "type":
                continue
            if word not in words_here:
                if not (
                    word in ANNOTATIONS or word.startswith("x-") or any(word in of for of in BY_TYPE.values())
                ):
                    self._note(place, f"not held to: {word[:60]}")
            elif word in vocabulary.SCHEMAS:
                if word == "additionalProperties" and value in (True, {}):
                    continue  # as without it
                step = {"items": "[]", "additionalProperties": ".*"}.get(word, f".{word}")
                node[word] = value if isinstance(value, bool) else self._node(value, place.inside(step))
            elif word in vocabulary.SCHEMA_LISTS:
                node[word] = [self._node(inner, place.inside("")) for inner in value]
            elif word in vocabulary.SCHEMA_MAPS:
                node[word] = {
                    name: self._node(inner, place.inside(f".{name}")) for name, inner in value.items()
                }
            elif word != "pattern" or self._is_pattern(value, place):
                node[word] = value
        if "properties" in schema:
            self._required(node, schema, place)
        return node

    def _required(self, node: JsonObject, schema: JsonObject, place: _At) -> None:
        """Add what properties of draft 3 say of themselves, and properties that are required alone."""
        own = (
            name
            for name, inner in schema["properties"].items()
            if isinstance(inner, dict) and inner.get("required") is True
        )
        node["required"] = list(dict.fromkeys((*node.get("required", []), *own)))
        for name in node["required"]:
            if name not in node["properties"]:
                self._note(place, f"requires {name[:60]!r}, which is not a property: a value of any kind")
                node["properties"][name] = {}

    def _is_pattern(self, pattern: str, place: _At) -> bool:
        """Return whether a pattern can be used; one that cannot is noted."""
        self._spend(len(pattern) + size_of(pattern) * _PER_STATE)
        fault = fault_of(as_python(pattern))
        if fault is not None:
            self._note(place, f"not held to: the pattern {pattern[:60]!r} ({fault})")
        return fault is None

    def _normal(self, raw: Json, place: _At) -> JsonObject:
        if not isinstance(raw, dict):
            raise self._fault(place, "is no schema")
        inner = (
            vocabulary.SCHEMAS | vocabulary.SCHEMA_LISTS | vocabulary.SCHEMA_MAPS | {"oneOf", *ANNOTATIONS}
        )
        plain = sum(weight(value) for word, value in raw.items() if word not in inner)
        self._spend(_PER_SCHEMA + len(raw) + plain)
        try:
            schema = vocabulary.normal(raw)
        except ValueError as error:
            raise self._fault(place, str(error)) from error
        for word in ("title", "description"):
            if not isinstance(schema.get(word, ""), str):
                del schema[word]
        self._spend(sum(weight(list(schema.get(word, ()))) for word in vocabulary.SCHEMA_MAPS))
        return schema

    def _followed(self, raw: Json, place: _At) -> tuple[JsonObject, _At, str | None]:
        """Return what a schema refers to in the end, merged with what stands beside the references.

        For a schema that holds itself it is what stands beside, and the new reference to it.
        """
        schema = self._normal(raw, place)
        while "$ref" in schema:
            name = schema.pop("$ref")
            if not name.startswith("#"):
                raise self._fault(
                    place, f"refers to {name[:60]!r}; only references within the file are followed"
                )
            if name in place.loop:
                raise self._fault(place, f"refers to itself: {name[:60]}")
            is_far = len(place.stack) >= _MOST_REFERENCES and not place.loop
            if name in place.stack or name in self._names or is_far:
                return schema, place, f"#/$defs/{self._name(name)}"
            target = self._normal(self._target(name, place), place)
            place = replace(place, stack=place.stack | {name}, loop=place.loop | {name})
            if schema.keys() <= set(DOCUMENTATION):
                schema = {**target, **schema}
            else:
                schema = {"allOf": [target, schema]}
        return schema, place, None

    def _parts(self, schema: JsonObject, place: _At) -> tuple[list[JsonObject], list[str], _At]:
        """Return the schemas that allOf demands, however they are nested, and references to such as hold
        themselves.
        """
        parts, references, stack, rest = [], [], place.stack, [(schema, place)]
        while rest:
            part, within = rest.pop()
            inner = part.pop("allOf", [])
            parts.append(part)
            for raw in reversed(inner):
                if isinstance(raw, bool):
                    raw = {} if raw else {"not": {}}
                followed, at, reference = self._followed(raw, within)
                stack |= at.stack
                references += [reference] if reference else []
                rest.append((followed, at))
        return parts, references, replace(place, stack=stack)

    def _merged(self, parts: list[JsonObject]) -> JsonObject | None:
        """Return one schema that demands what all of these do; None if there is none in the same words."""
        values: dict[str, list[Json]] = {}
        for part in parts:
            for word, value in part.items():
                values.setdefault(word, []).append(value)
        merged: JsonObject = {}
        for word, several in values.items():
            value = several[0] if word in DOCUMENTATION else self._both(word, several)
            if value is None and several[0] is not None:
                return None
            merged[word] = value
        return merged

    def _both(self, word: str, values: list[Json]) -> Json:
        """Return a value of a word that demands what all of these do; None if there is none."""
        if all(value == values[0] and type(value) is type(values[0]) for value in values[1:]):
            return values[0]
        if word in HIGHEST:
            return max(values)
        if word in LOWEST:
            return min(values)
        if word == "type":
            allowed = [set(of) | ({"integer"} if "number" in of else set()) for of in values]
            kinds = dict.fromkeys(kind for of in values for kind in of)
            return [kind for kind in kinds if all(kind in of for of in allowed)] or None
        if word == "required":
            return list(dict.fromkeys(name for names in values for name in names))
        if word == "uniqueItems":
            return True
        if word == "properties":
            of_name: dict[str, list[Json]] = {}
            for properties in values:
                for name, schema in properties.items():
                    of_name.setdefault(name, []).append(schema)
            return {name: of[0] if len(of) == 1 else {"allOf": of} for name, of in of_name.items()}
        if word == "anyOf":
            total = 1
            for options in values:
                total *= len(options)
            if total > _MOST_OPTIONS:
                return None
            return [{"allOf": list(choice)} for choice in product(*values)]
        if word in ("items", "additionalProperties") and False not in values:
            return {"allOf": values}
        return False if word == "additionalProperties" else None

    def _target(self, name: str, place: _At) -> Json:
        """Return the schema that a reference points to."""
        target = self._root.value
        for step in filter(None, unquote(name).lstrip("#").split("/")):
            step = step.replace("~1", "/").replace("~0", "~")
            is_number = step.isascii() and step.isdigit()
            if isinstance(target, dict) and step in target:
                target = target[step]
            elif isinstance(target, list) and is_number and int(step[:9]) < len(target):
                target = target[int(step[:9])]
            else:
                raise self._fault(place, f"refers to {name[:60]!r}, which is not there")
        return {} if target is True or target is None else target

    def _name(self, reference: str) -> str:
        """Return the name in `$defs` of a schema that holds itself."""
        if reference not in self._names:
            own = re.sub(r"[^A-Za-z0-9_.-]", "_", reference.rpartition("/")[2])[:60].strip("#_") or "root"
            number = sum(name.rpartition("~")[0] == own or name == own for name in self._names.values())
            self._names[reference] = f"{own}-{number + 1}" if number else own
        return self._names[reference]

    def _definitions(self) -> Iterator[tuple[str, JsonObject]]:
        """Yield the schemas that hold themselves, by name; the reading of one can name further ones."""
        number = 0
        while number < len(self._names):
            reference, name = list(self._names.items())[number]
            place = _At(name, 0, frozenset({reference}), frozenset({reference}))
            # The reference itself is not followed: by now it has a name.
            yield name, self._node(self._target(reference, place), place)
            number += 1

    def _spend(self, values: float) -> None:
        """Spend values of the tool, and of its file."""
        for budget in self._budgets:
            budget.spend(ceil(values))

    def _note(self, place: _At, what: str) -> None:
        self.notes.append(f"{self._root.place}: {place.where[:200] or 'parameters'}: {what}")

    def _fault(self, place: _At, text: str) -> RigError:
        return self._root.fault(f"{place.where[:200] or 'it'} {text}")


def _apart(option: JsonObject, united: JsonObject) -> JsonObject:
    """Return what an alternative of parameters says beyond their union."""
    is_open = option.keys() <= {"type", "properties", "required", *DOCUMENTATION}
    same = all(united["properties"][name] == schema for name, schema in option["properties"].items())
    return {"required": option["required"]} if is_open and same else option


def _is_endless(definitions: JsonObject) -> bool:
    """Return whether a schema demands itself of the same value, so that checking it would not end."""
    ways: dict[str, set[str]] = {}
    for name, node in definitions.items():
        rest, ways[name] = [node], set()
        while rest:
            schema = rest.pop()
            ways[name] |= {schema["$ref"].rpartition("/")[2]} if "$ref" in schema else set()
            rest += [*schema.get("allOf", ()), *schema.get("anyOf", ())]
            rest += [schema[word] for word in ("not", "if", "then", "else") if word in schema]
            rest += schema.get("dependentSchemas", {}).values()
    # A definition of which no way is left is taken away from all others, until only circles are left.
    while ends := [name for name in ways if not ways[name] & ways.keys()]:
        for name in ends:
            del ways[name]
    return bool(ways)
