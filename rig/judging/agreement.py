"""How far votes agree with labels: ToolBench's four measures, accuracy, and Cohen's kappa with its interval.

Sources: upstream's `evaluators_comparison.py`; Cohen, Educational and Psychological Measurement 20 (1960).
For its correlation, upstream pairs votes by position, and draws lots if one side never varies; here, such an
item counts by how likely the draws were to agree.
"""

from collections import Counter
from collections.abc import Sequence
from statistics import fmean, pvariance
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rig.rates import Estimate, bootstrap, interval

SEED = 20_231_001
ALPHA = 0.05

Integers: TypeAlias = NDArray[np.int64]

Label: TypeAlias = int | None
"""0 or 1; None for a vote or a majority that is undecided."""


class Upstream(NamedTuple):
    """Upstream's row for an evaluator: agreement with people, bias, variance, and correlation."""

    agreement: float
    bias: float
    variance: float
    correlation: float


def majority(votes: Sequence[int]) -> set[int]:
    """The most frequent of the votes."""
    counts = Counter(votes)
    return {vote for vote, count in counts.items() if count == max(counts.values())}


def agreement(votes: Sequence[int], reference: Sequence[int]) -> float:
    """How likely one of the most frequent votes is the same on both sides."""
    ours, theirs = majority(votes), majority(reference)
    return len(ours & theirs) / (len(ours) * len(theirs))


def human_agreement(votes: Sequence[Sequence[int]]) -> tuple[float, float]:
    """Agreement and variance of people among themselves: each vote against the others of its item."""
    scores = [
        [agreement([vote], [*of_item[:n], *of_item[n + 1 :]]) for n, vote in enumerate(of_item)]
        for of_item in votes
    ]
    variances = (pvariance(1 - score for score in of_item) for of_item in scores)
    return fmean(map(fmean, scores)), fmean(variances)


def upstream(votes: Sequence[Sequence[int]], humans: Sequence[Sequence[int]]) -> Upstream | None:
    """Upstream's measures of an evaluator's votes, each item's beside those of people; None without items."""
    if not votes:
        return None
    scores = [[agreement([vote], human) for vote in ours] for ours, human in zip(votes, humans, strict=True)]
    return Upstream(
        agreement=fmean(fmean(score) for score in scores),
        bias=fmean(1 - agreement(human, of_item) for of_item, human in zip(votes, humans, strict=True)),
        variance=fmean(pvariance(1 - score for score in ours) for ours in scores),
        correlation=fmean(_correlation(of_item, human) for of_item, human in zip(votes, humans, strict=True)),
    )


def _correlation(votes: Sequence[int], humans: Sequence[int]) -> float:
    ours, theirs = (np.array(side[: min(len(votes), len(humans))], dtype=float) for side in (votes, humans))
    if len(ours) == 0 or not ours.std() or not theirs.std():
        return agreement(votes, humans)
    return float(np.corrcoef(ours, theirs)[0, 1])


def accuracy(labels: Sequence[Label], truth: Sequence[Label]) -> Estimate:
    """The share of items that are right, with its interval over items."""
    values = np.array([float(one == other) for one, other in zip(labels, truth, strict=True)])
    return interval(values, np.ones(len(values)), ALPHA)


def kappa(decided: Sequence[Label], truth: Sequence[Label]) -> Estimate:
    """Cohen's kappa with the percentile interval of a bootstrap over items; 0 is chance."""
    labels = sorted({*decided, *truth}, key=str)
    numbers = {label: number for number, label in enumerate(labels)}
    ours = np.array([numbers[label] for label in decided])
    theirs = np.array([numbers[label] for label in truth])
    items = len(ours)
    if items == 0:
        return Estimate(None, None, None)
    value = _kappa(ours, theirs, len(labels))
    if items == 1:
        return Estimate(value, None, None)
    draws = (draw for part in bootstrap.draws(items, SEED) for draw in part)
    drawn = [_kappa(ours[draw], theirs[draw], len(labels)) for draw in draws]
    return Estimate(value, *bootstrap.percentiles(np.array(drawn), ALPHA))


def _kappa(ours: Integers, theirs: Integers, count: int) -> float:
    observed = float((ours == theirs).mean())
    shares = [np.bincount(side, minlength=count) / len(side) for side in (ours, theirs)]
    expected = float(shares[0] @ shares[1])
    return 0.0 if expected > 1 - 1e-12 else (observed - expected) / (1 - expected)
