"""`rig tools`: the tools to call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rig.cli.options import AS_JSON, JSON_LINES
from rig.cli.output import print_json, print_table, say
from rig.cli.verbs import Verbs, argument, option, verb
from rig.core import registry
from rig.core.calls import JsonObject
from rig.core.errors import RigError, counted
from rig.core.opening import COMMAND
from rig.plugins.tools.suites_verb import check_place
from rig.show.table import one_line

if TYPE_CHECKING:
    from rig.plugins.own_tools.listing import ToolDeclaration
    from rig.world.spec import Tool

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_NETWORK = option("Let MCP servers use your network.")
_MOST_NOTES = 100
"""The most lines on what a grammar does not hold; a large schema can have thousands."""


@verb(Verbs)
def tools() -> None:
    """List and check tools, and import your own."""


@tools.verb("list")
def list_tools(
    *,
    toolboxes: tuple[str, ...] = argument("[NAME|DIR|mcp:COMMAND]..."),
    server_network: bool = _NETWORK,
    as_json: bool = AS_JSON,
) -> None:
    """List the tools of a toolbox, or of all installed toolboxes.

    rig runs the code in DIR, and starts the server of mcp:COMMAND.
    """
    from rig.config.schemes import ServerUse
    from rig.world.toolbox import find_toolbox

    use = ServerUse("live", server_network)
    boxes = [find_toolbox(name, use) for name in toolboxes or registry.registered().toolboxes]
    if as_json:
        print_json(
            [
                {
                    "toolbox": box.name,
                    "tools": list(map(_as_json, box.tools.values())),
                    "left_out": list(box.left_out),
                }
                for box in boxes
            ]
        )
        return
    rows = []
    for box in boxes:
        for tool in box.tools.values():
            required = tool.parameters["required"]
            names = (name if name in required else f"{name}?" for name in tool.parameters["properties"])
            rows.append((box.name, tool.name, _kind(tool), ", ".join(names)))
    print_table(("toolbox", "tool", "kind", "arguments"), rows)
    for box in boxes:
        for line in box.left_out:
            say(f"{box.name}: left out: {one_line(line)}", err=True)


@tools.verb("info")
def tool_info(
    *,
    toolbox: str = argument("NAME|DIR|mcp:COMMAND"),
    tools: tuple[str, ...] = argument("[TOOL]..."),
    server_network: bool = _NETWORK,
    as_json: bool = AS_JSON,
) -> None:
    """Show tools as a model sees them, and how rig compares their calls.

    rig runs the code in DIR, and starts the server of mcp:COMMAND.
    """
    from rig.config.schemes import ServerUse
    from rig.plugins.llama.formats.base import declarations_in_words
    from rig.plugins.mcp.isolation import confinement
    from rig.plugins.mcp.servers import servers_of
    from rig.plugins.own_tools.folder import files_of, holds_code, holds_toolbox
    from rig.world.toolbox import find_toolbox

    box = find_toolbox(toolbox, ServerUse("live", server_network))
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
    for line in box.left_out:
        say(f"left out: {one_line(line)}")
    if servers_of(box) is not None:
        say("\n".join(confinement(network=server_network)))
    for suite in box.suites:
        say(f"conversations: {suite}")
    for tool, doc in zip(chosen, docs, strict=True):
        words = declarations_in_words((doc,)).removeprefix("Tools:\n\n")
        rules = ", ".join(f"{name} {_rule(how)}" for name, how in tool.match.arguments.items())
        compared = f"\ncompared by: {rules}" if rules else ""
        say(f"\n{words}\n{'changes things' if tool.action else 'looks things up'}{compared}")


@tools.verb("check")
def check_tools(toolbox: str = argument("NAME|DIR"), *, as_json: bool = AS_JSON) -> int:
    """Check the tools of a toolbox.

    rig checks the declarations. It prints one line for each fault and exits with code 1 if there are any; a
    tool that cannot be read is one, and is left out of runs. Further lines name what a grammar cannot hold a
    model to. Calls are judged by a tool's whole schema in any case. rig runs the code in DIR. `rig check`
    also makes the calls of its conversations.
    """
    from rig.plugins.llama.grammar.schema import narrow
    from rig.plugins.own_tools.folder import LISTING
    from rig.plugins.own_tools.listing import read_listing
    from rig.world.toolbox import find_toolbox

    box, place = find_toolbox(toolbox), Path(toolbox)
    where = f"{place}: " if place.exists() else ""
    lines = [f"{where}left out: {one_line(line)}" for line in box.left_out]
    notes: list[str] = []
    for tool in box.tools.values():
        narrow(tool.parameters, tool.name, formats=False, notes=notes)
        if not tool.description:
            lines.append(f"{where}{tool.name}: has no description; a model cannot tell what it is for")
    listing = place / LISTING
    declared = read_listing(listing).notes if listing.is_file() else ()
    notes = list(dict.fromkeys(notes))
    if as_json:
        about = {"toolbox": box.name, "tools": len(box.tools), "faults": lines}
        print_json({**about, "notes": [*declared, *(f"{where}{note}" for note in notes)]})
        return bool(lines)
    for line in (*lines, *declared, *(f"{where}{note}" for note in notes[:_MOST_NOTES])):
        say(one_line(line))
    if len(notes) > _MOST_NOTES:
        say(f"{where}and {len(notes) - _MOST_NOTES} more that a grammar does not hold")
    say(f"{box.name}: {counted(len(box.tools), 'tool')}, {counted(len(lines), 'fault', 'no')}")
    return bool(lines)


@tools.verb("import")
def import_(
    *,
    file: str = argument("FILE|mcp:COMMAND"),
    output: Path | None = option("Write tools.json into this folder.", "DIR"),
    server_network: bool = _NETWORK,
    as_json: bool = AS_JSON,
) -> None:
    """Import tools from OpenAI's functions, MCP's tools/list, rig's own form, or an MCP server.

    With --output, rig writes the tools in its own form, which says whether each tool changes things and how
    its calls are compared, so that you can correct that. Without --output, rig only shows what it recognized.
    A tool that changes things gets a `default`: its answer to calls that your conversations do not expect.

    rig starts the server of mcp:COMMAND. With --output, it also writes mcp.json, and copies the files and
    folders that the command names, which the server then works on instead of yours.
    """
    from rig.config.schemes import ServerUse
    from rig.plugins.mcp.servers import imported
    from rig.plugins.own_tools.folder import LISTING
    from rig.plugins.own_tools.listing import UNSAID, Listing, read_listing, write_listing

    tools: list[ToolDeclaration] = []
    if file.startswith(COMMAND):
        listing, write_server = imported(file, ServerUse("live", server_network), output or Path())
        tools += listing.tools
    else:
        listing, write_server = read_listing(Path(file)), None
        for tool in listing.tools:
            is_unsaid = tool.action and tool.default is UNSAID
            tools.append(replace(tool, default={"status": "ok"}) if is_unsaid else tool)
    target = None if output is None else output / LISTING
    if target is not None:
        if target.exists():
            raise RigError(f"{target}: already exists; give another folder, or delete it")
        if write_server is not None:
            write_server()
        write_listing(Listing(listing.form, tuple(tools)), target)
    notes = [*(f"left out: {one_line(line)}" for line in listing.left_out), *map(one_line, listing.notes)]
    if as_json:
        names = [tool.name for tool in listing.tools]
        print_json({"form": listing.form, "tools": names, "notes": notes, "file": target and str(target)})
        return
    for note in notes:
        say(note, err=True)
    say(f"{file}: {listing.form}'s form, {counted(len(listing.tools), 'tool')}")
    rows = [(tool.name, _kind(tool), " ".join(tool.description.split())) for tool in listing.tools]
    print_table(("tool", "kind", "description"), rows)
    if target is not None:
        say(f"written to {target}")


@tools.verb()
def record(
    *,
    folder: Path = argument("DIR"),
    log: Path | None = option("Add the calls of a client's log: JSON-RPC messages, a line each.", type=_FILE),
    redact: tuple[str, ...] = option("Leave out what matches a regular expression.", "REGEX"),
    server_network: bool = _NETWORK,
    as_json: bool = JSON_LINES,
) -> int:
    """Record what MCP servers answer to the calls of the conversations in a folder, in calls.jsonl.

    rig starts the servers, and plays the conversations as `rig check` does. `--servers replay` then answers
    without a server. Values of the servers' environment are left out.
    """
    from rig.config.schemes import ServerUse
    from rig.plugins.mcp.cassette import from_log
    from rig.plugins.mcp.servers import CASSETTE, record_into, servers_of
    from rig.world.toolbox import find_toolbox

    use = ServerUse("live", server_network, redact)
    box = find_toolbox(str(folder), use)
    servers = servers_of(box)
    if servers is None:
        raise RigError(f"{folder}: has no servers to record: it needs mcp.json")
    cassette = record_into(servers)
    report = check_place(folder, None, box, record=False, as_json=False)
    for call in () if log is None else from_log(log, next(iter(servers.servers))):
        cassette.add(call)
    target = folder / CASSETTE
    cassette.write(target, servers.redact)
    if as_json:
        print_json({**report.as_json(), "output": str(target), "calls": len(cassette.calls)})
        return bool(report.faults)
    for line in (*report.faults, *report.summary):
        say(one_line(str(line)))
    say(f"{target}: {counted(len(cassette.calls), 'call')} recorded; play them with --servers replay")
    return bool(report.faults)


def _kind(tool: Tool | ToolDeclaration) -> str:
    return "action" if tool.action else "lookup"


def _rule(how: object) -> str:
    from rig.world.rules import Rule

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
