"""A file of tools from anywhere: OpenAI's functions, the output of MCP's tools/list, or rig's own."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rig.calls import Json, JsonObject
from rig.documents import DocumentPart, read
from rig.errors import RigError
from rig.files import write
from rig.toolbox.own.declared import Declared
from rig.toolbox.rules import Rule, simple

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")

LOOKUPS = frozenset(
    (
        *("get", "list", "find", "search", "read", "query", "fetch", "check", "show", "lookup", "look"),
        *("count", "describe", "is", "has", "can", "view", "calculate", "compute", "convert", "translate"),
    )
)
"""First words of the names of tools that are taken to change nothing, where nothing says so."""

UNSAID = object()
"""The default response of a tool that has none."""

_BY_FORMAT = {"date-time": "datetime", "date": "date", "time": "time", "datetime": "datetime"}


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """A tool as a file declares it. `default` is what it answers where nothing was recorded."""

    name: str
    description: str
    parameters: JsonObject
    action: bool
    returns: str = ""
    match: Mapping[str, Rule] = field(default_factory=dict)
    default: Json = UNSAID

    def as_json(self) -> JsonObject:
        """As rig's own form has it."""
        return {
            "name": self.name,
            "description": self.description,
            "action": self.action,
            "parameters": self.parameters,
            **({"returns": self.returns} if self.returns else {}),
            "match": {name: rule.name for name, rule in self.match.items()},
            **({} if self.default is UNSAID else {"default": self.default}),
        }


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of a file, whose form it has, and what of their schemas rig does not hold to."""

    form: str
    tools: tuple[ToolDeclaration, ...]
    notes: tuple[str, ...] = ()

    def as_json(self) -> JsonObject:
        """As rig's own form has it."""
        return {"tools": [tool.as_json() for tool in self.tools]}


def read_listing(file: Path) -> Listing:
    """The tools of a file. Its content shows which form it has. Raises RigError, with the place."""
    documents = read(file)
    if len(documents) != 1:
        raise RigError(f"{file}: needs one list of tools")
    forms: list[str] = []
    tools: dict[str, ToolDeclaration] = {}
    notes: list[str] = []
    for part in _tools(documents[0], notes):
        form, tool = _declaration(part, notes)
        if tool.name in tools:
            raise part.fault(f"there is already a tool named {tool.name}")
        forms.append(form)
        tools[tool.name] = tool
    if not tools:
        raise RigError(f"{file}: holds no tools")
    return Listing(forms[0], tuple(tools.values()), tuple(notes))


def write_listing(listing: Listing, file: Path) -> None:
    """Write tools in rig's own form into a file that is not there yet. Raises RigError."""
    write(f"{json.dumps(listing.as_json(), indent=2, ensure_ascii=False)}\n", file, folders=True)


def is_action(name: str) -> bool:
    """Whether a tool changes something, as far as its name says."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name.rpartition(".")[2])
    return not words or words[0].lower() not in LOOKUPS


def matching(schema: JsonObject, chosen: Mapping[str, Rule] | None = None) -> dict[str, Rule]:
    """How each argument is compared: as it is given, else as its type suggests."""
    rules = dict(chosen or {})
    for name, property_ in schema["properties"].items():
        suggested = _BY_FORMAT.get(property_.get("x-format") or property_.get("format") or "")
        by_type = "number" if property_.get("type") == "number" else "exact"
        rules.setdefault(name, Rule(suggested or by_type))
    return {name: rules[name] for name in schema["properties"]}


def _tools(part: DocumentPart, notes: list[str]) -> Iterator[DocumentPart]:
    """The parts that declare one tool each, in any wrapping."""
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
    declared = Declared(
        inner[schema] if schema in inner else DocumentPart(None, part.file, part.path, part.lines)
    )
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
    return form, ToolDeclaration(
        name, " ".join(description.split()), parameters, acts, returns, match, default
    )
