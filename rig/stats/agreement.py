"""Agreement of two measurements of the same targets: ICC3 and Pearson's R, with bootstrap intervals.

A target is a task, or a model that played several tasks. The bootstrap draws tasks.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from rig.core.calls import JsonObject
from rig.stats import rates
from rig.stats.rates import SEED, Vector

Measure: TypeAlias = Callable[..., Vector]
"""Measures how well two sides' scores agree (last axis: targets), with an optional count for each target."""


class Interval(NamedTuple):
    """A value with the bounds of its 95% bootstrap interval; NaN where there is none."""

    value: float
    low: float
    high: float

    def as_json(self) -> JsonObject:
        """Return the fields by name, with None in place of NaN."""
        return {name: None if np.isnan(value) else value for name, value in self._asdict().items()}


def icc3(first: Vector, second: Vector, times: Vector | None = None) -> Vector:
    """Return the intraclass correlation of two raters' scores, ICC(3,1) (consistency); NaN if nothing varies.

    Source: Shrout and Fleiss, Psychological Bulletin 86, 1979. With two raters its mean squares are half the
    variances of the scores' sum and difference.
    """
    together, apart = _variance(first + second, times), _variance(first - second, times)
    return _ratio(together - apart, together + apart)


def pearson(first: Vector, second: Vector, times: Vector | None = None) -> Vector:
    """Return Pearson's correlation coefficient; NaN where one side never varies."""
    x, y = (side - _of_one(side, times)[..., None] for side in (first, second))
    return _ratio(_sum(x * y, times), np.sqrt(_sum(x**2, times) * _sum(y**2, times)))


def _sum(values: Vector, times: Vector | None) -> Vector:
    return np.asarray((values if times is None else values * times).sum(-1))


def _of_one(values: Vector, times: Vector | None) -> Vector:
    return np.asarray(_sum(values, times) / (values.shape[-1] if times is None else times.sum(-1)))


def _variance(values: Vector, times: Vector | None) -> Vector:
    return _of_one((values - _of_one(values, times)[..., None]) ** 2, times)


MEASURES: dict[str, Measure] = {"icc3": icc3, "r": pearson}


def over_groups(first: Sequence[Vector], second: Sequence[Vector]) -> dict[str, Interval]:
    """Return how well the sides agree about groups, such as models, by the groups' mean scores.

    Each side has one row of scores per group, with the tasks in the same order. Every draw takes the same
    tasks for all groups and both sides.
    """
    sides = np.stack([np.stack(first), np.stack(second)])
    # The shape of what is drawn is (sides, groups, draws, tasks).
    intervals = _bootstrap(sides, lambda drawn: _of_tasks(np.moveaxis(drawn.mean(-1), 1, -1)), SEED)
    return dict(zip(MEASURES, intervals, strict=True))


def by_task(first: Vector, second: Vector, seed: int = SEED) -> dict[str, Interval]:
    """Return how well the sides agree by task; NaN with fewer than two tasks or if a side never varies."""
    sides = np.stack([first, second])
    if len(first) < 2 or (np.ptp(sides, axis=1) == 0).any():
        # A side that is the same everywhere has nothing to agree with.
        return dict.fromkeys(MEASURES, Interval(np.nan, np.nan, np.nan))
    is_large = len(first) > rates.LARGE
    intervals = _of_alike(sides, seed) if is_large else _bootstrap(sides, _of_tasks, seed)
    return dict(zip(MEASURES, intervals, strict=True))


def mean(scores: Vector) -> Interval:
    """Return the mean over tasks with its bootstrap interval."""
    return _bootstrap(scores, lambda drawn: np.asarray(drawn.mean(-1))[None], SEED)[0]


def _of_tasks(sides: Vector, times: Vector | None = None) -> Vector:
    """Return every measure of scores of shape (sides, draws, targets); the shape is (measures, draws)."""
    return np.stack([measure(*sides, times) for measure in MEASURES.values()])


def _ratio(part: Vector, whole: Vector) -> Vector:
    # Rounding can leave a tiny sum of squares where nothing varies.
    positive = np.asarray(whole) > 1e-15
    return np.where(positive, part / np.where(positive, whole, 1), np.nan)


def _bootstrap(scores: Vector, measured: Callable[[Vector], Vector], seed: int) -> list[Interval]:
    """Return the measures of scores with their percentile intervals, drawing from the last axis."""
    tasks = scores.shape[-1]
    drawn = [measured(scores[..., draw]) for draw in rates.draws(tasks, seed, values=scores.size // tasks)]
    return _intervals(measured(scores[..., None, :]), drawn)


def _of_alike(sides: Vector, seed: int) -> list[Interval]:
    """Return the measures and intervals for many tasks, drawing those with the same scores together."""
    kinds, sizes = np.unique(sides, axis=1, return_counts=True)
    drawn = [
        _of_tasks(kinds, times.astype(np.float64))
        for times in rates.times_drawn(sizes.astype(np.float64), seed, values=len(sides))
    ]
    return _intervals(_of_tasks(kinds, sizes[None].astype(np.float64)), drawn)


def _intervals(values: Vector, parts: Sequence[Vector]) -> list[Interval]:
    """Return the intervals of values, shape (measures, 1), from parts of their draws, (measures, draws)."""
    return [
        Interval(float(value), *rates.percentiles(drawn, 0.05))
        for (value,), drawn in zip(values, np.concatenate(parts, axis=1), strict=True)
    ]
