"""McNemar's test, Holm's correction for testing several arms, and the smallest difference that is found."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray


def exact_mcnemar(won: int, lost: int) -> float:
    """The two-sided p-value of this many discordant pairs if winning and losing are equally likely.

    Only pairs on which the two disagree tell them apart; under the null, each falls either way like a coin.
    Exact at any size. Source: McNemar, Psychometrika 12 (1947), in its binomial form; for models whose
    inference was made cheaper, Kübler et al., arXiv 2602.10144, which tests one side only.
    """
    flips = won + lost
    return float(scipy.stats.binomtest(won, flips, 0.5).pvalue) if flips else 1.0


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """P-values adjusted so that the chance of any false alarm among them is at most the level tested at.

    Arms without a p-value stay without one and do not count. Source: Holm, Scandinavian Journal of
    Statistics 6 (1979).
    """
    tested = [place for place, p in enumerate(p_values) if p is not None]
    values = np.array([p_values[place] for place in tested], dtype=float)
    order = np.argsort(values, kind="stable")
    factors = np.arange(len(values), 0, -1)
    adjusted = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0)
    p_holm: list[float | None] = [None] * len(p_values)
    for place, p in zip(order, adjusted, strict=True):
        p_holm[tested[place]] = float(p)
    return p_holm


POWER = 0.8
"""How often a difference of the size that is called detectable is detected."""


def mcnemar_power(conversations: int, gain: float, loss: float, alpha: float) -> float:
    """How often the exact two-sided McNemar test finds something.

    A conversation is won with probability `gain`, lost with probability `loss`, and otherwise ends alike.
    Computed by summing over all outcomes, not by a normal approximation, which is too hopeful for small
    suites. Source: Connor, Biometrics 43 (1987), for the unconditional power of McNemar's test.
    """
    binom, flips = scipy.stats.binom, np.arange(conversations + 1)
    chances = binom.pmf(flips, conversations, min(gain + loss, 1.0))
    share = loss / (gain + loss) if gain + loss else 0.5
    critical = _critical(conversations, alpha)
    # Of many conversations, most numbers of flips cannot come about.
    told = (critical >= 0) & (chances > 0)
    most, of = critical[told], flips[told]
    chances[told] *= binom.cdf(most, of, share) + binom.sf(of - most - 1, of, share)
    return float(np.where(told, chances, 0.0).sum())


def detectable_success_loss(
    conversations: int, won: int, lost: int, alpha: float, power: float = POWER
) -> float | None:
    """The smallest loss of success that McNemar's test at level `alpha` finds with this power.

    The flips that were seen are taken for noise that goes either way equally often; the loss comes on top.
    None if not even the loss of every conversation that could be lost would be found.
    """
    noise = (won + lost) / (2 * conversations)
    most = 1 - 2 * noise

    def lacking(loss: float) -> float:
        return mcnemar_power(conversations, noise, noise + loss, alpha) - power

    if most <= 0 or lacking(most) < 0:
        return None
    return float(scipy.optimize.brentq(lacking, 0.0, most, xtol=1e-6)) if lacking(0.0) < 0 else 0.0


def detectable_difference(
    standard_error: float, conversations: int, alpha: float, power: float = POWER, most: float = 1.0
) -> float | None:
    """The smallest difference of a rate that is found with this power, from its standard error.

    Source: Miller, arXiv 2411.00640, section 5, with Student's quantiles for the normal ones, as there are
    few conversations; the loss is taken to add no spread of its own. None if there are fewer than two, or
    where not even a difference of `most` is found.
    """
    if conversations < 2:
        return None
    freedom = conversations - 1
    quantiles = scipy.stats.t.ppf(1 - alpha / 2, freedom) + scipy.stats.t.ppf(power, freedom)
    detectable = float(quantiles * standard_error)
    return detectable if detectable <= most else None


@lru_cache(maxsize=8)
def _critical(conversations: int, alpha: float) -> NDArray[np.int64]:
    """For each number of flips, the most of the rarer kind with which the test rejects; -1 for none."""
    flips = np.arange(conversations + 1)
    # The two-sided p-value is twice the smaller tail, since a fair coin is symmetric.
    critical = scipy.stats.binom.ppf(alpha / 2, flips, 0.5)
    critical = np.where(
        2 * scipy.stats.binom.cdf(critical, flips, 0.5) <= alpha * (1 + 1e-9), critical, critical - 1
    )
    most: NDArray[np.int64] = np.nan_to_num(critical, nan=-1).astype(np.int64)
    most[0] = -1
    return most
