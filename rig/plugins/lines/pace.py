"""How much longer a run will take, and which arms have answered at all, for every display."""

from collections.abc import Callable, Iterable
from math import sqrt
from statistics import fmean, stdev
from time import monotonic
from typing import NamedTuple, TypeAlias

from rig.core import events
from rig.core.errors import MACHINE
from rig.core.events import Event, Speed, Where
from rig.show.progress import Progress

NOT_EVALUATED = "not evaluated"


class Remaining(NamedTuple):
    """The seconds left with their 95% interval; without an interval, all three are the same."""

    seconds: float
    low: float
    high: float

    @classmethod
    def exactly(cls, seconds: float) -> "Remaining":
        """Return a time without an interval."""
        return cls(seconds, seconds, seconds)


_Unit: TypeAlias = tuple[str, int]
"""A conversation and one of its turns, or -1 for all of it."""


class TimedProgress(Progress):
    """The progress of a run and its pace. Times are in seconds by `clock`.

    Earlier work of a resumed run does not count towards the pace. What is skipped, or left out because an
    arm was decided, does not count as remaining.

    Time is estimated from tokens: the rest is expected to need the tokens that the same turns needed in other
    arms or repeats, or else as many as turns did so far, at the pace of the arm that is being played.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._now = clock
        self._skipped = 0
        self._speed: dict[int, Speed] = {}
        self._tokens: dict[Where, float] = {}
        self._needed: dict[_Unit, list[float]] = {}
        self._made: dict[tuple[int, int], set[_Unit]] = {}
        self._seconds: dict[int, list[float]] = {}
        self._last: float | None = None
        self._at: Where | None = None

    def tell(self, event: Event) -> None:
        super().tell(event)
        match event:
            case events.ArmStarted():
                self._last = None  # loading a model is not a measure of turns
            case events.TurnStarted() if self._last is None:
                self._last = self._now()
            case events.TurnFinished():
                self._count_tokens(event)
                if self.unit == "turns":
                    self._finish(event.where, event.turn)
            case events.ConversationFinished() if self.unit == "conversations":
                self._finish(event.where, -1)
            case events.ConversationSkipped():
                self._skipped += event.turns_left if self.unit == "turns" else 1
            case events.EvidenceMoved():
                self._skipped += event.turns_left if self.unit == "turns" else event.conversations_left
            case _:
                pass

    def _count_tokens(self, event: events.TurnFinished) -> None:
        """Count a turn's tokens; prompt tokens are weighted by their time relative to generated ones."""
        before, now = self._speed.get(event.where.arm, Speed()), event.speed
        self._speed[event.where.arm] = now
        read = now.prompt_tokens - now.cached_tokens - before.prompt_tokens + before.cached_tokens
        prefill, decode = now.prefill_rate, now.decode_rate
        read_time = read * decode / prefill if prefill and decode else 0
        tokens = now.completion_tokens - before.completion_tokens + read_time
        self._tokens[event.where] = self._tokens.get(event.where, 0) + tokens

    def _finish(self, where: Where, turn: int) -> None:
        now = self._now()
        unit = where.conversation, turn
        self._needed.setdefault(unit, []).append(max(self._tokens.pop(where, 0), 1))
        self._made.setdefault((where.arm, where.repeat), set()).add(unit)
        self._seconds.setdefault(where.arm, []).append(now - (now if self._last is None else self._last))
        self._last, self._at = now, where

    @property
    def remaining(self) -> Remaining | None:
        """The time left, None before anything has finished."""
        if self._at is None:
            return None
        left = self.total - self.done - self._skipped
        seconds = self._seconds[self._at.arm]
        needed = {unit: fmean(tokens) for unit, tokens in self._needed.items()}
        by_repeat = [units for (arm, _), units in self._made.items() if arm == self._at.arm]
        spent = sum(needed[unit] for units in by_repeat for unit in units)
        here = self._made[self._at.arm, self._at.repeat]
        coming = [tokens for unit, tokens in needed.items() if unit not in here] or [*needed.values()]
        passed = 0.0 if self._last is None else self._now() - self._last
        # A turn that takes longer than others suggests that later ones will, too.
        took = max(sum(seconds), (sum(seconds) + passed) * len(seconds) / (len(seconds) + 1))
        expected = took / spent * fmean(coming) * left
        # A turn under way counts down, but not below what the turns after it take.
        expected -= min(passed, expected / left if left else 0.0)
        if len(seconds) < 2 or not left:
            return Remaining.exactly(expected)
        spread = 1.96 * stdev(seconds) * sqrt(left + left**2 / len(seconds))
        return Remaining(expected, max(expected - spread, 0.0), expected + spread)


class Answered:
    """Which arms have answered at all. The numbers of an arm mean nothing if only the machine failed it."""

    def __init__(self) -> None:
        self._roles: dict[tuple[int, str], bool] = {}
        self._before = False
        self._sure: frozenset[int] = frozenset()

    def stored(self, evaluated: Iterable[int]) -> None:
        """Record which arms answered before a run was resumed."""
        self._before, self._sure = False, frozenset(evaluated)

    def tell(self, event: Event) -> None:
        """Record an event."""
        match event:
            case events.RunStarted():
                # There are no events for the predictions of earlier starts.
                self._before, self._roles, self._sure = event.finished_turns > 0, {}, frozenset()
            case events.PredictionMade():
                role = event.where.arm, event.role
                answered = event.prediction.error not in MACHINE
                self._roles[role] = answered or self._roles.get(role, False)
            case _:
                pass

    def evaluated(self, arm: int) -> bool:
        """Return whether every role that an arm has played has answered at least once."""
        told = (answered for (number, _), answered in self._roles.items() if number == arm)
        return self._before or arm in self._sure or all(told)
