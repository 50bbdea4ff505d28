"""Read a file of tools from anywhere: OpenAI's functions, the output of MCP's tools/list, or rig's own form.

References in the JSON Schemas of their parameters are resolved, and faults are reported. A grammar can
enforce the resulting schemas, and each call is checked against them. Notes say what had to be left out.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rig.calls import Json, JsonObject
from rig.documents import DocumentPart, read
from rig.errors import RigError
from rig.files import write
from rig.toolbox.rules import Rule, simple
from rig.toolbox.spec import FREE_TEXT, Match, Response, Tool

MOST_NODES = 5_000

ANYTHING: Mapping[str, Json] = {"type": ["string", "number", "boolean"]}
"""The schema that stands for a value of any kind: one that a grammar can enforce without further detail."""

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
    *("$schema", "$id", "$defs", "definitions", "$comment"),
    *("deprecated", "readOnly", "writeOnly", "strict"),
)
"""Keywords that do not constrain a value."""
_FORMATS = ("date", "date-time", "email", "time", "uuid")


class Declared:
    """A reader of the schemas of one tool. `notes` are lines on what in them rig does not enforce."""

    def __init__(self, root: DocumentPart) -> None:
        self._root = root
        self._left = MOST_NODES
        self.notes: list[str] = []

    def parameters(self) -> JsonObject:
        """Return the schema of the arguments, of type object. Raises RigError for a fault, with its place."""
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
        """Unite all alternatives of the parameters: every property, and what all of them require."""
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
                name: options[0] if len(options) == 1 else {"anyOf": options}
                for name, options in schemas.items()
            },
            "required": [name for name in first if all(name in other for other in others)],
        }

    def _node(self, schema: Any, where: str, references: tuple[str, ...]) -> JsonObject:
        self._count()
        if schema is True or schema == {}:
            return self._anything(where, {})
        if not isinstance(schema, dict):
            raise self._fault(where, "is no schema")
        if "$ref" in schema:
            return self._node(self._target(schema, where, references), where, (*references, schema["$ref"]))
        if "allOf" in schema:
            return self._node(self._merged(schema, where, references), where, references)
        options = schema.get("anyOf", schema.get("oneOf"))
        documented = {name: schema[name] for name in _DOCUMENTATION if name in schema}
        if options is not None:
            if not isinstance(options, list) or not options:
                raise self._fault(where, "needs a list of schemas in anyOf")
            apart = ("anyOf" if "anyOf" in schema else "oneOf", *_DOCUMENTATION, *_SILENT)
            beside = {name: schema[name] for name in schema if name not in apart}
            alternatives = [{"allOf": [beside, option]} if beside else option for option in options]
            nodes = [self._node(alternative, where, references) for alternative in alternatives]
            return {"anyOf": nodes, **documented}
        if "enum" in schema or "const" in schema:
            kept = ("type", "enum", "const")
            return {**{name: schema[name] for name in kept if name in schema}, **documented}
        return {**self._typed(schema, where, references), **documented}

    def _typed(self, schema: JsonObject, where: str, references: tuple[str, ...]) -> JsonObject:
        # Without a type it is the one that the other keywords speak of.
        implied = "object" if "properties" in schema else "array" if "items" in schema else None
        kind = schema.get("type", implied)
        if kind is None:
            return self._anything(where, schema)
        kinds = kind if isinstance(kind, list) else [kind]
        if schema.get("nullable") is True and "null" not in kinds:
            kinds = [*kinds, "null"]
        for kind in kinds:
            if kind not in _KEPT:
                raise self._fault(where, f"has the type {kind!r}; choose from: {', '.join(_KEPT)}")
        kept = [name for kind in kinds for name in _KEPT[kind]]
        for name in schema:
            if name not in ("type", "nullable", *kept, *_DOCUMENTATION, *_SILENT):
                self._note(where, name)
        typed: JsonObject = {"type": kinds[0] if len(kinds) == 1 else kinds}
        typed |= {name: schema[name] for name in kept if name in schema}
        if "string" in kinds:
            self._one_shape(typed, where)
        if "array" in kinds:
            typed["items"] = self._node(schema.get("items", True), f"{where}[]", references)
        if "object" in kinds and ("properties" in typed or not where):
            typed["properties"] = {
                name: self._node(property_, f"{where}.{name}".lstrip("."), references)
                for name, property_ in schema.get("properties", {}).items()
            }
            for name in typed.get("required", []):
                if name not in typed["properties"]:
                    raise self._fault(where, f"requires {name!r}, which is not a property")
            typed["required"] = list(dict.fromkeys(typed.get("required", [])))
        elif "object" in kinds:
            self._any_names(typed, where, references)
        return typed

    def _any_names(self, typed: JsonObject, where: str, references: tuple[str, ...]) -> None:
        """Convert an object that declares no properties; a schema for its values is kept."""
        others = typed.pop("additionalProperties", True)
        if others is False:
            typed["additionalProperties"] = False
        elif isinstance(others, dict) and others:
            typed["additionalProperties"] = self._node(others, f"{where}.*", references)
        if typed.pop("required", []):
            raise self._fault(where, "requires names, of which none is a property")

    def _one_shape(self, typed: JsonObject, where: str) -> None:
        """Keep only the first that is there of pattern, lengths and format: only one can be enforced."""
        pattern = typed.get("pattern", "^$")
        if not (pattern.startswith("^") and pattern.endswith("$")):
            self._note(where, f"the pattern {typed.pop('pattern')!r}, which does not go from ^ to $")
        if "format" in typed and typed["format"] not in _FORMATS:
            self._note(where, f"the format {typed.pop('format')!r}")
        shapes = (("pattern",), ("minLength", "maxLength"), ("x-format",), ("format",))
        first = next((shape for shape in shapes if typed.keys() & set(shape)), ())
        for name in (name for shape in shapes for name in shape if name not in first):
            if name in typed:
                del typed[name]
                self._note(where, name)

    def _anything(self, where: str, schema: JsonObject) -> JsonObject:
        self._note(where, "a value of any kind: a text, a number, true or false is what can be given")
        return {**ANYTHING, **{name: schema[name] for name in _DOCUMENTATION if name in schema}}

    def _target(self, schema: JsonObject, where: str, references: tuple[str, ...]) -> JsonObject:
        """Return the schema that a reference points to, merged with the keywords beside the reference."""
        name = schema["$ref"]
        if not isinstance(name, str) or not name.startswith("#"):
            raise self._fault(where, f"refers to {name!r}; only references within the file are followed")
        if name in references:
            raise self._fault(where, f"refers to itself: {' → '.join((*references, name))}")
        target = self._root.value
        for step in filter(None, name.lstrip("#").strip("/").split("/")):
            step = step.replace("~1", "/").replace("~0", "~")
            is_number = step.isascii() and step.isdigit()
            if isinstance(target, dict) and step in target:
                target = target[step]
            elif isinstance(target, list) and is_number and int(step[:9]) < len(target):
                target = target[int(step)]
            else:
                raise self._fault(where, f"refers to {name!r}, which is not there")
        if not isinstance(target, dict):
            raise self._fault(where, f"refers to {name!r}, which is not a schema")
        return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}

    def _merged(self, schema: JsonObject, where: str, references: tuple[str, ...]) -> JsonObject:
        """Merge a schema with those in its allOf. A property that two of them have must satisfy both."""
        merged: JsonObject = {name: value for name, value in schema.items() if name != "allOf"}
        parts = schema["allOf"]
        if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
            raise self._fault(where, "needs a list of schemas in allOf")
        for part in parts:
            inside = references
            while "$ref" in part or "allOf" in part:
                self._count()
                if "$ref" in part:
                    part, inside = self._target(part, where, inside), (*inside, part["$ref"])
                else:
                    part = self._merged(part, where, inside)
            for name, value in part.items():
                merged[name] = self._both(name, merged[name], value, where) if name in merged else value
        return merged

    def _both(self, name: str, one: Json, other: Json, where: str) -> Json:
        """Combine the values of one keyword from two schemas of an allOf."""
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

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise self._root.fault(f"more than {MOST_NODES} schemas in one tool")

    def _note(self, where: str, what: str) -> None:
        self.notes.append(f"{self._root.place}: {where or 'parameters'}: not held to: {what}")

    def _fault(self, where: str, text: str) -> Exception:
        return self._root.fault(f"{where or 'it'} {text}")


def _check_schema(schema: JsonObject, root: DocumentPart) -> None:
    from jsonschema import Draft202012Validator  # loaded only for users with their own schemas

    # With `$schema`, a validator would choose another draft.
    plain = {name: schema[name] for name in schema if name != "$schema"}
    errors = Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(plain)
    for error in sorted(errors, key=lambda error: len(error.absolute_path)):
        path = ".".join(map(str, error.absolute_path))
        raise root.fault(f"{path or 'it'} is not a JSON Schema: {error.message[:200]}")


NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")

LOOKUPS = frozenset(
    (
        *("get", "list", "find", "search", "read", "query", "fetch", "check", "show", "lookup", "look"),
        *("count", "describe", "is", "has", "can", "view", "calculate", "compute", "convert", "translate"),
    )
)
"""First words in the names of tools that are assumed to change nothing unless declared otherwise."""

UNSAID = object()
"""Marks a tool that declares no default response."""

_BY_FORMAT = {"date-time": "datetime", "date": "date", "time": "time", "datetime": "datetime"}


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """A tool as a file declares it. `default` is what it answers where nothing was recorded.

    A tool of an MCP server says which `server` has it, and its name there (`tool`) if that differs.
    """

    name: str
    description: str
    parameters: JsonObject
    action: bool
    returns: str = ""
    match: Mapping[str, Rule] = field(default_factory=dict)
    default: Json = UNSAID
    server: str = ""
    tool: str = ""

    def as_json(self) -> JsonObject:
        """Return the declaration in rig's own form."""
        return {
            "name": self.name,
            "description": self.description,
            "action": self.action,
            "parameters": self.parameters,
            **({"returns": self.returns} if self.returns else {}),
            "match": {name: rule.name for name, rule in self.match.items()},
            **({} if self.default is UNSAID else {"default": self.default}),
            **{name: text for name, text in (("server", self.server), ("tool", self.tool)) if text},
        }

    def made(self, plugin: str, function: Callable[..., Json]) -> Tool:
        """Return the tool with this function. Calls match by arguments' rules, and whether they failed."""
        match = {name: FREE_TEXT if rule.is_text else rule for name, rule in self.match.items()}
        return Tool(
            name=self.name,
            plugin=plugin,
            description=self.description,
            parameters=self.parameters,
            returns=self.returns,
            action=self.action,
            match=Match(Response.IGNORED, match),
            function=function,
        )


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of a file, the form it is in, and notes on what rig does not enforce of their schemas."""

    form: str
    tools: tuple[ToolDeclaration, ...]
    notes: tuple[str, ...] = ()


def read_listing(file: Path) -> Listing:
    """Read the tools of a file, in the form that its content shows. Raises RigError, with the place."""
    documents = read(file)
    if len(documents) != 1:
        raise RigError(f"{file}: needs one list of tools")
    return listing_of(documents[0])


def listing_of(document: DocumentPart, *, strict: bool = True) -> Listing:
    """Read the tools of a document. A faulty one raises RigError if `strict`; else it becomes a note."""
    forms: list[str] = []
    tools: dict[str, ToolDeclaration] = {}
    notes: list[str] = []
    for part in _tools(document, notes):
        try:
            form, tool = _declaration(part, notes)
        except RigError as error:
            if strict:
                raise
            notes.append(f"left out: {error}")
            continue
        if tool.name in tools:
            raise part.fault(f"there is already a tool named {tool.name}")
        forms.append(form)
        tools[tool.name] = tool
    if not tools:
        raise RigError(f"{document.place}: holds no tools{f' ({notes[0]})' if notes else ''}")
    return Listing(forms[0], tuple(tools.values()), tuple(notes))


def write_listing(listing: Listing, file: Path) -> None:
    """Write tools in rig's own form to a new file. Raises RigError."""
    tools = {"tools": [tool.as_json() for tool in listing.tools]}
    write(f"{json.dumps(tools, indent=2, ensure_ascii=False)}\n", file, folders=True)


