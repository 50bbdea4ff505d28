"""What repeats show: how often all of k attempts at a conversation succeed, and how often any does."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.core.calls import ByName
from rig.stats.rates import Estimate, Vector, interval

MOST_REPEATS = 16
"""The largest k that is reported; a suite rarely has enough repeats for more."""

Counted = NDArray[np.int64]
"""A number for each conversation."""


@dataclass(frozen=True, slots=True)
class Reliability(ByName):
    """How often all of k attempts at a conversation succeed (pass^k), and how often any does (pass@k)."""

    k: int
    all_pass: Estimate
    any_passes: Estimate


@dataclass(frozen=True, slots=True)
class RepeatOutcomes(ByName):
    """What repeats show about an arm, over the conversations that were played more than once.

    `flaky` names those that succeeded in some repeats and failed in others.
    """

    reliability: tuple[Reliability, ...]
    flaky: tuple[str, ...]

    @classmethod
    def of(cls, outcomes: Iterable[tuple[str, bool]]) -> "RepeatOutcomes":
        """Summarise outcomes, each a conversation's name and whether one repeat of it succeeded."""
        rows: dict[str, list[bool]] = {}
        for name, succeeded in outcomes:
            rows.setdefault(name, []).append(succeeded)
        several = {name: row for name, row in rows.items() if len(row) > 1}
        attempts = np.array([len(row) for row in several.values()], np.int64)
        successes = np.array([sum(row) for row in several.values()], np.int64)
        flaky = (name for name, row in several.items() if 0 < sum(row) < len(row))
        return cls(tuple(reliability(attempts, successes)), tuple(flaky))


def all_pass(attempts: Counted, successes: Counted, k: int) -> Vector:
    """Return pass^k of each conversation: the share of all choices of k of its attempts that all succeeded.

    An unbiased estimate of p^k (Yao and others, arXiv 2406.12045). NaN where there are fewer than k attempts.
    """
    steps = np.arange(k)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.prod((successes[:, None] - steps) / (attempts[:, None] - steps), axis=1)
    return np.where(attempts >= k, shares, np.nan)


def any_passes(attempts: Counted, successes: Counted, k: int) -> Vector:
    """Return pass@k of each conversation: the share of all choices of k attempts in which any succeeded.

    An unbiased estimate of 1 - (1 - p)^k (Chen and others, arXiv 2107.03374).
    """
    return 1.0 - all_pass(attempts, attempts - successes, k)


def reliability(attempts: Counted, successes: Counted, alpha: float = 0.05) -> Iterator[Reliability]:
    """Yield means over conversations at level 1 - `alpha`, for k from 1 to the fewest attempts of any.

    Conversations are what was sampled, so the interval is that of `rates.interval`; a conversation counts for
    no more than the groups of k that its attempts make. A bootstrap over conversations shrinks to a point
    where nearly all succeed: docs/lab/statistics.md has both.
    """
    one = np.ones(len(successes))
    fewest = int(attempts.min()) if len(attempts) else 0
    for k in range(1, min(fewest, MOST_REPEATS) + 1):
        groups = float((attempts // k).sum())
        yield Reliability(
            k,
            interval(all_pass(attempts, successes, k), one, alpha, groups),
            interval(any_passes(attempts, successes, k), one, alpha, groups),
        )
