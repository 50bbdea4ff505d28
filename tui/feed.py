"""The way from the thread that runs to the thread that paints: cheap to write, drained now and then."""

import threading

from rig.events import Event, PieceGenerated
from tui.state import Recalled


class Feed:
    """A thread-safe queue of events. Pieces of one step are merged while they wait.

    Merging keeps the queue small however long the painting side is held up, by a stopped terminal or a slow
    line; a run never waits for its view.
    """

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._waiting: list[Event | Recalled] = []
        self._closed = False

    def emit(self, event: Event | Recalled) -> None:
        """Take an event, from any thread."""
        with self._lock:
            last = self._waiting[-1] if self._waiting else None
            if (
                isinstance(event, PieceGenerated)
                and isinstance(last, PieceGenerated)
                and (last.where, last.turn, last.step, last.forced)
                == (event.where, event.turn, event.step, event.forced)
            ):
                self._waiting[-1] = PieceGenerated(
                    event.where,
                    event.turn,
                    event.step,
                    last.text + event.text,
                    last.tokens + event.tokens,
                    event.forced,
                )
            else:
                self._waiting.append(event)
            self._lock.notify()

    def close(self) -> None:
        """Say that no event will follow."""
        with self._lock:
            self._closed = True
            self._lock.notify()

    def drain(self) -> list[Event | Recalled]:
        """All waiting events, in order; the queue is empty afterwards."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        return waiting

    def wait(self, timeout_s: float) -> None:
        """Return when there is something to drain, when the queue is closed, or after `timeout_s`."""
        with self._lock:
            self._lock.wait_for(lambda: self._waiting or self._closed, timeout_s)

    @property
    def over(self) -> bool:
        """Whether the queue is closed and drained."""
        with self._lock:
            return self._closed and not self._waiting