def is_action(name: str) -> bool:
    """Guess from a tool's name whether it changes something."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name.rpartition(".")[2])
    return not words or words[0].lower() not in LOOKUPS


def matching(schema: JsonObject, chosen: Mapping[str, Rule] | None = None) -> dict[str, Rule]:
    """Return the rule that compares each argument: the chosen one, else one that fits its type."""
    rules = dict(chosen or {})
    for name, property_ in schema["properties"].items():
        suggested = _BY_FORMAT.get(property_.get("x-format") or property_.get("format") or "")
        by_type = "number" if property_.get("type") == "number" else "exact"
        rules.setdefault(name, Rule(suggested or by_type))
    return {name: rules[name] for name in schema["properties"]}


def _tools(part: DocumentPart, notes: list[str]) -> Iterator[DocumentPart]:
    """Return the parts of a document that declare one tool each, whatever they are wrapped in."""
    if isinstance(part.value, list):
        return part.items()
    fields = part.fields()
    if "result" in fields:
        return _tools(fields["result"], notes)
    if fields.get("nextCursor") is not None and fields["nextCursor"].value:
        notes.append(f"{part.place}: the listing is incomplete; it has a nextCursor")
    for name in ("tools", "functions"):
        if name in fields:
            return fields[name].items()
    if "name" in fields or "function" in fields:
        return iter([part])
    raise part.fault("no tools here: needs a list, or an object with `tools`")


def _declaration(part: DocumentPart, notes: list[str]) -> tuple[str, ToolDeclaration]:
    outer = part.fields()
    if "function" in outer and isinstance(outer["function"].value, dict):
        form, inner, schema = "OpenAI", outer["function"].fields(), "parameters"
    elif "inputSchema" in outer:
        form, inner, schema = "MCP", outer, "inputSchema"
    elif "input_schema" in outer:
        form, inner, schema = "Anthropic", outer, "input_schema"
    else:
        form, inner, schema = "OpenAI" if "type" in outer else "rig", outer, "parameters"
    if "name" not in inner:
        raise part.fault("a tool needs a name")
    name = inner["name"].text()
    if not NAME.fullmatch(name):
        raise inner["name"].fault(f"{name!r}: a name has up to 64 letters, digits, dots, _ and -")
    declared = Declared(inner.get(schema, DocumentPart(None, part.file, part.path, part.lines)))
    parameters = declared.parameters()
    notes += declared.notes
    description = inner["description"].value if "description" in inner else ""
    if not isinstance(description, str):
        raise inner["description"].fault("needs a text")
    hints = outer["annotations"].value if "annotations" in outer else None
    if "action" in outer:
        acts = outer["action"].flag()
    elif isinstance(hints, dict) and isinstance(hints.get("readOnlyHint"), bool):
        acts = not hints["readOnlyHint"]
    else:
        acts = is_action(name)
    returns = outer["returns"].text() if "returns" in outer else ""
    rules: dict[str, Rule] = {}
    for argument, rule in outer["match"].fields().items() if "match" in outer else ():
        if argument not in parameters["properties"]:
            raise rule.fault("is not a parameter of this tool")
        try:
            rules[argument] = simple(rule.value)
        except RigError as error:
            raise rule.fault(str(error)) from error
    match = matching(parameters, rules)
    default = outer["default"].value if "default" in outer else UNSAID
    server, tool = (outer[part].text() if part in outer else "" for part in ("server", "tool"))
    return form, ToolDeclaration(
        name, description.strip(), parameters, acts, returns, match, default, server, tool
    )
