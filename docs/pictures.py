"""Make the pictures of the run screen, exported from the application itself.

    .venv/bin/python docs/pictures.py demo
    .venv/bin/python docs/pictures.py live [MODEL] [--after N]
    .venv/bin/python docs/pictures.py arms FILE RUN [--after N]

demo is docs/live.svg, and watch.svg and card.svg in docs/reference/screens: the recorded run of `rig demo`
told again, while the model writes, at a failure, and at its end.

live is docs/live.svg instead: a run of one arm in a temporary store, once N conversations are over, as soon
as the model is writing something below a call that matched, or that differed from the ground truth. arms are
run-arms.svg there, the stored run RUN with two arms as it stood when N conversations of the second were over,
and run-sides.svg, the first turn of the conversation at that moment, side by side.
"""

import argparse
import asyncio
import math
import tempfile
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from rig.config.options import RunConfig
from rig.core.events import Event, TurnStarted
from rig.plugins.displays.verb import recording
from rig.plugins.replay.player import Player
from rig.running.control import Control
from rig.running.planning import plan
from rig.running.runner import run
from rig.show.steps import CallVerdict
from tui.app import RigApp
from tui.live.layout import Draft, Entry
from tui.live.live_run import EventQueue, LiveRun, Replay
from tui.live.state import RunState
from tui.screens.pages import CardScreen
from tui.screens.run import RunScreen, WatchScreen

DOCS = Path(__file__).resolve().parent
SIZE = (124, 34)
LOOK_S = 0.05


def entries_of(state: RunState) -> list[Entry]:
    """What is told of the current conversation."""
    conversation = state.conversations.get(state.current) if state.current else None
    return conversation.transcript.entries if conversation and conversation.transcript else []


def judged(state: RunState) -> bool:
    """Whether the current conversation shows a verdict that has something to tell."""
    return any(
        isinstance(each, CallVerdict) and (each.match or each.differences) for each in entries_of(state)
    )


def writes(state: RunState) -> bool:
    """Whether it shows, below such a verdict, a prediction being written."""
    last = entries_of(state)[-1:]
    return judged(state) and any(isinstance(each, Draft) and len(each.text) > 30 for each in last)


def over(state: RunState, arm: int) -> int:
    """How many conversations of an arm are over."""
    return sum(each.over for where, each in state.conversations.items() if where.arm == arm)


@asynccontextmanager
async def live(options: RunConfig) -> AsyncIterator[tuple[RunScreen, Pilot[Any]]]:
    """A run under the view; it is stopped when this ends."""
    feed, control = EventQueue(), Control()
    with tempfile.TemporaryDirectory() as directory:
        planned = plan(options, Path(directory) / "runs.sqlite")

        def job() -> None:
            try:
                run(planned, feed.emit, control)
            finally:
                feed.close()

        thread = threading.Thread(target=job)
        screen = RunScreen(LiveRun(feed, control))
        async with RigApp(screen).run_test(size=SIZE) as pilot:
            thread.start()
            try:
                yield screen, pilot
            finally:
                control.stop()
                await asyncio.to_thread(thread.join)


async def until(screen: RunScreen, condition: Callable[[RunState], bool]) -> None:
    """Wait for a state of the run. Raises SystemExit when it ends before."""
    while not condition(screen.state):
        if screen.live_run.over:
            raise SystemExit("the run was over before there was anything to picture")
        await asyncio.sleep(LOOK_S)


async def take(screen: RunScreen, pilot: Pilot[Any], name: str) -> None:
    """Write a picture of the screen as it is."""
    screen.catch_up()
    await pilot.pause()
    (DOCS / name).write_text(screen.app.export_screenshot(), encoding="utf-8")
    print(f"wrote docs/{name}", flush=True)


async def pictures_of_demo() -> None:
    """The recorded run: as it goes on, a failure in it, and its end."""
    with recording() as (store, pace):
        player = Player(store, "latest", speed=pace / 3, stay=True)
        screen = WatchScreen(Replay(player))
        screen.is_kept = False
        async with RigApp(screen).run_test(size=SIZE) as pilot:
            # The ninth asks the calendar for five days instead of one, which matches: a puzzle, no picture.
            while not (over(screen.state, 1) >= 9 and writes(screen.state)):
                await asyncio.sleep(LOOK_S)
            await take(screen, pilot, "live.svg")
            await pilot.press("p", "x")
            await take(screen, pilot, "reference/screens/watch.svg")
            await pilot.press("f", *["plus"] * 8, "p")
            while not isinstance(screen.app.screen, CardScreen):
                await asyncio.sleep(LOOK_S)
            await take(screen, pilot, "reference/screens/card.svg")
            player.stop()


async def picture_of_one(model: str, after: int) -> None:
    """A run of one arm."""
    async with live(RunConfig.of(models=(model,))) as (screen, pilot):
        await until(screen, lambda state: over(state, 0) >= after and writes(state))
        await take(screen, pilot, "live.svg")


def cut(store: Path, run: str, after: int) -> list[Event]:
    """The events of a stored run up to where it is worth a picture."""
    events: list[Event] = []
    Player(store, run, speed=math.inf).play(events.append)
    state = RunState()
    for number, event in enumerate(events, 1):
        state.apply(event)
        if over(state, 1) >= after and judged(state):
            return events[:number]
    raise SystemExit("there is nothing to picture in this run")


async def pictures_of_several(store: Path, run: str, after: int) -> None:
    """A stored run of two arms as it was when it was made, and a turn in both."""
    events = cut(store, run, after)
    seconds = 0.0
    watching = LiveRun(EventQueue(), Control(), clock=lambda: seconds)
    screen = RunScreen(watching)
    async with RigApp(screen).run_test(size=SIZE) as pilot:
        first = next(number for number, event in enumerate(events) if isinstance(event, TurnStarted))
        for part in (events[: first + 1], events[first + 1 :]):
            for event in part:
                watching.feed.emit(event)
            screen.catch_up()
            seconds = sum(arm.speed.wall_s for arm in screen.state.arms if arm.speed)
        await take(screen, pilot, "reference/screens/run-arms.svg")
        await pilot.press("a", *["left_square_bracket"] * 99)
        await take(screen, pilot, "reference/screens/run-sides.svg")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = parser.add_subparsers(dest="kind", required=True)
    kinds.add_parser("demo")
    one, several = kinds.add_parser("live"), kinds.add_parser("arms")
    one.add_argument("model", nargs="?", default="smollm2-135m")
    one.add_argument("--after", type=int, default=3)
    several.add_argument("store", type=Path)
    several.add_argument("run")
    several.add_argument("--after", type=int, default=40)
    given = parser.parse_args()
    if given.kind == "demo":
        asyncio.run(pictures_of_demo())
    elif given.kind == "live":
        asyncio.run(picture_of_one(given.model, given.after))
    else:
        asyncio.run(pictures_of_several(given.store, given.run, given.after))
