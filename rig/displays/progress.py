"""How far a run is, and how long it will still take. Every display that shows time left has it from here."""

from collections.abc import Callable
from time import monotonic

from rig.events import ConversationSkipped, Event, RunStarted, TurnFinished, TurnStarted


class Progress:
    """Turns done and to be done over all arms, in the order of events. Times are in seconds by `clock`.

    A resumed run counts the turns of earlier starts as done, but not as a measure of its pace. Turns of
    conversations that are skipped are not waited for.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._now = clock
        self._began: float | None = None
        self._before = 0
        self._skipped = 0
        self.done = 0
        self.total = 0

    def tell(self, event: Event) -> None:
        """Take one event in."""
        match event:
            case RunStarted():
                turns = sum(conversation.turns for conversation in event.conversations)
                self.total = turns * len(event.arms) * event.repeats
                self.done = self._before = event.finished_turns
            case TurnStarted() if self._began is None:
                self._began = self._now()
            case TurnFinished():
                self.done += 1
            case ConversationSkipped():
                self._skipped += event.turns_left
            case _:
                pass

    @property
    def remaining_s(self) -> float | None:
        """Seconds left if the other turns take as long as those so far, None before the first."""
        made = self.done - self._before
        if self._began is None or made <= 0:
            return None
        return (self._now() - self._began) / made * (self.total - self.done - self._skipped)
