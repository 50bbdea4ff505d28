"""The queue from the thread that runs to the thread that paints: cheap to write, drained now and then."""

import threading
from dataclasses import replace

from rig.events import Event, PieceGenerated, Where
from tui.live.state import StoredBefore


class EventQueue:
    """A thread-safe queue of events. Pieces of one step are merged while they wait.

    Merging keeps the queue small however long the painting side is held up, by a stopped terminal or a slow
    line; a run never waits for its view. The order within a conversation is kept, and that of everything but
    pieces.
    """

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._waiting: list[Event | StoredBefore] = []
        self._pieces: dict[Where, int] = {}
        """Where the text of each conversation may be added to: its last event waits there, and is a piece."""
        self._closed = False

    def emit(self, event: Event | StoredBefore) -> None:
        """Take an event, from any thread."""
        with self._lock:
            if isinstance(event, PieceGenerated):
                self._add_piece(event)
            else:
                where = getattr(event, "where", None)
                if isinstance(where, Where):
                    self._pieces.pop(where, None)
                else:
                    self._pieces.clear()
                self._waiting.append(event)
            self._lock.notify()

    def _add_piece(self, event: PieceGenerated) -> None:
        place = self._pieces.get(event.where)
        last = None if place is None else self._waiting[place]
        if (
            place is not None
            and isinstance(last, PieceGenerated)
            and (last.turn, last.step, last.thought) == (event.turn, event.step, event.thought)
        ):
            text, tokens = last.text + event.text, last.tokens + event.tokens
            forced = last.forced and event.forced
            self._waiting[place] = replace(event, text=text, tokens=tokens, forced=forced)
        else:
            self._pieces[event.where] = len(self._waiting)
            self._waiting.append(event)

    def close(self) -> None:
        """Say that no event will follow."""
        with self._lock:
            self._closed = True
            self._lock.notify()

    def drain(self) -> list[Event | StoredBefore]:
        """All waiting events, in order; the queue is empty afterwards."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
            self._pieces.clear()
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
