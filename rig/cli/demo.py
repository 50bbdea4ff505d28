"""`rig demo` and `rig tour`: a recorded run, which needs no model."""

import importlib
import lzma
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from rig import displays
from rig.cli.options import DISPLAY, FULL
from rig.cli.verbs import option, verb
from rig.cli.watch import tell
from rig.errors import RigError
from rig.paths import DEMO
from rig.replay import SLOWEST, Player
from rig.store import Runs

LASTS_S = 30.0


@verb()
def command(
    context: click.Context,
    display: str = DISPLAY,
    speed: float | None = option(
        "How fast to replay; 1 takes half a minute.", "X", type=click.FloatRange(min=SLOWEST)
    ),
    full: bool = FULL,
) -> int:
    """Watch a recorded run for half a minute: no model, no download.

    You see a small model on the easy suite, as it comes and after it was taught to call tools, and the
    verdict on the two. Without a terminal, everything is printed at once. The run is not added to your own.
    """
    with recording() as (store, pace):
        is_paced = speed is not None or displays.resolve(display, sys.stdout) == "tui"
        pace = pace * (speed or 1.0) if is_paced else math.inf
        return tell(context, store, "latest", display, speed=pace, full=full, is_kept=False)


@verb()
def tour() -> None:
    """Learn the keys of the live view in a minute, on a recorded run.

    You need a terminal, but no model. The run is not added to your own.
    """
    if displays.resolve("auto", sys.stdout) != "tui":
        raise RigError("rig tour needs a terminal that keys can be pressed in; `rig docs run` lists them")
    with recording() as (store, pace):
        player = Player(store, "latest", speed=pace / 2, stay=True)
        importlib.import_module("tui.watch").watch(player, is_kept=False, is_tour=True)


@contextmanager
def recording() -> Iterator[tuple[Path, float]]:
    """The recorded run in a store that lasts as long as this, and at which pace it takes half a minute."""
    with TemporaryDirectory(prefix="rig-demo-") as folder:
        store = Path(folder) / "demo.sqlite"
        store.write_bytes(lzma.decompress(DEMO.read_bytes()))
        with Runs.open(store) as runs:
            took = sum(arm.speed.wall_s for arm in runs.get("latest").arms)
        yield store, took / LASTS_S
