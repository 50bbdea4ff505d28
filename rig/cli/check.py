"""`rig check`: check conversations, and whether the simulator returns what they recorded."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from rig import methods
from rig.cli.options import json_option
from rig.cli.output import print_json, printable
from rig.errors import RigError
from rig.methods.base import Method
from rig.methods.checking import Report
from rig.toolbox.find import find_toolbox

_DIRECTORY = click.Path(path_type=Path)


@click.command()
@click.argument("directory", type=_DIRECTORY, required=False)
@click.option("--world", type=_DIRECTORY, help="A folder of JSON databases to replay the calls in.")
@click.option(
    "--toolbox", metavar="NAME|DIR", help="The tools that the conversations call. rig runs the code in DIR."
)
@click.option(
    "--record",
    is_flag=True,
    help="First write what the simulator returns into the conversations in DIRECTORY.",
)
@json_option("Print the report as JSON.")
def command(
    directory: Path | None, world: Path | None, toolbox: str | None, record: bool, as_json: bool
) -> None:
    """Check the conversations in DIRECTORY, or the suites that come with rig.

    With --toolbox and no DIRECTORY, check the conversations that come with the toolbox. rig prints one line
    for each fault, and exits with code 1 if there are any.
    """
    if directory is None and toolbox is not None:
        directory = _own_conversations(toolbox)
    if record and directory is None:
        raise click.UsageError("--record needs a DIRECTORY.")
    if record and directory is not None:
        method = methods.of_place(directory)
        _require_responses(method)
        for path in method.record(directory, world, toolbox):
            click.echo(f"recorded {path}", err=as_json)
    if directory is not None:
        reports = [_check(methods.of_place(directory), directory, world, toolbox)]
    else:
        reports = list(_of_suites(world))
    if as_json:
        print_json([report.as_json() for report in reports])
    else:
        for report in reports:
            for line in (*report.faults, *report.summary):
                click.echo(printable(str(line)))
    sys.exit(1 if any(report.faults for report in reports) else 0)


def _of_suites(world: Path | None) -> Iterator[Report]:
    """The reports on the suites of all methods that can be checked, in this world if one is named."""
    for method in methods.known().values():
        if world is None or method.holds_responses:
            for place in method.suites().values():
                report = method.check(place, world)
                if report is not None:
                    yield report


def _own_conversations(toolbox: str) -> Path:
    """Where the conversations are that come with a toolbox. Raises RigError if none do."""
    suites = find_toolbox(toolbox).suites
    if not suites:
        raise RigError(f"the toolbox {toolbox} comes with no conversations; name their folder")
    return suites[0]


def _check(method: Method, place: Path, world: Path | None, toolbox: str | None) -> Report:
    if world is not None or toolbox is not None:
        _require_responses(method)
    report = method.check(place, world, toolbox)
    if report is None:
        raise RigError(f"{place}: the method {method.name} has no check of its tasks")
    return report


def _require_responses(method: Method) -> None:
    if not method.holds_responses:
        raise RigError(f"the tasks of the method {method.name} hold no responses of a world to be replayed")
