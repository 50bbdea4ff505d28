"""How far a run is, how long it will still take, and which arms have answered at all: for every display."""

from collections.abc import Callable, Iterable
from time import monotonic

from rig.errors import MACHINE
from rig.events import (
    ConversationFinished,
    ConversationSkipped,
    Event,
    EvidenceMoved,
    PredictionMade,
    RunStarted,
    TurnFinished,
    TurnStarted,
)

NOT_EVALUATED = "not evaluated"


class Progress:
    """What is done and to be done over all arms, in the order of events. Times are in seconds by `clock`.

    It counts turns, or `conversations` where nobody knows beforehand how many turns there will be. A resumed
    run counts what earlier starts did as done, but not as a measure of its pace. What is skipped, or left out
    as an arm was decided on, is not waited for.
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
            case EvidenceMoved():
                self._skipped += event.turns_left if self.unit == "turns" else event.conversations_left
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


class Answered:
    """Which arms have answered at all: of one that only the machine has failed, no number says anything."""

    def __init__(self) -> None:
        self._roles: dict[tuple[int, str], bool] = {}
        self._before = False
        self._sure: frozenset[int] = frozenset()

    def stored(self, evaluated: Iterable[int]) -> None:
        """Know which arms answered before a run was resumed."""
        self._before, self._sure = False, frozenset(evaluated)

    def tell(self, event: Event) -> None:
        """Take one event in."""
        match event:
            case RunStarted():
                # Of what an earlier start left, its predictions are not told.
                self._before, self._roles, self._sure = event.finished_turns > 0, {}, frozenset()
            case PredictionMade():
                role = event.where.arm, event.role
                answered = event.prediction.error not in MACHINE
                self._roles[role] = answered or self._roles.get(role, False)
            case _:
                pass

    def evaluated(self, arm: int) -> bool:
        """Whether every role of an arm that spoke has answered at least once."""
        told = (answered for (number, _), answered in self._roles.items() if number == arm)
        return self._before or arm in self._sure or all(told)
