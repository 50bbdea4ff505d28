"""`rig world`: build or check the mock world of the tools."""

import json
import sqlite3
from pathlib import Path

import click

from rig.cli.options import json_option
from rig.cli.output import say
from rig.cli.verbs import Verbs, option
from rig.errors import RigError, counted
from rig.paths import WORLD_DATABASE, WORLD_SEED
from rig.tooltalk.world import World
from rig.tooltalk.world.build import build_world
from rig.tooltalk.world.checks import check_world

_DIRECTORY = click.Path(path_type=Path, file_okay=False)
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group(cls=Verbs)
def command() -> None:
    """Build the mock world, or check it."""


@command.verb()
def build(
    seed: Path = option("The folder of JSON files to build from.", type=_DIRECTORY, default=WORLD_SEED),
    output: Path = option("The file to write.", type=_FILE, default=WORLD_DATABASE),
) -> None:
    """Build the world file. It has the same bytes every time."""
    build_world(seed, output)
    say(f"built {output}")


@command.verb()
def check(
    *,
    seed: Path = option("The folder of JSON files it was built from.", type=_DIRECTORY, default=WORLD_SEED),
    file: Path = option("The file to check.", flags="--world", type=_FILE, default=WORLD_DATABASE),
    as_json: bool = json_option("Print the faults as a JSON list."),
) -> int:
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
            say(fault)
        say(f"{file}: {counted(len(faults), 'fault') if faults else 'sound'}")
    return bool(faults)
