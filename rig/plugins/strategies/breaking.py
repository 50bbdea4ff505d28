"""Find where success breaks as a dial is turned: between which levels an arm loses a given amount.

All levels play the same conversations in the same random order. Every pair of levels is tested as two arms
are (`rig.plugins.strategies.sequential`), with the chance of a wrong finding shared among all pairs of all
curves. So the chance that any finding is wrong is at most alpha, in whatever order the levels are played and
however often one looks. Nothing is assumed about the shape of a curve.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, takewhile

from rig.core.calls import ByName
from rig.core.errors import counted
from rig.plugins.strategies.sequential import DifferenceBounds, Finding, LossTest
from rig.stats.rates import OutcomeBounds

Outcomes = Sequence[Sequence[OutcomeBounds]]
"""A level's outcomes: for each conversation in order, those of its repeats; empty if not yet played."""


@dataclass(frozen=True, slots=True)
class Break(ByName):
    """Where a curve breaks; levels are numbered from 0, the lowest.

    `holds` is the highest level below the break at which the loss against the lowest level is excluded.
    `high` is the lowest level at which the loss is shown. The loss sets in above `low`: either it is excluded
    at `low`, or it is shown between `low` and `high`. Each is None if nothing of the kind is found.
    """

    holds: int | None = None
    low: int | None = None
    high: int | None = None

    @classmethod
    def of(cls, findings: Mapping[tuple[int, int], Finding | None], levels: int) -> "Break":
        """Return the break that follows from the findings about pairs of levels, the lower level first."""
        high = next((level for level in range(1, levels) if findings.get((0, level)) == "shown"), None)
        below = range(1, levels if high is None else high)
        holds = max((level for level in below if findings.get((0, level)) == "excluded"), default=None)
        if high is None:
            return cls(holds)
        losing_from = (level for level in range(high) if findings.get((level, high)) == "shown")
        return cls(holds, max(holds or 0, *losing_from), high)

    def text(self, levels: Sequence[str], size: float) -> str:
        """Return the break in words; empty if nothing is found.

        As in `holds to 8k; loses at least 5 points between 8k and 16k`.
        """
        parts = [] if self.holds is None else [f"holds to {levels[self.holds]}"]
        if self.low is not None and self.high is not None:
            points = counted(100 * size, "point")
            parts.append(f"loses at least {points} between {levels[self.low]} and {levels[self.high]}")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class BreakTest:
    """A test of curves with `levels` levels for a loss of `size`, a fraction, against the lowest level.

    `alpha` is the chance of a wrong finding over all levels of all `curves`.
    """

    levels: int
    size: float
    alpha: float = 0.05
    curves: int = 1

    @property
    def of_pair(self) -> LossTest:
        """The test of a pair of levels."""
        return LossTest(self.size, None, self.alpha, self.curves * math.comb(self.levels, 2))

    def findings(self, outcomes: Sequence[Outcomes]) -> dict[tuple[int, int], Finding | None]:
        """Return what is found about each pair of levels that have outcomes, the lower level first."""
        return {
            (low, high): self.of_pair.finding(differences(outcomes[low], outcomes[high]))
            for low, high in combinations(range(self.levels), 2)
            if any(outcomes[low]) and any(outcomes[high])
        }

    def located(self, outcomes: Sequence[Outcomes]) -> Break:
        """Return where the curve breaks, judged by the outcomes so far."""
        return Break.of(self.findings(outcomes), self.levels)


def differences(lower: Outcomes, higher: Outcomes) -> DifferenceBounds:
    """Return the higher level less the lower, up to the first conversation that either has not played."""
    repeats = max(map(len, (*lower, *higher)), default=1)
    both = takewhile(lambda pair: min(map(len, pair)) == repeats > 0, zip(lower, higher, strict=True))
    return DifferenceBounds.of_outcomes(both, max(repeats, 1))


@dataclass(frozen=True, slots=True)
class Bisection:
    """The order in which the levels of a curve are played: both ends, then always the middle of what is left.

    `levels` is their number. `done` returns whether a level needs no further conversation, because its loss
    against the lowest is decided or it has played all.
    """

    levels: int
    done: Callable[[int], bool]

    def playing(self, located: Break, played: Sequence[int]) -> tuple[int, ...]:
        """Return the levels to play next, the lowest among them; none once the break is located.

        `played` are the levels that have begun.
        """
        last = self.levels - 1
        if not self.done(last):
            return 0, last
        if located.high is None and located.holds == last:
            return ()
        low, high = located.low or located.holds or 0, last if located.high is None else located.high
        inside = [level for level in range(low + 1, high) if not self.done(level)]
        begun = [level for level in inside if level in played]
        if not inside:
            return ()
        middle = begun[0] if begun else min(inside, key=lambda level: (abs(2 * level - low - high), level))
        return 0, middle, high
