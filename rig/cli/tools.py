"""`rig tools`: list and check tools, and import your own."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rig import plugins
from rig.calls import JsonObject
from rig.cli.options import AS_JSON
from rig.cli.output import print_json, print_table, say
from rig.cli.verbs import Verbs, argument, option, verb
from rig.engine.formats.base import declarations_in_words
from rig.engine.grammar.schema import SchemaError, narrow
from rig.errors import RigError, counted
from rig.toolbox.folder import LISTING, files_of, find_toolbox, holds_code, holds_toolbox
from rig.toolbox.listing import UNSAID, Listing, ToolDeclaration, read_listing, write_listing
from rig.toolbox.rules import Rule
from rig.toolbox.spec import Tool


@verb(Verbs)
def command() -> None:
    """List and check tools, and import your own."""


@command.verb("list")
def list_(*, toolboxes: tuple[str, ...] = argument("[NAME|DIR]..."), as_json: bool = AS_JSON) -> None:
    """List the tools of a toolbox, or of all installed toolboxes.

    rig runs the code in DIR.
    """
    boxes = [find_toolbox(name) for name in toolboxes or plugins.registered().toolboxes]
    if as_json:
        print_json([{"toolbox": box.name, "tools": list(map(_as_json, box.tools.values()))} for box in boxes])
        return
    rows = [
        (box.name, tool.name, _kind(tool), ", ".join(_arguments(tool)))
        for box in boxes
        for tool in box.tools.values()
    ]
    print_table(("toolbox", "tool", "kind", "arguments"), rows)


@command.verb()
def info(
    *,
    toolbox: str = argument("NAME|DIR"),
    tools: tuple[str, ...] = argument("[TOOL]..."),
    as_json: bool = AS_JSON,
) -> None:
    """Show tools as a model sees them, and how rig compares their calls.

    rig runs the code in DIR.
    """
    box = find_toolbox(toolbox)
    docs = box.docs(tools or None)
    chosen = [box.tools[doc.name] for doc in docs]
    if as_json:
        print_json({"toolbox": box.name, "sha256": box.sha256, "tools": list(map(_as_json, chosen))})
        return
    say(f"{box.name}: {counted(len(box.tools), 'tool')}, sha256 {box.sha256[:16]}")
    place = Path(toolbox)
    if holds_toolbox(place):
        code = "runs like any program of yours" if holds_code(place) else "is data: nothing is run"
        say(f"{', '.join(path.name for path in files_of(place))}: what is here {code}")
    for suite in box.suites:
        say(f"conversations: {suite}")
    for tool, doc in zip(chosen, docs, strict=True):
        words = declarations_in_words((doc,)).removeprefix("Tools:\n\n")
        rules = ", ".join(f"{name} {_rule(how)}" for name, how in tool.match.arguments.items())
        compared = f"\ncompared by: {rules}" if rules else ""
        say(f"\n{words}\n{'changes things' if tool.action else 'looks things up'}{compared}")


@command.verb()
def check(toolbox: str = argument("NAME|DIR")) -> int:
    """Check the tools of a toolbox.

    rig checks the declarations, and that a grammar can enforce them. It prints one line for each
    fault and exits with code 1 if there are any. rig runs the code in DIR. `rig check` also makes the calls
    of its conversations.
    """
    box, place = find_toolbox(toolbox), Path(toolbox)
    where = f"{place}: " if place.exists() else ""
    faults = []
    for tool in box.tools.values():
        try:
            narrow(tool.parameters, tool.name, formats=False)
        except SchemaError as error:
            faults.append(f"{where}{error}")
        if not tool.description:
            faults.append(f"{where}{tool.name}: has no description; a model cannot tell what it is for")
    listing = place / LISTING
    for line in (*faults, *(read_listing(listing).notes if listing.is_file() else ())):
        say(line)
    say(f"{box.name}: {counted(len(box.tools), 'tool')}, {counted(len(faults), 'fault', 'no')}")
    return bool(faults)


@command.verb("import")
def import_(
    *,
    file: Path = argument(),
    output: Path | None = option("Write tools.json into this folder.", "DIR"),
    as_json: bool = AS_JSON,
) -> None:
    """Import tools from OpenAI's functions, MCP's tools/list, or rig's own form.

    With --output, rig writes the tools in its own form, which says whether each tool changes things and how
    its calls are compared, so that you can correct that. Without --output, rig only shows what it recognized.
    A tool that changes things gets a `default`: its answer to calls that your conversations do not expect.
    """
    listing = read_listing(file)
    target = None if output is None else output / LISTING
    if target is not None:
        if target.exists():
            raise RigError(f"{target}: already exists; give another folder, or delete it")
        tools = (
            replace(tool, default={"status": "ok"}) if tool.action and tool.default is UNSAID else tool
            for tool in listing.tools
        )
        write_listing(Listing(listing.form, tuple(tools)), target)
    if as_json:
        notes = list(listing.notes)
        names = [tool.name for tool in listing.tools]
        print_json({"form": listing.form, "tools": names, "notes": notes, "file": target and str(target)})
        return
    for note in listing.notes:
        say(note, err=True)
    say(f"{file}: {listing.form}'s form, {counted(len(listing.tools), 'tool')}")
    rows = [(tool.name, _kind(tool), tool.description) for tool in listing.tools]
    print_table(("tool", "kind", "description"), rows)
    if target is not None:
        say(f"written to {target}")


def _kind(tool: Tool | ToolDeclaration) -> str:
    return "action" if tool.action else "lookup"


def _arguments(tool: Tool) -> Iterator[str]:
    for name in tool.parameters["properties"]:
        yield name if name in tool.parameters["required"] else f"{name}?"


def _rule(how: object) -> str:
    return how.name if isinstance(how, Rule) else str(getattr(how, "name", how)).lower()


def _as_json(tool: Tool) -> JsonObject:
    return {
        "name": tool.name,
        "description": tool.description,
        "action": tool.action,
        "parameters": tool.parameters,
        "returns": tool.returns,
        "match": {name: _rule(how) for name, how in tool.match.arguments.items()},
    }
