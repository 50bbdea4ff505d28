"""The bus of a run: what happens is said once, and goes to every subscriber."""

from collections.abc import Sequence
from time import perf_counter

from rig.core.events import Emit, Event
from rig.running.control import Control


class Bus:
    """Passes the events of a run to its subscribers, in order. `seconds` is how long they took."""

    def __init__(self, subscribers: Sequence[Emit], control: Control) -> None:
        self._subscribers = tuple(subscribers)
        self._control = control
        self.seconds = 0.0

    def emit(self, event: Event) -> None:
        """Pass on an event."""
        began = perf_counter()
        for subscriber in self._subscribers:
            subscriber(event)
        self.seconds += perf_counter() - began

    def emit_unless_stopped(self, event: Event) -> None:
        """Pass on an event within a turn. Raises Stopped, which abandons the turn, if the run was stopped."""
        self._control.check()
        self.emit(event)
