"""`rig suites` and `rig check`: the suites to play, and mistakes in them."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from rig.cli.options import AS_JSON, json_option
from rig.cli.output import print_json, print_table, say
from rig.cli.verbs import Verbs, argument, option, verb
from rig.core import registry
from rig.core.errors import RigError
from rig.core.files import json_text, write
from rig.show.table import one_line

if TYPE_CHECKING:
    from rig.methods.base import Checked
    from rig.world.toolbox import Toolbox

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_NETWORK = option("Let MCP servers use your network.")
_STARTER = Path(__file__).parent / "starter"
_FIRST = (
    "# Say what the user says, and which calls are due; `rig check --record` fills in what they return.\n"
    "- user: Hello, who are you?\n"
    "  reply: I can help you with your tools.\n"
    "# - user: …\n#   calls:\n#     - {tool}: {{argument: value}}\n"
)
"""A conversation in which nothing is due yet."""


@verb(Verbs)
def command() -> None:
    """List suites of conversations, and start your own."""


@command.verb("list")
def list_(*, as_json: bool = AS_JSON) -> None:
    """List the suites that come with rig, and the method that plays each."""
    from rig import methods

    header = ("suite", "method", "tasks", "place")
    rows = [
        (name, method.name, len(method.load(place)), str(place))
        for name, (method, place) in methods.suites().items()
    ]
    about = registry.registered().suites.attribute
    suites = methods.made_suites()
    rows += [(name, about(name, "method"), about(name, "size"), "made when used") for name in suites]
    if as_json:
        print_json([dict(zip(header, row, strict=True)) for row in rows])
    else:
        print_table(header, rows)


@command.verb()
def info(suite: str = argument("NAME|PATH"), *, as_json: bool = AS_JSON) -> None:
    """List the tasks of a suite."""
    from rig import methods

    method, tasks = methods.find_tasks(suite)
    rows = [
        {"task": task.name, "turns": len(task.known_turns), "calls": task.ground_truth_count}
        for task in tasks
    ]
    if as_json:
        print_json({"suite": suite, "method": method.name, "tasks": rows})
    else:
        print_table(("task", "turns", "calls"), [row.values() for row in rows])


@command.verb()
def new(
    *,
    folder: Path = argument("NAME"),
    code: bool = option("Start with tools that are Python functions, and the tables they work on."),
    tools: Path | None = option(
        "Start with the tools in this file, in any form that `rig tools import` reads.", type=_FILE
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Make a folder with tools and conversations that runs at once, for you to change.

    Try it with `rig run oracle --toolbox NAME`. `rig docs your-own` explains the next steps.
    """
    from rig.plugins.own_tools.listing import read_listing, write_listing

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RigError(f"{folder}: already exists; give a new name")
    if code and tools is not None:
        raise RigError("--code and --tools are two ways to begin; give one of them")
    listing = None if tools is None else read_listing(tools)
    conversations = folder / "conversations"
    try:
        conversations.mkdir(parents=True)
        if listing is not None:
            write_listing(listing, folder / "tools.json")
            text = _FIRST.format(tool=listing.tools[0].name)
            (conversations / "first.yaml").write_text(text, encoding="utf-8")
        else:
            name = "toolbox.py" if code else "tools.json"
            shutil.copyfile(_STARTER / (f"{name}.txt" if code else name), folder / name)
            shutil.copyfile(_STARTER / f"{'code' if code else 'data'}.yaml", conversations / "first.yaml")
    except OSError as error:
        raise RigError(f"{folder}: cannot be written: {error.strerror}") from error
    command = f"rig run oracle --toolbox {shlex.quote(str(folder))}"
    if as_json:
        print_json({"folder": str(folder), "command": command})
    else:
        say(f"{folder} is ready: {command}")


@verb()
def check(
    *,
    directory: Path | None = argument(),
    world: Path | None = option("A folder of JSON databases to replay the calls in."),
    toolbox: str | None = option(
        "The tools that the conversations call. rig runs the code in DIR, and starts its servers.", "NAME|DIR"
    ),
    server_network: bool = _NETWORK,
    record: bool = option("First write what the simulator returns into the conversations in DIRECTORY."),
    as_json: bool = json_option("Print the report as JSON."),
) -> int:
    """Check the conversations in DIRECTORY, or the suites that come with rig.

    DIRECTORY can also be `medium`, which is made when it is used. With --toolbox and no DIRECTORY, check the
    conversations that come with the toolbox. rig prints one line for each fault, and exits with code 1 if
    there are any.
    """
    from rig import methods
    from rig.config.schemes import ServerUse
    from rig.world.toolbox import find_toolbox

    box = None if toolbox is None else find_toolbox(toolbox, ServerUse("live", server_network))
    if directory is None and box is not None:
        if not box.suites:
            raise RigError(f"the toolbox {toolbox} comes with no conversations; name their folder")
        directory = box.suites[0]
    if directory is not None:
        reports = [check_place(directory, world, box, record=record, as_json=as_json)]
    elif record:
        raise click.UsageError("--record needs a DIRECTORY.")
    else:
        # The suites of all methods that can be checked, in this world if one is named.
        reports = []
        for method in methods.known().values():
            if world is None or method.holds_responses:
                checked = [method.check(place, world) for place in method.suites().values()]
                reports += filter(None, checked)
    if as_json:
        print_json([{**report.as_json(), "notes": list(_unwritable(report))} for report in reports])
    else:
        for report in reports:
            for line in (*report.faults, *_unwritable(report), *report.summary):
                say(one_line(str(line)))
    return any(report.faults for report in reports)


def _unwritable(report: Checked) -> Iterator[str]:
    """Yield a line on each true call that a schema allows and no model can write that a grammar holds."""
    from rig.config.schemes import FILE
    from rig.world.schemas import faults, fits, with_nulls_absent

    files = registry.registered().schemes[FILE]

    for place, call, schema in report.true_calls:
        if not isinstance(call.arguments, dict):
            continue
        arguments = with_nulls_absent(schema, call.arguments)
        if fits(arguments, schema):
            narrowed = files.narrowed(schema, call.name)
            for fault in islice(faults(arguments, narrowed), 1):
                yield (
                    f"{place}: only a model that no grammar holds can write this call of {call.name}:"
                    f" {fault.message[:200]}"
                )


def check_place(
    place: Path, world: Path | None, toolbox: Toolbox | None, *, record: bool, as_json: bool
) -> Checked:
    """Check, and with `record` first record, the tasks of a place or of a suite. Raises RigError."""
    from rig import methods

    suites = methods.made_suites()
    if not place.exists() and (name := str(place)) in suites:
        # It is made now, and checked as a folder.
        with TemporaryDirectory(prefix="rig-check-") as folder:
            for source in suites[name].sources():
                write(json_text(source), Path(folder) / name / f"{source['name']}.json", folders=True)
            report = methods.get(suites[name].method).check(Path(folder) / name)
        assert report is not None
        return replace(report, place=place)
    method = methods.of_place(place)
    if (record or world is not None or toolbox is not None) and not method.holds_responses:
        raise RigError(f"the tasks of the method {method.name} hold no responses of a world to be replayed")
    if record:
        for path in method.record(place, world, toolbox, lambda line: say(one_line(line), err=as_json)):
            click.echo(f"recorded {path}", err=as_json)
    report = method.check(place, world, toolbox)
    if report is None:
        raise RigError(f"{place}: the method {method.name} has no check of its tasks")
    if not report.tasks and not report.faults:
        raise RigError(f"{place}: its files hold no conversation; write one into them")
    return report
