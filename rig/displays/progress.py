"""How far a run is, and how long it will still take. Every display that shows time left has it from here."""

from collections.abc import Callable
from time import monotonic

from rig.events import (
    ConversationFinished,
    ConversationSkipped,
    Event,
    RunStarted,
    TurnFinished,
    TurnStarted,
)


class Progress:
    """What is done and to be done over all arms, in the order of events. Times are in seconds by `clock`.

    It counts turns, or `conversations` where nobody knows beforehand how many turns there will be. A resumed
    run counts what earlier starts did as done, but not as a measure of its pace. What is skipped is not
    waited for.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._now = clock
        self._began: float | None = None
        self._before = 0
        self._skipped = 0
        self.unit = "turns"
        self.done = 0
        self.total = 0

    def tell(self, event: Event) -> None:
        """Take one event in."""
        match event:
            case RunStarted():
                self._start(event)
            case TurnStarted() if self._began is None:
                self._began = self._now()
            case TurnFinished() if self.unit == "turns":
                self.done += 1
            case ConversationFinished() if self.unit == "conversations":
                self.done += 1
            case ConversationSkipped():
                self._skipped += event.turns_left if self.unit == "turns" else 1
            case _:
                pass

    def _start(self, event: RunStarted) -> None:
        turns = [conversation.turns for conversation in event.conversations]
        if not all(turns):
            self.unit, turns = "conversations", [1] * len(turns)
        self.total = sum(turns) * len(event.arms) * event.repeats
        self.done = event.finished_turns if self.unit == "turns" else event.finished_conversations
        self._before = self.done

    @property
    def remaining_s(self) -> float | None:
        """Seconds left if the others take as long as those so far, None before the first."""
        made = self.done - self._before
        if self._began is None or made <= 0:
            return None
        return (self._now() - self._began) / made * (self.total - self.done - self._skipped)
