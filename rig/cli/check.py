"""`rig check`: whether conversations are sound, and whether the simulator returns what they recorded."""

import sys
from pathlib import Path

import click

from rig import methods
from rig.cli.output import print_json, printable
from rig.methods.base import Checked, Checks
from rig.methods.tooltalk.check import Report, check_directory, record_directory
from rig.methods.tooltalk.conversations import available_suites
from rig.paths import CONVERSATIONS
from rig.tooltalk import TOOLTALK
from rig.tooltalk.world import World

_DIRECTORY = click.Path(path_type=Path)


@click.command()
@click.argument("directory", type=_DIRECTORY, required=False)
@click.option("--world", "world_directory", type=_DIRECTORY, help="JSON databases to replay against.")
@click.option("--record", is_flag=True, help="First write into DIRECTORY what the simulator returns.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(directory: Path | None, world_directory: Path | None, record: bool, as_json: bool) -> None:
    """Check the conversations in DIRECTORY, or the suites that come with rig.

    One line for each fault; exit code 1 when there are any.
    """
    if record and directory is None:
        raise click.UsageError("--record needs a DIRECTORY.")
    checked = _by_their_methods(directory)
    directories = [CONVERSATIONS / suite for suite in available_suites()]
    if directory is not None:
        directories = [] if checked else [directory]
    if record and directory is not None:
        for path in record_directory(directory, _world(world_directory), TOOLTALK):
            click.echo(f"recorded {path}", err=as_json)
    reports = [check_directory(each, _world(world_directory), TOOLTALK) for each in directories]
    if as_json:
        print_json([report.as_json() for report in reports] + [found.as_json() for found in checked])
    else:
        for report in reports:
            _print(report)
        for found in checked:
            for fault in found.faults:
                click.echo(printable(fault))
            click.echo(f"{found.place}: {found.tasks} tasks, {len(found.faults) or 'no'} faults")
    is_sound = not any(report.faults for report in reports) and not any(each.faults for each in checked)
    sys.exit(0 if is_sound else 1)


def _by_their_methods(directory: Path | None) -> list[Checked]:
    """What methods say that check their tasks themselves: of the directory, or of the suites they bring."""
    checking = [method for method in methods.known().values() if isinstance(method, Checks)]
    if directory is None:
        return [method.check(place) for method in checking for place in method.suites().values()]
    return [method.check(directory) for method in checking if method.recognises(directory)]


def _world(directory: Path | None) -> World:
    return World.open() if directory is None else World.from_json_directory(directory)


def _print(report: Report) -> None:
    for fault in report.faults:
        click.echo(printable(str(fault)))
    click.echo(
        f"{report.directory}: {report.conversations} conversations, {len(report.calls)} calls,"
        f" {report.reproduced} responses reproduced, {len(report.faults) or 'no'} faults"
    )
    for difference, count in report.differences.items():
        click.echo(f"  {difference}: {count}")
