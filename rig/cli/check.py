"""`rig check`: check conversations, and whether the simulator returns what they recorded."""

from collections.abc import Iterator
from pathlib import Path

import click

from rig import methods
from rig.cli.options import json_option
from rig.cli.output import print_json, say
from rig.cli.verbs import argument, option, verb
from rig.errors import RigError
from rig.methods.checking import Report
from rig.toolbox.own.find import find_toolbox


@verb()
def command(
    *,
    directory: Path | None = argument(),
    world: Path | None = option("A folder of JSON databases to replay the calls in."),
    toolbox: str | None = option(
        "The tools that the conversations call. rig runs the code in DIR.", "NAME|DIR"
    ),
    record: bool = option("First write what the simulator returns into the conversations in DIRECTORY."),
    as_json: bool = json_option("Print the report as JSON."),
) -> int:
    """Check the conversations in DIRECTORY, or the suites that come with rig.

    With --toolbox and no DIRECTORY, check the conversations that come with the toolbox. rig prints one line
    for each fault, and exits with code 1 if there are any.
    """
    if directory is None and toolbox is not None:
        suites = find_toolbox(toolbox).suites
        if not suites:
            raise RigError(f"the toolbox {toolbox} comes with no conversations; name their folder")
        directory = suites[0]
    if directory is None:
        if record:
            raise click.UsageError("--record needs a DIRECTORY.")
        reports = list(_of_suites(world))
    else:
        reports = [_check(directory, world, toolbox, record=record, as_json=as_json)]
    if as_json:
        print_json([report.as_json() for report in reports])
    else:
        for report in reports:
            for line in (*report.faults, *report.summary):
                say(str(line))
    return any(report.faults for report in reports)


def _of_suites(world: Path | None) -> Iterator[Report]:
    """The reports on the suites of all methods that can be checked, in this world if one is named."""
    for method in methods.known().values():
        if world is None or method.holds_responses:
            reports = (method.check(place, world) for place in method.suites().values())
            yield from (report for report in reports if report is not None)


def _check(place: Path, world: Path | None, toolbox: str | None, *, record: bool, as_json: bool) -> Report:
    method = methods.of_place(place)
    if (record or world is not None or toolbox is not None) and not method.holds_responses:
        raise RigError(f"the tasks of the method {method.name} hold no responses of a world to be replayed")
    for path in method.record(place, world, toolbox) if record else ():
        click.echo(f"recorded {path}", err=as_json)
    report = method.check(place, world, toolbox)
    if report is None:
        raise RigError(f"{place}: the method {method.name} has no check of its tasks")
    return report
