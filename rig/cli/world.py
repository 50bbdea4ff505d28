"""`rig world`: build or check the mock world of the tools."""

import json
import sqlite3
import sys
from pathlib import Path

import click

from rig.cli.options import json_option
from rig.cli.output import printable
from rig.cli.verbs import Verbs
from rig.errors import RigError
from rig.paths import WORLD_DATABASE, WORLD_SEED
from rig.tooltalk.world import World
from rig.tooltalk.world.build import build_world
from rig.tooltalk.world.checks import check_world
from rig.words import counted

_DIRECTORY = click.Path(path_type=Path, file_okay=False)
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group(cls=Verbs)
def command() -> None:
    """Build the mock world, or check it."""


@command.command()
@click.option("--seed", type=_DIRECTORY, default=WORLD_SEED, help="The folder of JSON files to build from.")
@click.option("--output", type=_FILE, default=WORLD_DATABASE, help="The file to write.")
def build(seed: Path, output: Path) -> None:
    """Build the world file. It has the same bytes every time."""
    build_world(seed, output)
    click.echo(printable(f"built {output}"))


@command.command()
@click.option(
    "--seed", type=_DIRECTORY, default=WORLD_SEED, help="The folder of JSON files it was built from."
)
@click.option("--world", "file", type=_FILE, default=WORLD_DATABASE, help="The file to check.")
@json_option("Print the faults as a JSON list.")
def check(seed: Path, file: Path, as_json: bool) -> None:
    """Check the world file: print one line for each fault, and exit with code 1 if there are any."""
    try:
        world = World.open(file)
        faults = check_world(world)
        dump = world.dump()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise RigError(f"{file}: damaged: {error}; `rig world build` builds it again") from error
    if dump != World.from_json_directory(seed).dump():
        faults.append(f"{file} is not what {seed} makes; `rig world build` brings it up to date")
    if as_json:
        click.echo(json.dumps(faults, indent=2))
    else:
        for fault in faults:
            click.echo(printable(fault))
        click.echo(printable(f"{file}: {counted(len(faults), 'fault') if faults else 'sound'}"))
    sys.exit(1 if faults else 0)
