"""Read a file of tools from anywhere: OpenAI's functions, the output of MCP's tools/list, or rig's own form.

Each call is checked against the schema of its tool (`rig.plugins.own_tools.parameters`). A tool that cannot
be read is left out, and the listing says so.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rig.core.budget import Budget
from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.core.files import write
from rig.plugins.documents.documents import DocumentPart, read
from rig.plugins.matching.agreement import simple
from rig.plugins.matching.parts import SchemaPart
from rig.plugins.own_tools.parameters import MOST_IN_FILE, ParameterReader
from rig.world.rules import Rule
from rig.world.spec import FREE_TEXT, NAME_REGEX, Match, Response, Tool

NAME = re.compile(NAME_REGEX)

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
    """The tools of a file and the form it is in.

    `notes` are on words in their schemas that rig does not know; `left_out` says of each tool that could not
    be read why.
    """

    form: str
    tools: tuple[ToolDeclaration, ...]
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


class Unreadable(RigError):
    """A tool of a listing cannot be read, and is left out."""


def read_listing(file: Path) -> Listing:
    """Read the tools of a file, in the form that its content shows. Raises RigError, with the place."""
    documents = read(file, parse_constant=lambda _: None)  # NaN says nothing
    if len(documents) != 1:
        raise RigError(f"{file}: needs one list of tools")
    return listing_of(documents[0])


def listing_of(document: DocumentPart) -> Listing:
    """Read the tools of a document.

    Raises RigError, with the place, if it has none, or if what rig's own words say of one is at fault.
    """
    forms: list[str] = []
    tools: dict[str, ToolDeclaration] = {}
    notes: list[str] = []
    left_out: list[str] = []
    budget = Budget(document.place, values=MOST_IN_FILE)
    for part in _each(_tools(document, notes)):
        try:
            form, tool = _declaration(part, notes, budget)
            if tool.name in tools:
                raise Unreadable(f"{tool.name}: {part.name}: there is already a tool of this name")
        except Unreadable as error:
            left_out.append(str(error))
            continue
        forms.append(form)
        tools[tool.name] = tool
    if not tools:
        why = next(iter((*left_out, *notes)), "")
        raise RigError(f"{document.place}: holds no tools{f' ({why})' if why else ''}")
    return Listing(forms[0], tuple(tools.values()), tuple(notes), tuple(left_out))


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
        suggested = _BY_FORMAT.get(SchemaPart(property_, schema).format)
        by_type = "number" if property_.get("type") == "number" else "exact"
        rules.setdefault(name, Rule(suggested or by_type))
    return {name: rules[name] for name in schema["properties"]}


def _tools(part: DocumentPart, notes: list[str]) -> Iterator[DocumentPart]:
    """Return the parts of a document that declare one tool each, whatever they are wrapped in."""
    if isinstance(part.value, list):
        return part.items()
    fields = part.fields()
    for name in ("result", "toolConfig"):
        if name in fields:
            return _tools(fields[name], notes)
    if fields.get("nextCursor") is not None and fields["nextCursor"].value:
        notes.append(f"{part.place}: the listing is incomplete; it has a nextCursor")
    for name in ("tools", "functions", *_DECLARED):
        if name in fields:
            return fields[name].items()
    if "name" in fields or "function" in fields:
        return iter([part])
    raise part.fault("no tools here: needs a list, or an object with `tools`")


_DECLARED = ("functionDeclarations", "function_declarations")


def _each(parts: Iterator[DocumentPart]) -> Iterator[DocumentPart]:
    """Yield parts that declare one tool each, where one of them holds several, as Gemini's do."""
    for part in parts:
        name = next((name for name in _DECLARED if isinstance(part.value, dict) and name in part.value), None)
        if name is not None and isinstance(part.value[name], list):
            yield from part.inside(name).items()
        else:
            yield part


def _declaration(part: DocumentPart, notes: list[str], budget: Budget) -> tuple[str, ToolDeclaration]:
    """Return the form of a tool and what it declares. Raises Unreadable for one that has to be left out."""
    name = ""
    try:
        outer = part.fields()
        form, inner, schema = _form(outer)
        if "name" not in inner:
            raise part.fault("a tool needs a name")
        name = inner["name"].text()
        if not NAME.fullmatch(name):
            raise inner["name"].fault(
                f"{name[:80]!r}: a name has up to 200 letters, digits and . _ - / : @ $ +"
            )
        reader = ParameterReader(
            inner.get(schema, DocumentPart(None, part.file, part.path, part.lines)), budget
        )
        parameters = reader.parameters()
    except RigError as error:
        if budget.is_spent:
            raise
        # Without the file's place on this machine: the line is stored with runs.
        why = str(error).removeprefix(f"{part.file}: ")
        raise Unreadable(f"{f'{name[:80]}: ' if name else ''}{why}") from error
    notes += reader.notes
    description = inner["description"].value if "description" in inner else ""
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
    default = outer["default"].value if "default" in outer else UNSAID
    server, tool = (outer[part].text() if part in outer else "" for part in ("server", "tool"))
    return form, ToolDeclaration(
        name=name,
        description=description.strip() if isinstance(description, str) else "",
        parameters=parameters,
        action=acts,
        returns=returns,
        match=matching(parameters, rules),
        default=default,
        server=server,
        tool=tool,
    )


def _form(outer: Mapping[str, DocumentPart]) -> tuple[str, Mapping[str, DocumentPart], str]:
    """Return the form of a tool, the part with its name, and the name of its schema there."""
    if "function" in outer and isinstance(outer["function"].value, dict):
        return "OpenAI", outer["function"].fields(), "parameters"
    if "toolSpec" in outer and isinstance(outer["toolSpec"].value, dict):
        inner = outer["toolSpec"].fields()
        whole = inner.get("inputSchema")
        if whole is not None and isinstance(whole.value, dict) and "json" in whole.value:
            inner["inputSchema"] = whole.inside("json")
        return "Bedrock", inner, "inputSchema"
    if "parameter_definitions" in outer:
        return "Cohere", outer, "parameter_definitions"
    for form, schema in (("MCP", "inputSchema"), ("Anthropic", "input_schema")):
        if schema in outer:
            return form, outer, schema
    return "OpenAI" if "type" in outer else "rig", outer, "parameters"
