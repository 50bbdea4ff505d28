"""The rates of arms with their intervals, and the bootstrap: draws with replacement.

Intervals are Wilson's score intervals for sums over conversations, within which outcomes are alike. Whole
tasks are drawn, with all their calls and repeats (Efron, Annals of Statistics 7, 1979; a cluster bootstrap,
Davison and Hinkley, *Bootstrap Methods*, 1997, section 3.8), either one by one or equal ones together.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from rig.core.calls import ByName
from rig.core.metrics import TASKS, UNCLEAR, Counts, Declaration, Metric, if_right, rate

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate(ByName):
    """A rate with the bounds of its confidence interval."""

    value: float | None
    low: float | None
    high: float | None


class Sides(NamedTuple):
    """The numerators and denominators of one arm's rate, one entry for each conversation."""

    numerators: Vector
    denominators: Vector


class OutcomeBounds(NamedTuple):
    """The least and the most that an arm can have got right in a task, from 0 to 1. They differ if some of
    its texts (`texts`) are unclear.
    """

    least: float
    most: float
    texts: int = 0

    @classmethod
    def of(cls, declaration: Declaration, counts: Counts) -> "OutcomeBounds":
        """Return the bounds of a task with these counts: its success if unclear texts are wrong, or right."""
        wrong, right = (float(declaration.succeeded(side)) for side in (counts, if_right(counts)))
        texts = int(counts.get(UNCLEAR, 0)) if wrong != right else 0
        return cls(min(wrong, right), max(wrong, right), texts)

    @classmethod
    def mean(cls, outcomes: "Sequence[OutcomeBounds]") -> "OutcomeBounds":
        """Combine the repeats of a task, of which other tasks may have had more, into one outcome."""
        least, most, texts = zip(*outcomes, strict=True)
        return cls(float(np.mean(least)), float(np.mean(most)), sum(texts))


@dataclass(frozen=True, slots=True)
class Tallied:
    """Counts by conversation, each the mean over its repeats, so that every conversation weighs the same.

    `totals` are the sums over all repeats: how many outcomes there really were. `played` counts the repeats.
    `success` is the share of each conversation's repeats that succeeded.
    """

    means: Mapping[str, Vector]
    totals: Mapping[str, float]
    conversations: int
    played: int
    is_played_once: bool
    success: Vector

    @classmethod
    def of(cls, rows: Sequence[Sequence[Counts]], declaration: Declaration) -> "Tallied":
        """Tally conversations in order, given a row for each with the counts of its repeats, at least one."""
        sides = (name for metric in declaration.metrics for name in (metric.numerator, metric.denominator))
        names = {TASKS, declaration.success, *sides}
        played = [counts for row in rows for counts in row]
        repeats = np.array([len(row) for row in rows])
        means, totals = {}, {}
        for name in names:
            values = np.array([counts.get(name, 0) for counts in played], dtype=np.float64)
            totals[name] = float(values.sum())
            # The values of a conversation are adjacent, and mostly all conversations have equally many.
            if (repeats == repeats[0]).all():
                means[name] = np.asarray(values.reshape(len(repeats), -1).mean(axis=1), dtype=np.float64)
            else:
                means[name] = np.array([part.mean() for part in np.split(values, repeats.cumsum()[:-1])])
        return cls(
            means=means,
            totals=totals,
            conversations=len(rows),
            played=len(played),
            is_played_once=bool((repeats == 1).all()),
            success=means[declaration.success],
        )

    def sides(self, metric: Metric) -> "Sides":
        """Return the numerators and denominators of a rate, one for each conversation."""
        return Sides(self.means[metric.numerator], self.means[metric.denominator])

    def rate(self, metric: Metric) -> Estimate:
        """Return the rate alone, without its interval."""
        return Estimate(pooled_rate(*self.sides(metric)), None, None)

    def estimate(self, metric: Metric, alpha: float) -> Estimate:
        """Return the rate with its interval at level 1 - `alpha`."""
        if metric.format == "number":
            return mean_interval(*self.sides(metric), alpha)
        return interval(*self.sides(metric), alpha, self.totals[metric.denominator])


def estimates(
    finished: Iterable[tuple[str, Counts]], declaration: Declaration, alpha: float = 0.05
) -> dict[str, Estimate]:
    """Return the rates of an arm so far, from the name and counts of every repeat it has finished.

    Empty before the first. As in `Tallied`, conversations weigh the same, however often each was played.
    """
    rows: dict[str, list[Counts]] = {}
    for name, counts in finished:
        rows.setdefault(name, []).append(counts)
    if not rows:
        return {}
    tallied = Tallied.of(list(rows.values()), declaration)
    return {metric.name: tallied.estimate(metric, alpha) for metric in declaration.metrics}


def pooled_rate(numerators: Vector, denominators: Vector) -> float | None:
    """Return the sum of the numerators over that of the denominators; None if the latter is 0."""
    return rate(float(numerators.sum()), float(denominators.sum()))


