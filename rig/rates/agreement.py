"""How far two measurements agree about the same targets: ICC3 and Pearson's R, with bootstrap intervals.

The targets are tasks, or models that played several tasks; the draws are of tasks.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from rig.calls import JsonObject
from rig.rates.rates import Vector

RESAMPLES = 10_000
SEED = 20_260_210

_AT_ONCE = 500
"""Draws that are in memory together."""

Measure: TypeAlias = Callable[[Vector, Vector], Vector]
"""Of two sides' scores of the same targets, which are the last axis."""


class Interval(NamedTuple):
    """A number, and where it lies in 95 of 100 draws; NaN where there is none."""

    value: float
    low: float
    high: float

    def as_json(self) -> JsonObject:
        """All of it by name, with None for what there is not."""
        return {name: None if np.isnan(value) else value for name, value in self._asdict().items()}


def icc3(first: Vector, second: Vector) -> Vector:
    """The intraclass correlation of two raters' scores: ICC(3,1), consistency; NaN where nothing varies.

    Source: Shrout and Fleiss, Psychological Bulletin 86, 1979. With two raters its mean squares are half the
    variances of the scores' sum and difference.
    """
    together, apart = np.var(first + second, axis=-1), np.var(first - second, axis=-1)
    return _ratio(together - apart, together + apart)


def pearson(first: Vector, second: Vector) -> Vector:
    """The correlation coefficient of Pearson; NaN where one side never varies."""
    x, y = (side - side.mean(-1, keepdims=True) for side in (first, second))
    return _ratio((x * y).sum(-1), np.sqrt((x**2).sum(-1) * (y**2).sum(-1)))


MEASURES: dict[str, Measure] = {"icc3": icc3, "r": pearson}


def over_groups(first: Sequence[Vector], second: Sequence[Vector], seed: int = SEED) -> dict[str, Interval]:
    """How far the sides agree about groups, such as models, by their mean scores.

    Each side has a row of tasks' scores for each group, in the same order of tasks. The draw of tasks is the
    same for every group and both sides.
    """
    sides = np.stack([np.stack(first), np.stack(second)])
    return {name: _bootstrap(sides, partial(_of_means, measure), seed) for name, measure in MEASURES.items()}


def by_task(first: Vector, second: Vector, seed: int = SEED) -> dict[str, Interval]:
    """How far the sides agree task by task; NaN with fewer than two tasks."""
    if len(first) < 2:
        return dict.fromkeys(MEASURES, Interval(np.nan, np.nan, np.nan))
    sides = np.stack([first, second])
    return {name: _bootstrap(sides, partial(_of_tasks, measure), seed) for name, measure in MEASURES.items()}


def mean(scores: Vector, seed: int = SEED) -> Interval:
    """The mean over tasks, with the interval that other tasks of the same kind would leave."""
    return _bootstrap(scores, _mean, seed)


def _mean(scores: Vector) -> Vector:
    return np.asarray(scores.mean(-1))


def _of_means(measure: Measure, sides: Vector) -> Vector:
    """Of sides × groups × draws × tasks."""
    means = np.moveaxis(sides.mean(-1), 1, -1)
    return measure(means[0], means[1])


def _of_tasks(measure: Measure, sides: Vector) -> Vector:
    return measure(sides[0], sides[1])


def _ratio(part: Vector, whole: Vector) -> Vector:
    # What is left of a sum of squares that should be nothing is not a variance.
    known = np.asarray(whole) > 1e-15
    return np.where(known, part / np.where(known, whole, 1), np.nan)


def _bootstrap(scores: Vector, measured: Callable[[Vector], Vector], seed: int) -> Interval:
    """A measure of scores, and its percentile interval over draws of the last axis."""
    generator = np.random.default_rng(seed)
    tasks = scores.shape[-1]
    drawn = np.concatenate(
        [
            measured(scores[..., generator.integers(tasks, size=(_AT_ONCE, tasks))])
            for _ in range(RESAMPLES // _AT_ONCE)
        ]
    )
    told = drawn[~np.isnan(drawn)]
    low, high = np.quantile(told, [0.025, 0.975]) if len(told) else (np.nan, np.nan)
    return Interval(float(measured(scores[..., None, :])[0]), float(low), float(high))
