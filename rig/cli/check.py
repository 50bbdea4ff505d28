"""`rig check`: check conversations, and whether the simulator returns what they recorded."""

import sys
from pathlib import Path

import click

from rig import methods
from rig.cli.options import json_option
from rig.cli.output import print_json, printable
from rig.errors import RigError
from rig.methods.base import Method
from rig.methods.offers import Checks, Records, Report
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
        for path in _recording(methods.of_place(directory)).record(directory, world, toolbox):
            click.echo(f"recorded {path}", err=as_json)
    reports = [_check(method, place, world, toolbox) for method, place in _places(directory, world)]
    if as_json:
        print_json([report.as_json() for report in reports])
    else:
        for report in reports:
            for line in (*report.faults, *report.summary):
                click.echo(printable(str(line)))
    sys.exit(1 if any(report.faults for report in reports) else 0)


def _places(directory: Path | None, world: Path | None) -> list[tuple[Method, Path]]:
    """What to check, and whose it is: the directory, or the suites of all methods that can be checked so."""
    if directory is not None:
        return [(methods.of_place(directory), directory)]
    able = Checks if world is None else Records
    checking = [method for method in methods.known().values() if isinstance(method, able)]
    return [(method, place) for method in checking for place in method.suites().values()]


def _own_conversations(toolbox: str) -> Path:
    """Where the conversations are that come with a toolbox. Raises RigError if none do."""
    suites = find_toolbox(toolbox).suites
    if not suites:
        raise RigError(f"the toolbox {toolbox} comes with no conversations; name their folder")
    return suites[0]


def _check(method: Method, place: Path, world: Path | None, toolbox: str | None) -> Report:
    if world is not None or toolbox is not None:
        return _recording(method).check(place, world, toolbox)
    if not isinstance(method, Checks):
        raise RigError(f"{place}: the method {method.name} has no check of its tasks")
    return method.check(place)


def _recording(method: Method) -> Records:
    if not isinstance(method, Records):
        raise RigError(f"the tasks of the method {method.name} hold no responses of a world to be replayed")
    return method
