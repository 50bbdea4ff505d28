"""Tests: McNemar's for outcomes that succeed or fail, and Holm's correction for testing several arms."""

from collections.abc import Sequence

import numpy as np
import scipy


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
    found: list[float | None] = [None] * len(p_values)
    for place, p in zip(order, adjusted, strict=True):
        found[tested[place]] = float(p)
    return found
