"""Two arms on the same conversations: the paired bootstrap, McNemar's test, Holm's correction."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from rig.core.calls import ByName
from rig.stats import rates
from rig.stats.power import detectable_difference
from rig.stats.rates import RESAMPLES, SEED, Sides, Vector, pooled_rate


def exact_mcnemar(won: int, lost: int) -> float:
    """Return the two-sided p-value of these discordant pairs if winning and losing are equally likely.

    Only pairs on which the arms disagree tell them apart; under the null hypothesis, each is a coin toss.
    Exact at any size. Source: McNemar, Psychometrika 12 (1947), in its binomial form; for models whose
    inference was made cheaper, Kübler et al., arXiv 2602.10144, which tests one side only.
    """
    flips = won + lost
    return float(scipy.stats.binomtest(won, flips, 0.5).pvalue) if flips else 1.0


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values so that the chance of any false alarm among them is at most the level tested at.

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


_AT_ONCE = 1 << 20
"""How many counts, one per conversation and draw, are converted to floating point at a time."""


@dataclass(frozen=True, slots=True)
class RateDifference(ByName):
    """An arm's rate less the baseline's, with the bounds of its confidence interval, as fractions.

    `p` is the chance of a difference at least as large if there is none, `p_holm` the same corrected for the
    number of arms; `detectable` is the smallest difference that this suite detects with a power of 0.8 at the
    corrected level. `test` names the test that p comes from: McNemar's, or the interval's own. A field is
    None if there is no such number.
    """

    value: float | None
    low: float | None
    high: float | None
    p: float | None
    detectable: float | None
    test: str = "bootstrap"
    p_holm: float | None = None


class PairedBootstrap:
    """A bootstrap that draws the same conversations for every metric and pair of arms, so that they agree.

    A draw takes whole conversations of both arms at once, so that what is hard for both cancels (Miller,
    arXiv 2411.00640, section 4.2). Two corrections make it hold for small suites and rare differences, where
    the plain percentile interval does not (docs/lab/statistics.md has the measured coverages):

    - Two imagined conversations are among those drawn from: one in which the arm is better than the baseline
      and one in which it is worse, by as much as conversations typically differ, or by all of a conversation
      where none differs. So the interval has a width even where nothing flipped. For success it is what
      Bonett and Price (Journal of Educational and Behavioral Statistics 37, 2012) add to each cell.
    - The percentiles lie further out by Student's quantile and by sqrt(n / (n - 1)): the expanded percentile
      interval of Hesterberg (The American Statistician 69, 2015).

    With more than `rates.LARGE` conversations, those with the same counts on both sides are drawn together.
    """

    def __init__(self, conversations: int, seed: int = SEED, resamples: int = RESAMPLES) -> None:
        self.conversations = conversations
        self.seed = seed
        self.resamples = resamples

    def difference(
        self, baseline: Sides, arm: Sides, alpha: float, tests: int = 1, *, is_share: bool = True
    ) -> RateDifference:
        """Return the arm's rate less the baseline's, with its interval at level 1 - `alpha` and its p-value.

        The p-value is that of the interval: the smallest alpha at which it excludes 0. `tests` is the number
        of arms by which the multiplicity correction divides alpha, for the detectable difference alone. Rates
        that are shares cannot differ by more than 1. All but the value are None with fewer than two
        conversations, and everything is if either rate is None.
        """
        ours, theirs = pooled_rate(*arm), pooled_rate(*baseline)
        if ours is None or theirs is None:
            return RateDifference(None, None, None, None, None)
        value = ours - theirs
        if self.conversations < 2:
            return RateDifference(value, None, None, None, None)
        draws = self._draws(*_with_imagined(baseline, arm, theirs, ours))
        stretch = float(np.sqrt(self.conversations / (self.conversations - 1)))
        freedom = self.conversations - 1
        tail = float(scipy.stats.norm.cdf(stretch * scipy.stats.t.ppf(alpha / 2, freedom)))
        low, high = np.quantile(draws, [tail, 1 - tail])
        beyond = min((draws <= 1e-12).sum(), (draws >= -1e-12).sum()) + 1
        nearest = min(float(beyond) / (len(draws) + 1), 0.5)
        p = 2 * float(scipy.stats.t.cdf(scipy.stats.norm.ppf(nearest) / stretch, freedom))
        # The imagined conversations draw the difference towards 0, so that it must be larger to be found.
        shrinkage = self.conversations / (self.conversations + 2)
        error = float(draws.std()) * stretch / shrinkage
        most = 1.0 if is_share else np.inf
        return RateDifference(
            value,
            max(-most, min(float(low), value)),
            min(most, max(float(high), value)),
            p,
            detectable_difference(error, self.conversations, alpha / tests, most=most),
        )

    def _draws(self, *rows: Vector) -> Vector:
        """Return the difference in every draw from both arms' rows, without draws that divide by zero."""
        columns = np.stack(rows, axis=1)
        sign = 1.0
        if self.conversations > rates.LARGE:
            # Whichever arm is the baseline, the kinds come in the same order.
            if columns[:-2, :2].tobytes() < columns[:-2, 2:].tobytes():
                columns, sign = columns[:, [2, 3, 0, 1]], -1.0
            alike, number = _kinds(columns[:-2])
            columns = np.concatenate([alike, columns[-2:]])
            times_taken = self._drawn(np.concatenate([number, [1, 1]]))
        else:
            times_taken = self._times
        # Every draw comes with its mirror image, in which the imagined two have changed places, so that
        # exchanging the arms changes the sign of the difference and nothing else.
        straight, mirrored = [], []
        for part in np.array_split(times_taken, -(-times_taken.size // _AT_ONCE)):
            times = part.astype(np.float64)
            straight.append(times @ columns)
            times[:, -2:] = part[:, :-3:-1]
            mirrored.append(times @ columns)
        sums = np.concatenate(straight + mirrored)
        with np.errstate(divide="ignore", invalid="ignore"):
            draws = sign * (sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3])
        return np.asarray(draws[np.isfinite(draws)])

    @cached_property
    def _times(self) -> NDArray[np.unsignedinteger]:
        """How often each draw takes each conversation, the imagined last; the same for every comparison."""
        return self._drawn(np.ones(self.conversations + 2))

    def _drawn(self, sizes: Vector) -> NDArray[np.unsignedinteger]:
        """Return how often each draw takes conversations of each kind, given their sizes: (draws, kinds)."""
        kept = np.min_scalar_type(round(sizes.sum()))
        parts = rates.times_drawn(sizes, self.seed, self.resamples // 2)
        return np.concatenate([part.astype(kept) for part in parts])


def _kinds(rows: Vector) -> tuple[Vector, NDArray[np.intp]]:
    """Return the distinct rows in order, and how often each occurs.

    `np.unique` along axis 0 gives the same, but sorts whole rows, which takes many times as long.
    """
    codes = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        values, places = np.unique(column, return_inverse=True)
        # Codes stay small: there are never more of them than rows.
        _, codes = np.unique(codes * len(values) + places, return_inverse=True)
    _, first, number = np.unique(codes, return_index=True, return_counts=True)
    return rows[first], number


def _with_imagined(baseline: Sides, arm: Sides, theirs: float, ours: float) -> list[Vector]:
    """Return the arm's and the baseline's sides, with two imagined conversations of average length added."""
    lengths = baseline.denominators.mean(), arm.denominators.mean()
    middle = (theirs + ours) / 2
    apart = (arm.numerators - middle * arm.denominators) / lengths[1] - (
        baseline.numerators - middle * baseline.denominators
    ) / lengths[0]
    squares = apart**2
    # The mean over conversations that differ, each weighted by what it contributes to the variance.
    typical = float(np.sqrt((squares**2).sum() / squares.sum())) if squares.sum() > 1e-15 else 1.0
    halves = np.array([typical / 2, -typical / 2])
    return [
        np.concatenate([arm.numerators, (middle + halves) * lengths[1]]),
        np.concatenate([arm.denominators, np.full(2, lengths[1])]),
        np.concatenate([baseline.numerators, (middle - halves) * lengths[0]]),
        np.concatenate([baseline.denominators, np.full(2, lengths[0])]),
    ]
