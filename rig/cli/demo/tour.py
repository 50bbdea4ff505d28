"""`rig tour`: teach the keys of the live view on a recorded run."""

import importlib
import sys

import click

from rig import displays
from rig.cli.demo import recording
from rig.errors import RigError
from rig.replay import Player


@click.command()
def command() -> None:
    """Learn the keys of the live view in a minute, on a recorded run.

    You need a terminal, but no model. The run is not added to your own.
    """
    if displays.resolve("auto", sys.stdout) != "tui":
        raise RigError(
            "rig tour needs a terminal that keys can be pressed in; docs/screens/run.md lists them"
        )
    with recording() as (store, pace):
        player = Player(store, "latest", speed=pace / 2, stay=True)
        importlib.import_module("tui.watch").watch(player, is_kept=False, is_tour=True)
