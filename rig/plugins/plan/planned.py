"""How much has to be played for a verdict, and what a suite can show, before anything is played."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

from rig.compare.arms import ComparisonOptions, choose
from rig.compare.compare import compare_chosen
from rig.compare.findings import ArmResult
from rig.compare.recommendation import suites_of
from rig.core.calls import ByName
from rig.core.errors import RigError, counted
from rig.core.metrics import POWER
from rig.stats.power import Spread
from rig.stats.repeats import MOST_REPEATS
from rig.store import Runs

MOST = 100_000
"""The most conversations that a plan may have."""
_FEWEST = 10
"""The fewest conversations in common with an earlier run that shows how many flip."""


class KnownSpread(NamedTuple):
    """A spread, and where it comes from."""

    spread: Spread
    source: str


@dataclass(frozen=True, slots=True)
class PlannedSuite(ByName):
    """A suite by name, with its conversations and the turns in them, 0 if they are not made yet."""

    name: str
    conversations: int
    turns: int


@dataclass(frozen=True, slots=True)
class VerdictPlan(ByName):
    """What it takes to find a `loss` with a `power`, both fractions, and what is at hand.

    `detectable` is the smallest loss that the conversations at hand, with `repeats`, would find. To find
    `loss`, `conversations_needed` are enough, and so are `repeats_needed` of those at hand; either is None if
    no number is. `larger` is the smallest suite of the method that is large enough.
    """

    conversations: int
    repeats: int
    arms: int
    loss: float
    power: float
    spread: Spread
    source: str
    detectable: float | None
    conversations_needed: int | None
    repeats_needed: int | None
    larger: PlannedSuite | None

    @property
    def is_enough(self) -> bool:
        """Whether the conversations at hand are enough to find the loss."""
        return self.detectable is not None and self.detectable <= self.loss


def conversations_needed(
    spread: Spread, loss: float, alpha: float, repeats: int = 1, power: float = POWER
) -> int | None:
    """Return how many conversations it takes to find such a loss; None if more than `MOST`."""
    if spread.flips + loss > 1:
        return None
    low, high = 1, 2
    while spread.power(high, loss, alpha, repeats) < power:
        low, high = high, 2 * high
        if low > MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        enough = spread.power(middle, loss, alpha, repeats) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high if high <= MOST else None


def plan_verdict(
    method: str,
    conversations: int,
    arms: int,
    loss: float,
    known: KnownSpread,
    *,
    repeats: int = 1,
    power: float,
    alpha: float,
) -> VerdictPlan:
    """Plan a verdict on each of these arms except the first, by the tests of `rig compare`.

    `alpha` is divided among the arms, as the correction for several of them does at worst.
    """
    spread, level = known.spread, alpha / max(arms - 1, 1)
    # Identical repeats say nothing new, even if a test counts them.
    most = MOST_REPEATS if spread.within and conversations > 1 else 0
    enough = (
        count
        for count in range(repeats, most + 1)
        if spread.power(conversations, loss, level, count) >= power
    )
    needed = conversations_needed(spread, loss, level, repeats, power)
    suites = (PlannedSuite(*suite) for suite in suites_of(method))
    larger = [suite for suite in suites if needed and suite.conversations >= needed > conversations]
    return VerdictPlan(
        conversations,
        repeats,
        max(arms, 2),
        loss,
        power,
        spread,
        known.source,
        spread.detectable(conversations, level, repeats, power),
        needed,
        next(enough, None),
        min(larger, key=lambda suite: suite.conversations, default=None),
    )


def earlier_spread(
    runs: Runs, method: str, conversations: Collection[str], address: str | None = None
) -> KnownSpread | None:
    """Return how many conversations flip, by the run at this address, or the newest suitable one.

    A run is suitable if it is of the same method, has some conversations in common, and was played by two
    arms or with repeats. Raises RigError if the run at the address shows no flips.
    """
    if address is not None:
        spread = _spread_of(runs, [address])
        if spread is None:
            raise RigError(f"{address}: one arm without repeats does not tell what flips")
        return spread
    stored = sorted((runs.get(run, sums=False) for run in runs.ids()), key=lambda run: run.created)
    for run in reversed(stored):
        shared = set(run.conversations).intersection(conversations)
        told = run.declaration.decides and not run.begun and run.declaration.method == method
        if told and len(shared) >= _FEWEST and (len(run.arms) > 1 or run.repeats > 1):
            try:
                if spread := _spread_of(runs, [run.id]):
                    return spread
            except RigError:
                continue  # nothing in it can be compared
    return None


def _spread_of(runs: Runs, addresses: Sequence[str]) -> KnownSpread | None:
    """Return the median flips between the first arm and the others, or what a single arm's repeats decide."""
    options = ComparisonOptions(across_settings=True, one_will_do=True, resamples=100)
    comparison = compare_chosen(runs, choose(runs, addresses), options)
    baseline, *others = comparison.arms
    spreads = [spread for arm in others or [baseline] if (spread := _between(baseline, arm)) is not None]
    if not spreads or (not others and not baseline.reliability):
        return None
    spread = Spread(median(one.flips for one in spreads), fmean(one.within for one in spreads))
    if not others:
        spread = Spread(2 * spread.within, spread.within)
    played = counted(len(baseline.conversations), "conversation")
    labels = [arm.label for arm in comparison.arms]
    whose = " and ".join(labels) if len(labels) < 3 else counted(len(labels), "arm")
    return KnownSpread(spread, f"run {baseline.run}: {whose} in {played}")


def _between(baseline: ArmResult, arm: ArmResult) -> Spread | None:
    """Return the spread over the conversations that both arms have played; None if there are none."""
    before = {result.conversation: result for result in baseline.conversations}
    both = [(one, result) for result in arm.conversations if (one := before.get(result.conversation))]
    sides = ([(result.successes, result.repeats) for result in side] for side in zip(*both, strict=True))
    return spread_of(*sides) if both else None


def spread_of(before: Sequence[tuple[int, int]], after: Sequence[tuple[int, int]]) -> Spread:
    """Estimate the spread from two arms' pairs of successes and repeats, one pair for each conversation.

    Both estimates are unbiased; conversations that were played once say nothing about `within`.
    """
    right, repeats = np.array([before, after], dtype=np.float64).transpose(2, 0, 1)
    shares = right / repeats
    flips = float((shares[0] * (1 - shares[1]) + shares[1] * (1 - shares[0])).mean())
    often = repeats > 1
    variances = (shares * (1 - shares))[often] * repeats[often] / (repeats[often] - 1)
    return Spread(flips, min(float(variances.mean()) if variances.size else 0.0, flips / 2))
