"""`rig tools`: list and check tools, and import your own."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from rig import plugins
from rig.calls import JsonObject
from rig.cli.options import json_option
from rig.cli.output import print_json, print_table, printable
from rig.cli.verbs import Verbs
from rig.engine.formats.rig import declarations_in_words
from rig.engine.grammar.schema import SchemaError, narrow
from rig.errors import RigError
from rig.toolbox.find import find_toolbox
from rig.toolbox.own.folder import LISTING, files_of, holds_code, holds_toolbox
from rig.toolbox.own.listing import UNSAID, Declaration, Listing, read_listing, write_listing
from rig.toolbox.rules import Rule
from rig.toolbox.spec import Tool
from rig.toolbox.toolbox import Toolbox
from rig.words import counted

_PATH = click.Path(path_type=Path)
_JSON = json_option()


@click.group(cls=Verbs)
def command() -> None:
    """List and check tools, and import your own."""


@command.command("list")
@click.argument("toolboxes", metavar="[NAME|DIR]...", nargs=-1)
@_JSON
def list_(toolboxes: Sequence[str], as_json: bool) -> None:
    """List the tools of a toolbox, or of all installed toolboxes.

    rig runs the code in DIR.
    """
    boxes = [find_toolbox(name) for name in toolboxes or plugins.registered().toolboxes]
    if as_json:
        print_json(
            [
                {"toolbox": toolbox.name, "tools": list(map(_as_json, toolbox.tools.values()))}
                for toolbox in boxes
            ]
        )
        return
    rows = [
        (toolbox.name, tool.name, "action" if tool.action else "lookup", ", ".join(_arguments(tool)))
        for toolbox in boxes
        for tool in toolbox.tools.values()
    ]
    print_table(("toolbox", "tool", "kind", "arguments"), [tuple(map(printable, row)) for row in rows])


@command.command()
@click.argument("toolbox", metavar="NAME|DIR")
@click.argument("tools", metavar="[TOOL]...", nargs=-1)
@_JSON
def info(toolbox: str, tools: Sequence[str], as_json: bool) -> None:
    """Show tools as a model sees them, and how rig compares their calls.

    rig runs the code in DIR.
    """
    box = find_toolbox(toolbox)
    docs = box.docs(tools or None)
    chosen = [box.tools[doc.name] for doc in docs]
    if as_json:
        print_json({"toolbox": box.name, "sha256": box.sha256, "tools": list(map(_as_json, chosen))})
        return
    click.echo(printable(f"{box.name}: {counted(len(box.tools), 'tool')}, sha256 {box.sha256[:16]}"))
    place = Path(toolbox)
    if holds_toolbox(place):
        code = "runs like any program of yours" if holds_code(place) else "is data: nothing is run"
        click.echo(printable(f"{', '.join(path.name for path in files_of(place))}: what is here {code}"))
    for suite in box.suites:
        click.echo(printable(f"conversations: {suite}"))
    for tool, doc in zip(chosen, docs, strict=True):
        words = declarations_in_words((doc,)).removeprefix("Tools:\n\n")
        rules = ", ".join(f"{name} {_rule(how)}" for name, how in tool.match.arguments.items())
        compared = f"\ncompared by: {rules}" if rules else ""
        kind = "changes things" if tool.action else "looks things up"
        click.echo(f"\n{printable(words)}\n{kind}{printable(compared)}")


@command.command()
@click.argument("toolbox", metavar="NAME|DIR")
def check(toolbox: str) -> None:
    """Check the tools of a toolbox.

    rig checks the declarations, and that a grammar can enforce them. It prints one line for each
    fault and exits with code 1 if there are any. rig runs the code in DIR. `rig check` also makes the calls
    of its conversations.
    """
    box = find_toolbox(toolbox)
    faults = list(_faults(box, Path(toolbox)))
    for fault in faults:
        click.echo(printable(fault))
    listing = Path(toolbox) / LISTING
    for note in read_listing(listing).notes if listing.is_file() else ():
        click.echo(printable(note))
    click.echo(
        printable(f"{box.name}: {counted(len(box.tools), 'tool')}, {counted(len(faults), 'fault', 'no')}")
    )
    sys.exit(1 if faults else 0)


@command.command("import")
@click.argument("file", type=_PATH)
@click.option("--output", type=_PATH, metavar="DIR", help="Write tools.json into this folder.")
@_JSON
def import_(file: Path, output: Path | None, as_json: bool) -> None:
    """Import tools from OpenAI's functions, MCP's tools/list, or rig's own form.

    With --output, rig writes the tools in its own form, which says whether each tool changes things and how
    its calls are compared, so that you can correct that. Without --output, rig only shows what it recognized.
    A tool that changes things gets a `default`: its answer to calls that your conversations do not expect.
    """
    listing = read_listing(file)
    target = None if output is None else _written(listing, output)
    if as_json:
        notes = list(listing.notes)
        names = [tool.name for tool in listing.tools]
        print_json({"form": listing.form, "tools": names, "notes": notes, "file": target and str(target)})
        return
    for note in listing.notes:
        click.echo(printable(note), err=True)
    rows = [(tool.name, "action" if tool.action else "lookup", tool.description) for tool in listing.tools]
    click.echo(printable(f"{file}: {listing.form}'s form, {counted(len(listing.tools), 'tool')}"))
    print_table(("tool", "kind", "description"), [tuple(map(printable, row)) for row in rows])
    if target is not None:
        click.echo(printable(f"written to {target}"))


def _written(listing: Listing, output: Path) -> Path:
    target = output / LISTING
    if target.exists():
        raise RigError(f"{target}: already exists; give another folder, or delete it")
    write_listing(Listing(listing.form, tuple(map(_with_default, listing.tools))), target)
    return target


def _with_default(tool: Declaration) -> Declaration:
    return replace(tool, default={"status": "ok"}) if tool.action and tool.default is UNSAID else tool


def _faults(toolbox: Toolbox, place: Path) -> Iterator[str]:
    where = f"{place}: " if place.exists() else ""
    for tool in toolbox.tools.values():
        try:
            narrow(tool.parameters, tool.name, formats=False)
        except SchemaError as error:
            yield f"{where}{error}"
        if not tool.description:
            yield f"{where}{tool.name}: has no description; a model cannot tell what it is for"


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
