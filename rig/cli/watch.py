"""`rig watch`: replay a stored run, or follow one in progress in another terminal."""

import importlib
import math
import sys
from pathlib import Path

import click

from rig import displays
from rig.cli import INTERRUPTED, completion
from rig.cli.options import DISPLAY, FULL, JSON_AT_END, STORE
from rig.cli.output import say, terminal_width
from rig.cli.runs import go_on
from rig.cli.verbs import argument, option, verb
from rig.displays.card import ending
from rig.files import json_text
from rig.replay import SLOWEST, Player
from rig.store import Runs


class _Speed(click.ParamType[float]):
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
def command(
    context: click.Context,
    *,
    run: str = argument(default="latest", shell_complete=completion.runs),
    speed: float | None = option(
        "How fast to replay: 1 is the original speed, `max` does not wait.  [default: 1 in the live view,"
        " else max]",
        "X",
        type=_Speed(),
    ),
    start: str | None = option(
        "Start at this conversation of the first arm.",
        "NAME",
        "--from",
        shell_complete=completion.conversations,
    ),
    display: str = DISPLAY,
    runs: Path = STORE,
    as_json: bool = JSON_AT_END,
    full: bool = FULL,
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
    """Tell a stored run under a display, then its summary, and where it is unless it is not kept.

    Returns the exit code.
    """
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
        displays.choose(view, stream).run(player.play, player)
    with Runs.open(store) as opened:
        stored = opened.get(player.run)
    if as_json:
        arms = [arm.as_json(stored.declaration) for arm in stored.arms]
        click.echo(json_text({"run": stored.id, "store": str(store), "state": stored.state, "arms": arms}))
    elif displays.is_watched(view):
        say(f"\n{ending(stored, store, terminal_width(), full=full, is_kept=is_kept)}")
    if player.is_stopped and not live:
        return INTERRUPTED
    return int(was_running and stored.state == "interrupted")