def clustered_variance(numerators: Vector, denominators: Vector, freedom: int = 1) -> float:
    """Return the squared standard error of a pooled rate whose entries are clusters of similar outcomes.

    Source: linearisation of a ratio of sums, Cochran, *Sampling Techniques* (1977), section 6.3; with
    `freedom` 0 it is the clustered standard error of Miller (arXiv 2411.00640), section 2.2, which treats the
    mean as known.
    """
    n = len(numerators)
    value = numerators.sum() / denominators.sum()
    pulls = (numerators - value * denominators) / denominators.mean()
    return float((pulls**2).sum()) / (n * (n - freedom))


def interval(numerators: Vector, denominators: Vector, alpha: float, trials: float | None = None) -> Estimate:
    """Return a rate with its Wilson interval at level 1 - `alpha`; conversations are the unit of sampling.

    Both vectors have one entry for each conversation: means over repeats, if it was played repeatedly.
    `trials` is how many outcomes there were in all (default: the sum of the denominators); there cannot be
    more than that many independent ones. Wilson's interval (1927) is computed with the number of independent
    trials that would have the same variance as the conversations (Korn and Graubard, Survey Methodology 24,
    1998, who propose this with another interval), and with Student's quantile, because that variance is
    estimated. Where all conversations agree there is no variance to go by: each counts as one trial. With one
    outcome per conversation this is Wilson's interval itself.

    Why not the bootstrap: at rates near 0 or 1 it shrinks to a point (docs/lab/statistics.md has both).
    """
    value = pooled_rate(numerators, denominators)
    if value is None:
        return Estimate(None, None, None)
    informative = int((denominators > 0).sum())
    trials = float(denominators.sum()) if trials is None else trials
    is_binary = bool(np.isin(numerators, (0, 1)).all() and (denominators == 1).all())
    if is_binary and trials == len(numerators):
        effective, quantile = trials, float(scipy.special.ndtri(1 - alpha / 2))
    else:
        variance = clustered_variance(numerators, denominators) if len(numerators) > 1 else 0.0
        effective = float(informative)
        if variance > 1e-15:
            effective = max(min(value * (1 - value) / variance, trials), 1e-9)
        # One conversation says nothing about how conversations differ.
        quantile = float(scipy.special.stdtrit(informative - 1, 1 - alpha / 2)) if informative > 1 else np.inf
    if not np.isfinite(quantile):
        return Estimate(value, 0.0, 1.0)
    # Wilson (1927), Journal of the American Statistical Association 22, with a real number of trials.
    weight = quantile**2 / effective
    centre = (value + weight / 2) / (1 + weight)
    half = float(np.sqrt(weight * value * (1 - value) + weight**2 / 4)) / (1 + weight)
    low, high = max(0.0, centre - half), min(1.0, centre + half)
    return Estimate(value, min(low, value), max(high, value))


def mean_interval(numerators: Vector, denominators: Vector, alpha: float, freedom: int = 1) -> Estimate:
    """Return a rate that is not a share, such as steps per task, with Student's interval over conversations.

    There are no bounds with fewer than two: one says nothing about how conversations differ. `freedom` is
    that of `clustered_variance`.
    """
    value = pooled_rate(numerators, denominators)
    n = len(numerators)
    if value is None or n < 2:
        return Estimate(value, None, None)
    error = float(np.sqrt(clustered_variance(numerators, denominators, freedom)))
    half = float(scipy.special.stdtrit(n - 1, 1 - alpha / 2)) * error
    return Estimate(value, value - half, value + half)


RESAMPLES = 10_000
"""With this many draws, a bound of a 95% interval moves by about a hundredth of the interval between seeds.
"""

SEED = 20_260_210

LARGE = 10_000
"""With more items than this, those with the same values are drawn together: how many of them a draw takes has
the same distribution, and costs the same however many there are.
"""

AT_ONCE = 1 << 18
"""How many numbers are in memory at a time, several times over."""


def draws(items: int, seed: int = SEED, values: int = 1) -> Iterator[NDArray[np.int64]]:
    """Yield the items that each draw takes, (draws, items), in parts. An item has `values` numbers."""
    generator = np.random.default_rng(seed)
    for part in _parts(RESAMPLES, items * values):
        yield generator.integers(items, size=(part, items))


def times_drawn(
    sizes: Vector, seed: int = SEED, resamples: int = RESAMPLES, values: int = 1
) -> Iterator[NDArray[np.int64]]:
    """Yield how often each draw takes items of each kind, given their sizes: (draws, kinds), in parts."""
    generator = np.random.default_rng(seed)
    items = sizes.sum()
    for part in _parts(resamples, len(sizes) * values):
        yield generator.multinomial(round(items), sizes / items, size=part)


def percentiles(drawn: Vector, alpha: float) -> tuple[float, float]:
    """Return the percentile interval at level 1 - `alpha` of the draws that have a value; NaN if none has."""
    finite = drawn[~np.isnan(drawn)]
    if not len(finite):
        return np.nan, np.nan
    low, high = np.quantile(finite, [alpha / 2, 1 - alpha / 2])
    return float(low), float(high)


def _parts(resamples: int, numbers: int) -> Iterator[int]:
    """Yield how many draws, of `numbers` numbers each, are made together, until all are made."""
    at_once = max(AT_ONCE // max(numbers, 1), 1)
    for done in range(0, resamples, at_once):
        yield min(at_once, resamples - done)
