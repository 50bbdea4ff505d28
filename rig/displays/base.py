"""What a display is, how signals end what it shows, and the display that shows nothing."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, NoReturn, Protocol, TextIO, TypeAlias, TypeVar

from rig.events import Emit, Event
from rig.running.control import Control

T = TypeVar("T")


class Display(Protocol):
    """Owns the main thread while a job runs, and receives its events."""

    def run(self, job: Callable[[Emit], T], control: Control) -> T:
        """Run the job to the end, here or in a thread, and return its result or raise what it raised."""


Handler: TypeAlias = Callable[[int, FrameType | None], Any] | signal.Handlers


@contextmanager
def handled(handler: Handler, *signals: int) -> Iterator[None]:
    """While this lasts, these signals have another handler. Only the main thread gets signals, and can."""
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
    """While this lasts, SIGINT asks the run to stop; once asked, SIGINT is deadly again.

    A kill is harmless to the store: it loses the turn in progress, as stopping does.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        control.stop()
        print(f"\n{control.STOPPING}", file=sys.stderr, flush=True)

    return handled(stop, signal.SIGINT)


def endings_as_exceptions() -> AbstractContextManager[None]:
    """Let a process that has to end clean up what it began."""

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        sys.exit(128 + number)

    return handled(leave, signal.SIGTERM, signal.SIGHUP)


class NoDisplay:
    """Shows nothing."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Leave alone the stream that other displays write lines to."""

    def run(self, job: Callable[[Emit], T], control: Control) -> T:
        with stopping(control):
            return job(_ignore)


def _ignore(event: Event) -> None:
    """Tests of kills and full disks listen here."""
