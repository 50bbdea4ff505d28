"""What a comparison can find: the power of its tests, the loss that a suite detects, what a verdict needs.

A verdict is planned with the very tests that it will rest on (`rig.stats.paired`): McNemar's where each
conversation is played once, the interval's own with repeats.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np
import scipy
from numpy.typing import NDArray

from rig.core.calls import ByName
from rig.core.metrics import POWER


def mcnemar_power(conversations: int, gain: float, loss: float, alpha: float) -> float:
    """Return how often the exact two-sided McNemar test finds a difference.

    A conversation is won with probability `gain`, lost with probability `loss`, and otherwise ends alike.
    Computed by summing over all outcomes, not by a normal approximation, which is too hopeful for small
    suites. Source: Connor, Biometrics 43 (1987), for the unconditional power of McNemar's test.
    """
    binom, flips = scipy.stats.binom, np.arange(conversations + 1)
    chances = binom.pmf(flips, conversations, min(gain + loss, 1.0))
    share = loss / (gain + loss) if gain + loss else 0.5
    critical = _critical(conversations, alpha)
    # With many conversations, most numbers of flips have no chance of occurring.
    told = (critical >= 0) & (chances > 0)
    most, of = critical[told], flips[told]
    chances[told] *= binom.cdf(most, of, share) + binom.sf(of - most - 1, of, share)
    return float(np.where(told, chances, 0.0).sum())


def detectable_success_loss(conversations: int, won: float, lost: float, alpha: float) -> float | None:
    """Return the smallest loss of success that McNemar's test at level `alpha` finds with a power of `POWER`.

    The observed flips count as noise that goes either way equally often; the loss comes on top. None if not
    even the loss of every conversation that could be lost would be found.
    """
    return Spread((won + lost) / conversations).detectable(conversations, alpha)


def detectable_difference(
    standard_error: float, conversations: int, alpha: float, most: float = 1.0
) -> float | None:
    """Return the smallest difference of a rate that is found with a power of `POWER`, by its standard error.

    Source: Miller, arXiv 2411.00640, section 5, with Student's quantiles instead of normal ones, because
    there are few conversations; the loss is assumed to add no spread. None with fewer than two conversations,
    or if not even a difference of `most` is found.
    """
    if conversations < 2:
        return None
    freedom = conversations - 1
    quantiles = scipy.stats.t.ppf(1 - alpha / 2, freedom) + scipy.stats.t.ppf(POWER, freedom)
    detectable = float(quantiles * standard_error)
    return detectable if detectable <= most else None


@lru_cache(maxsize=8)
def _critical(conversations: int, alpha: float) -> NDArray[np.int64]:
    """Return for each number of flips the most of the rarer kind at which the test rejects; -1 for none."""
    flips = np.arange(conversations + 1)
    # The two-sided p-value is twice the smaller tail, since a fair coin is symmetric.
    critical = scipy.stats.binom.ppf(alpha / 2, flips, 0.5)
    critical = np.where(
        2 * scipy.stats.binom.cdf(critical, flips, 0.5) <= alpha * (1 + 1e-9), critical, critical - 1
    )
    most: NDArray[np.int64] = np.nan_to_num(critical, nan=-1).astype(np.int64)
    most[0] = -1
    return most


@dataclass(frozen=True, slots=True)
class Spread(ByName):
    """How conversations differ between two arms that are equally good.

    `flips` is the share of conversations that only one of them gets right, each playing them once. `within`
    is how much of that the next repeat decides anew: the variance p (1 - p) of a conversation's success, on
    average. What flips for another reason, such as rounding, flips in all repeats.
    """

    flips: float
    within: float = 0.0

    def power(self, conversations: int, loss: float, alpha: float, repeats: int = 1) -> float:
        """Return how often a loss of this size is found, from 0 to 1; it is the same loss in all repeats."""
        if repeats == 1:
            noise = self.flips / 2
            return mcnemar_power(conversations, noise, noise + loss, alpha)
        # The power of the bootstrap's test, which draws from two imagined conversations as well.
        of_repeats = 2 * self.within / repeats
        lasting = self.flips - 2 * self.within + loss
        square = lasting + of_repeats
        typical = (lasting + 1.5 * of_repeats / repeats) / square if square else 1.0
        squares = conversations * (square - loss**2) + 2 * typical
        error = sqrt(squares / (conversations * (conversations - 1)))
        freedom = conversations - 1
        quantile = scipy.stats.t.ppf(1 - alpha / 2, freedom)
        return float(scipy.stats.t.cdf(loss / error - quantile, freedom))

    def detectable(
        self, conversations: int, alpha: float, repeats: int = 1, power: float = POWER
    ) -> float | None:
        """Return the smallest loss that these conversations find; None if they find no possible one."""
        most = 1 - self.flips
        if conversations < 2 or most <= 0:
            return None

        def lacking(loss: float) -> float:
            return self.power(conversations, loss, alpha, repeats) - power

        if lacking(most) < 0:
            return None
        return float(scipy.optimize.brentq(lacking, 0.0, most, xtol=1e-6)) if lacking(0.0) < 0 else 0.0
