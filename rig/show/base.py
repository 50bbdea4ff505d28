"""What a display is, how signals end what it shows, and the display that shows nothing."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, NoReturn, Protocol, TextIO, TypeAlias, TypeVar

from rig.core.events import Emit, Event
from rig.running.control import Control

T = TypeVar("T")


class Display(Protocol):
    """What shows a run: it owns the main thread while a job runs, and receives the job's events."""

    def run(self, job: Callable[[Emit], T], control: Control) -> T:
        """Run the job to the end, here or in a thread, and return its result or raise what it raised."""


Handler: TypeAlias = Callable[[int, FrameType | None], Any] | signal.Handlers


@contextmanager
def handled(handler: Handler, *signals: int) -> Iterator[None]:
    """A context in which `handler` handles these signals. Outside the main thread it changes nothing."""
    if current_thread() is not main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def stopping(control: Control) -> AbstractContextManager[None]:
    """A context in which SIGINT asks the run to stop; a second SIGINT ends the process.

    Killing it is harmless to the store: as with stopping, only the turn in progress is lost.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        control.stop()
        print(f"\n{control.STOPPING}", file=sys.stderr, flush=True)

    return handled(stop, signal.SIGINT)


def endings_as_exceptions() -> AbstractContextManager[None]:
    """A context in which SIGTERM and SIGHUP raise SystemExit, so that the process can clean up."""

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        sys.exit(128 + number)

    return handled(leave, signal.SIGTERM, signal.SIGHUP)


class NoDisplay:
    """The display that shows nothing."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Ignore the stream, which other displays write lines to."""

    def run(self, job: Callable[[Emit], T], control: Control) -> T:
        with stopping(control):
            return job(_ignore)


def _ignore(event: Event) -> None:
    """Ignore an event. Tests of kills and full disks listen here."""
