"""The live view as a display: the application has the main thread, the run a thread of its own."""

import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Generic, TextIO, TypeVar

from rig import events
from rig.displays.base import Display
from rig.displays.lines import PlainDisplay
from rig.events import Emit, Event, Where
from rig.running.control import Control
from rig.store import Runs
from tui.app import RigApp
from tui.live.live_run import EventQueue, LiveRun
from tui.live.state import StoredBefore
from tui.screens.run import RunScreen
from tui.stored.record import turn_events
from tui.terminal import guarded, has_terminal

T = TypeVar("T")

_DETAILS = (
    *(events.TurnStarted, events.WentBack, events.PieceGenerated),
    *(events.PredictionMade, events.CallJudged),
)
_LOOK_S = 0.5


class TuiDisplay:
    """Shows a run in the terminal. When the view is left or fails, `fallback` takes over and the run
    continues.

    The fallback (plain progress on stderr) receives the milestones that the view had shown.
    """

    def __init__(self, fallback: Display | None = None) -> None:
        self._fallback = fallback or PlainDisplay(sys.stderr)

    def run(self, job: Callable[[Emit], T], control: Control) -> T:
        """Run `job` under the view. What it returns or raises comes out after the terminal is restored."""
        worker = _ThreadJob(job)
        if has_terminal():
            control.takes_answers = True
            with guarded(partial(_stop, control)):
                worker.start()
                fault = _watch(worker.feed, control)
            if fault is None and worker.feed.over:
                return worker.result()
            notice = "you left the live view; the run continues"
            if fault is not None:
                traceback.print_exception(fault, file=sys.stderr)
                notice = "the live view failed, which is a bug in rig; the run continues with plain progress"
            control.resume()
        else:
            worker.start()
            notice = "the live view needs a terminal for stdin and stderr; showing plain progress"
        return self._fallback.run(lambda emit: worker.follow(emit, notice), control)


def on_terminal(stream: TextIO) -> TuiDisplay:
    """The live view; what takes over from it writes to stderr, wherever `stream` leads."""
    return TuiDisplay()


class _ThreadJob(Generic[T]):
    """A job in a thread. Its events go to `feed`; those a fallback would need are remembered."""

    def __init__(self, job: Callable[[Emit], T]) -> None:
        self.feed = EventQueue()
        self._job = job
        self._milestones: list[Event] = []
        self._outcome: Future[T] = Future()
        # A daemon: when the main thread is made to die, nothing waits for the run, which loses one turn.
        self._thread = threading.Thread(target=self._work, name="run", daemon=True)
        self.start = self._thread.start

    def result(self) -> T:
        """Wait for the job; what it returned. Raises what it raised."""
        self._thread.join()
        return self._outcome.result()

    def follow(self, emit: Emit, notice: str) -> T:
        """Tell `emit` all milestones so far, then `notice`, then those to come, until the job is over."""
        told = 0
        announced = False
        while True:
            over = not self._thread.is_alive()
            while told < len(self._milestones):
                emit(self._milestones[told])
                told += 1
            if not announced:
                emit(events.Notice(notice))
                announced = True
            if over:
                return self.result()
            self.feed.drain()
            self.feed.wait(_LOOK_S)

    def _emit(self, event: Event) -> None:
        if not isinstance(event, _DETAILS):
            self._milestones.append(event)
        self.feed.emit(event)
        if isinstance(event, events.RunStarted) and event.finished_turns:
            # Here, in the run's own thread, as the store then holds what was played before and nothing else.
            # What the view would like to know is not a reason for a run to fail.
            with suppress(Exception):
                self.feed.emit(_played_before(Path(event.store), event.run))

    def _work(self) -> None:
        try:
            self._outcome.set_result(self._job(self._emit))
        except BaseException as error:
            self._outcome.set_exception(error)
        finally:
            self.feed.close()


def _played_before(store: Path, run: str) -> StoredBefore:
    """What the store holds of a run, and all of its conversations that are half played."""
    begun: list[Event] = []
    with Runs.open(store) as runs:
        stored = runs.get(run)
        cells = runs.cells(stored)
        for cell in cells:
            if cell.state == "started":
                where = Where(cell.arm, cell.conversation, cell.repeat)
                transcript = runs.transcript(stored, cell.conversation, cell.arm, cell.repeat)
                for turn in transcript.turns:
                    begun += turn_events(where, transcript, turn)
    return StoredBefore(tuple(cells), tuple(begun), stored.arms)


def _stop(control: Control) -> bool:
    """Ask the run to stop; whether it was asked before."""
    asked = control.is_stopped
    control.stop()
    return asked


def _watch(feed: EventQueue, control: Control) -> BaseException | None:
    """Show the run until the view ends; the fault that ended it, if one did."""
    try:
        app = RigApp(RunScreen(LiveRun(feed, control)))
        app.run()
    except Exception as error:
        return error
    return app.fault
