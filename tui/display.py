"""The live view as a display: the application has the main thread, and the run has another.

It also handles signals and hang-ups, and restores the line discipline of the terminal even if the application
cannot: when it is killed, runs out of memory, or crashes in C.
"""

import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Generic, TextIO, TypeVar

from rig import events
from rig.displays.base import Display, handled
from rig.displays.lines import PlainDisplay
from rig.events import Emit, Event, Where
from rig.running.control import Control
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


LEAVE = (
    "\x1b[?2026l"  # end a synchronized update
    "\x1b[<u"  # keyboard protocol
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse
    "\x1b[?2004l\x1b[?2048l\x1b[?1004l"  # bracketed paste, resizes and focus told in band
    "\x1b[?7h\x1b[0m"  # wrap long lines, plain colours
    "\x1b[?1049l\x1b[?25h"  # the screen from before, the cursor
)
"""The sequences that undo the modes that Textual's Linux driver sets in a terminal."""

# This process gets the terminal's signals as well; it ignores them, and reads until the application is gone.
_SCRIPT = """
trap '' HUP INT QUIT TERM TTOU TSTP
read -r over || printf %s "$1" >&2
stty "$2" <&"$3"
"""


@contextmanager
def terminal_guard(terminal: int, painted: int) -> Iterator[None]:
    """A context with a guard: a process that restores the terminal when the context or this process ends.

    It always restores the line discipline. The application resets other modes itself unless it dies, so the
    guard resets them only then. `terminal` and `painted` are the file descriptors of the terminal that keys
    are read from and of the one that is painted on. Without sh and stty there is no guard.
    """
    process = None
    with suppress(OSError):
        process = _start(terminal, painted)
    try:
        yield
    finally:
        if process is not None and process.stdin is not None:
            with suppress(OSError):
                os.write(process.stdin.fileno(), b"over\n")
            process.stdin.close()
            process.wait()


def _start(terminal: int, painted: int) -> subprocess.Popen[bytes]:
    modes = subprocess.run(["stty", "-g"], stdin=terminal, capture_output=True, text=True, check=False)
    keys = os.dup(terminal)  # its number is none of the three that are redirected
    try:
        return subprocess.Popen(
            ["sh", "-c", _SCRIPT, "rig", LEAVE, modes.stdout.strip(), str(keys)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=painted,
            pass_fds=(keys,),
        )
    finally:
        os.close(keys)


def has_terminal() -> bool:
    """Whether there is a terminal to read keys from and to paint on.

    The application reads keys from stdin and, so that stdout can be piped, paints on stderr.
    """
    return all(stream is not None and stream.isatty() for stream in (sys.__stdin__, sys.__stderr__))


@contextmanager
def guarded(stop: Callable[[], bool]) -> Iterator[None]:
    """A context in which signals and the loss of the terminal end the view, and the terminal is restored.

    SIGINT and SIGTERM call `stop`, which returns whether it had been asked to stop before.
    """
    assert sys.__stdin__ is not None
    assert sys.__stderr__ is not None
    keys, painted = sys.__stdin__.fileno(), sys.__stderr__.fileno()
    with signals_stop(stop), hangup_kills(), terminal_guard(keys, painted):
        yield


def signals_stop(stop: Callable[[], bool]) -> AbstractContextManager[None]:
    """A context in which SIGINT and SIGTERM call `stop`; if it returns true, they end the view as well.

    The application notices by itself that the run has stopped, and restores the terminal.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        if stop():
            raise KeyboardInterrupt

    return handled(handle, signal.SIGINT, signal.SIGTERM)


@contextmanager
def hangup_kills() -> Iterator[None]:
    """A context in which the loss of the terminal kills the process; a killed run can be resumed.

    Without its terminal, the application would spin. SIGHUP reports the loss, but a parent process may have
    set it to be ignored, and it is only sent for the controlling terminal; so stdin is watched as well.
    """
    assert sys.__stdin__ is not None
    terminal = select.poll()
    terminal.register(sys.__stdin__.fileno(), 0)
    left = threading.Event()

    def watch() -> None:
        while not left.is_set():
            for _, told in terminal.poll(_LOOK_S * 1000):
                if told & select.POLLHUP and not left.is_set():
                    os.kill(os.getpid(), signal.SIGHUP)
                return

    with handled(signal.SIG_DFL, signal.SIGHUP):
        threading.Thread(target=watch, name="terminal", daemon=True).start()
        try:
            yield
        finally:
            left.set()
