"""The live view as a display: the application has the main thread, and the run has another."""

import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Generic, TextIO, TypeVar

from rig.core import events
from rig.core.events import Emit, Event, Where
from rig.plugins.lines.displays import PlainDisplay
from rig.running.control import Control
from rig.show.base import Display, handled
from rig.store import Runs
from tui.app import RigApp
from tui.live.live_run import EventQueue, LiveRun
from tui.live.state import StoredBefore
from tui.screens.run import RunScreen
from tui.stored.record import turn_events

T = TypeVar("T")

_DETAILS = (
    *(events.TurnStarted, events.WentBack, events.PieceGenerated),
    *(events.PredictionMade, events.CallJudged),
)
_LOOK_S = 0.5


class TuiDisplay:
    """The display that shows a run in the terminal.

    If the view is left or fails, the run continues and `fallback` (by default plain progress on stderr) shows
    it. The fallback also receives the milestones that the view had shown.
    """

    def __init__(self, fallback: Display | None = None) -> None:
        self._fallback = fallback

    def run(self, job: Callable[[Emit], T], control: Control) -> T:
        """Run `job` under the view; once the terminal is restored, return its result or raise its error."""
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
        fallback = self._fallback or PlainDisplay(sys.stderr, worker.clock)
        return fallback.run(lambda emit: worker.follow(emit, notice), control)


def on_terminal(stream: TextIO) -> TuiDisplay:
    """Return the live view. Its fallback writes to stderr, whatever `stream` is."""
    return TuiDisplay()


class _ThreadJob(Generic[T]):
    """A job in a thread. Its events go to `feed`; those that a fallback would need are kept."""

    def __init__(self, job: Callable[[Emit], T]) -> None:
        self.feed = EventQueue()
        self._job = job
        self._milestones: list[tuple[float, Event]] = []
        self._told_s: float | None = None
        self._outcome: Future[T] = Future()
        # A daemon: if the main thread is killed, nothing waits for the run, which loses one turn.
        self._thread = threading.Thread(target=self._work, name="run", daemon=True)
        self.start = self._thread.start

    def result(self) -> T:
        """Wait for the job, and return its result or raise its error."""
        self._thread.join()
        return self._outcome.result()

    def clock(self) -> float:
        """Return the time in seconds at which the milestone happened that is being emitted, else now."""
        return time.monotonic() if self._told_s is None else self._told_s

    def follow(self, emit: Emit, notice: str) -> T:
        """Emit all milestones so far, then `notice`, then later milestones until the job is over."""
        told = 0
        announced = False
        while True:
            over = not self._thread.is_alive()
            while told < len(self._milestones):
                self._told_s, event = self._milestones[told]
                emit(event)
                told += 1
            self._told_s = None
            if not announced:
                emit(events.Notice(notice))
                announced = True
            if over:
                return self.result()
            self.feed.drain()
            self.feed.wait(_LOOK_S)

    def _emit(self, event: Event) -> None:
        if not isinstance(event, _DETAILS):
            self._milestones.append((time.monotonic(), event))
        self.feed.emit(event)
        if isinstance(event, events.RunStarted) and event.finished_turns:
            # In the run's own thread, at this point, the store holds exactly what was played before.
            # The run must not fail because this cannot be read for the view.
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
    """Read what the store holds of a run, including its conversations that are half played."""
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
    """Ask the run to stop, and return whether it had been asked before."""
    asked = control.is_stopped
    control.stop()
    return asked


def _watch(feed: EventQueue, control: Control) -> BaseException | None:
    """Show the run until the view ends, and return the error that ended it, if any."""
    try:
        app = RigApp(RunScreen(LiveRun(feed, control)))
        app.run()
    except Exception as error:
        return error
    return app.fault


def has_terminal() -> bool:
    """Whether there is a terminal to read keys from and to paint on.

    The application reads keys from stdin and, so that stdout can be piped, paints on stderr.
    """
    return all(stream is not None and stream.isatty() for stream in (sys.__stdin__, sys.__stderr__))


@contextmanager
def guarded(stop: Callable[[], bool]) -> Iterator[None]:
    """A context in which SIGINT and SIGTERM call `stop`; if it returns true, they end the view as well.

    The application notices by itself that the run has stopped, and restores the terminal. The loss of the
    terminal kills the process, even if its parent ignores that; a killed run can be resumed.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        if stop():
            raise KeyboardInterrupt

    with handled(handle, signal.SIGINT, signal.SIGTERM), handled(signal.SIG_DFL, signal.SIGHUP):
        yield
