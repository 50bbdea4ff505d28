"""`rig watch`, `demo` and `tour`: stored runs as they went."""

from __future__ import annotations

import importlib
import lzma
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from rig import show as displays
from rig.cli import INTERRUPTED
from rig.cli import options as shared
from rig.cli.options import STORE
from rig.cli.output import print_json, say, terminal_width
from rig.cli.run import Notifier
from rig.cli.runs import go_on
from rig.cli.verbs import argument, option, verb
from rig.core.errors import RigError
from rig.core.events import Emit
from rig.core.paths import DEMO
from rig.plugins.replay.player import SLOWEST


class _SpeedType(click.ParamType[float]):
    name = "speed"

    def convert(
        self, value: str | float, parameter: click.Parameter | None, context: click.Context | None
    ) -> float:
        try:
            speed = math.inf if value == "max" else float(value)
        except ValueError:
            speed = math.nan
        if not speed >= SLOWEST:
            self.fail(f"{value!r} is neither a number of at least {SLOWEST} nor max.", parameter, context)
        return speed


@verb()
def watch(
    context: click.Context,
    *,
    run: str = argument(default="latest", shell_complete=shared.complete_runs),
    speed: float | None = option(
        "How fast to replay: 1 is the original speed, `max` does not wait.  [default: 1 in the live view,"
        " else max]",
        "X",
        type=_SpeedType(),
    ),
    start: str | None = option(
        "Start at this conversation of the first arm.",
        "NAME",
        "--from",
        shell_complete=shared.complete_conversations,
    ),
    display: str = shared.DISPLAY,
    runs: Path = STORE,
    as_json: bool = shared.JSON_LINES,
    full: bool = shared.FULL,
) -> int:
    """Watch a run in progress, or replay one.

    RUN is an id or its first characters, a name given with --name, or `latest`. A finished run is replayed
    from the start, at its original speed. A run in progress in another terminal is followed one turn behind;
    you can attach and leave as often as you like without disturbing it. The exit code is 1 if the run stopped
    before its end while you watched.
    """
    return tell(context, runs, run, display, speed=speed, start=start, as_json=as_json, full=full)


def tell(
    context: click.Context,
    store: Path,
    run: str,
    display: str,
    *,
    speed: float | None = None,
    start: str | None = None,
    as_json: bool = False,
    full: bool = False,
    is_kept: bool = True,
) -> int:
    """Replay a stored run in a display, and print its summary, and its place if the run is kept.

    Returns the exit code.
    """
    from rig.plugins.replay.player import Player
    from rig.running.bus import Bus
    from rig.show.card import ending
    from rig.store import Runs

    stream = sys.stderr if as_json else sys.stdout
    view = displays.resolve(display, stream)
    live = view == "tui"
    player = Player(store, run, speed=speed or (1.0 if live else math.inf), stay=live)
    if start is not None:
        player.start_at(player.find(start))
    was_running = player.is_running
    if live:
        chosen = importlib.import_module("tui.watch").watch(player, is_kept=is_kept)
        if chosen is not None:
            go_on(context, chosen.run, store)
    else:
        notifier = Notifier(bell=False)

        def play(emit: Emit) -> None:
            player.play(Bus((notifier.tell, emit), player).emit)

        displays.choose(view, stream).run(play, player)
    with Runs.open(store) as opened:
        stored = opened.get(player.run)
    if as_json:
        arms = [arm.as_json(stored.declaration) for arm in stored.arms]
        place = str(store) if is_kept else None
        print_json({"run": stored.id, "store": place, "state": stored.state, "arms": arms})
    elif displays.is_watched(view):
        say(f"\n{ending(stored, store, terminal_width(), full=full, is_kept=is_kept)}")
    if player.is_stopped and not live:
        return INTERRUPTED
    return int(was_running and stored.state == "interrupted")


LASTS_S = 30.0


@verb()
def demo(
    context: click.Context,
    display: str = shared.DISPLAY,
    speed: float | None = option(
        "How fast to replay; 1 takes half a minute.", "X", type=shared.FloatRange(min=SLOWEST)
    ),
    full: bool = shared.FULL,
    save: Path | None = option("Write the recorded run to a new store instead, to try other verbs on it."),
    as_json: bool = shared.JSON_LINES,
) -> int:
    """Watch a recorded run for half a minute: no model, no download.

    You see three quantizations of a small model on the easy suite, and what can be said of them. Without a
    terminal, everything is printed at once. The run is not added to your own.
    """
    with recording() as (store, pace):
        if save is not None:
            _save(store, save, as_json=as_json)
            return 0
        is_paced = speed is not None or (not as_json and displays.resolve(display, sys.stdout) == "tui")
        pace = pace * (speed or 1.0) if is_paced else math.inf
        return tell(context, store, "latest", display, speed=pace, full=full, as_json=as_json, is_kept=False)


def _save(store: Path, place: Path, *, as_json: bool) -> None:
    """Copy the recorded run to a new store, and say how to use it."""
    from rig.store import backup

    backup(store, place)
    if as_json:
        print_json({"store": str(place)})
    else:
        say(f"{place} holds the recorded run: rig compare latest --runs {place}")


@verb()
def tour(*, as_json: bool = shared.AS_JSON) -> None:
    """Learn the keys of the live view in a minute, on a recorded run.

    You need a terminal, but no model. The run is not added to your own.
    """
    from rig.plugins.replay.player import Player

    if as_json:
        raise RigError("rig tour is for people, at a terminal; `rig demo --json` has the run that it shows")
    if displays.resolve("auto", sys.stdout) != "tui":
        raise RigError("rig tour needs a terminal that keys can be pressed in; `rig docs run` lists them")
    with recording() as (store, pace):
        player = Player(store, "latest", speed=pace / 2, stay=True)
        importlib.import_module("tui.watch").watch(player, is_kept=False, is_tour=True)


@contextmanager
def recording() -> Iterator[tuple[Path, float]]:
    """A context with the recorded run in a temporary store, and the speed at which it takes half a minute."""
    from rig.store import Runs

    with TemporaryDirectory(prefix="rig-demo-") as folder:
        store = Path(folder) / "demo.sqlite"
        store.write_bytes(lzma.decompress(DEMO.read_bytes()))
        with Runs.open(store) as runs:
            took = sum(arm.speed.wall_s for arm in runs.get("latest").arms)
        yield store, took / LASTS_S


def browse(
    *, context: click.Context, runs: Path, datasette: bool, copy: Path | None, as_json: bool, tui: bool
) -> None:
    """Browse the runs in the terminal."""
    if datasette or as_json:
        raise RigError("--tui is for people, --datasette and --json are for programs; give one of them")
    if copy is not None:
        raise RigError("--backup copies the store instead of showing it; give it alone")
    if chosen := importlib.import_module("tui.watch").browse(runs):
        go_on(context, chosen.run, runs)
