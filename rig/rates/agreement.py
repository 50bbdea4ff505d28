"""How far two measurements agree about the same targets: ICC3 and Pearson's R, with bootstrap intervals.

The targets are tasks, or models that played several tasks; the draws are of tasks.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from rig.calls import JsonObject
from rig.rates import rates
from rig.rates.rates import SEED, Vector

Measure: TypeAlias = Callable[..., Vector]
"""Of two sides' scores of the same targets, which are the last axis, and how often each of them counts."""


class Interval(NamedTuple):
    """A number, and where it lies in 95 of 100 draws; NaN where there is none."""

    value: float
    low: float
    high: float

    def as_json(self) -> JsonObject:
        """All of it by name, with None for what there is not."""
        return {name: None if np.isnan(value) else value for name, value in self._asdict().items()}


def icc3(first: Vector, second: Vector, times: Vector | None = None) -> Vector:
    """The intraclass correlation of two raters' scores: ICC(3,1), consistency; NaN where nothing varies.

    Source: Shrout and Fleiss, Psychological Bulletin 86, 1979. With two raters its mean squares are half the
    variances of the scores' sum and difference.
    """
    together, apart = _variance(first + second, times), _variance(first - second, times)
    return _ratio(together - apart, together + apart)


def pearson(first: Vector, second: Vector, times: Vector | None = None) -> Vector:
    """The correlation coefficient of Pearson; NaN where one side never varies."""
    x, y = (side - _of_one(side, times)[..., None] for side in (first, second))
    return _ratio(_sum(x * y, times), np.sqrt(_sum(x**2, times) * _sum(y**2, times)))


def _sum(values: Vector, times: Vector | None) -> Vector:
    return np.asarray((values if times is None else values * times).sum(-1))


def _of_one(values: Vector, times: Vector | None) -> Vector:
    return np.asarray(_sum(values, times) / (values.shape[-1] if times is None else times.sum(-1)))


def _variance(values: Vector, times: Vector | None) -> Vector:
    return _of_one((values - _of_one(values, times)[..., None]) ** 2, times)


MEASURES: dict[str, Measure] = {"icc3": icc3, "r": pearson}


def over_groups(first: Sequence[Vector], second: Sequence[Vector], seed: int = SEED) -> dict[str, Interval]:
    """How far the sides agree about groups, such as models, by their mean scores.

    Each side has a row of tasks' scores for each group, in the same order of tasks. The draw of tasks is the
    same for every group and both sides.
    """
    sides = np.stack([np.stack(first), np.stack(second)])
    # Of sides × groups × draws × tasks.
    intervals = _bootstrap(sides, lambda drawn: _of_tasks(np.moveaxis(drawn.mean(-1), 1, -1)), seed)
    return dict(zip(MEASURES, intervals, strict=True))


def by_task(first: Vector, second: Vector, seed: int = SEED) -> dict[str, Interval]:
    """How far the sides agree task by task; NaN with fewer than two tasks, or where a side never varies."""
    sides = np.stack([first, second])
    if len(first) < 2 or (np.ptp(sides, axis=1) == 0).any():
        # A side that is the same everywhere has nothing to agree with.
        return dict.fromkeys(MEASURES, Interval(np.nan, np.nan, np.nan))
    is_large = len(first) > rates.LARGE
    intervals = _of_alike(sides, seed) if is_large else _bootstrap(sides, _of_tasks, seed)
    return dict(zip(MEASURES, intervals, strict=True))


def mean(scores: Vector, seed: int = SEED) -> Interval:
    """The mean over tasks, with the interval that other tasks of the same kind would leave."""
    return _bootstrap(scores, lambda drawn: np.asarray(drawn.mean(-1))[None], seed)[0]


def _of_tasks(sides: Vector, times: Vector | None = None) -> Vector:
    """Every measure of sides × draws × targets: measures × draws."""
    return np.stack([measure(*sides, times) for measure in MEASURES.values()])


def _ratio(part: Vector, whole: Vector) -> Vector:
    # What is left of a sum of squares that should be nothing is not a variance.
    positive = np.asarray(whole) > 1e-15
    return np.where(positive, part / np.where(positive, whole, 1), np.nan)


def _bootstrap(scores: Vector, measured: Callable[[Vector], Vector], seed: int) -> list[Interval]:
    """Measures of scores, and their percentile intervals over draws of the last axis."""
    tasks = scores.shape[-1]
    drawn = [measured(scores[..., draw]) for draw in rates.draws(tasks, seed, values=scores.size // tasks)]
    return _intervals(measured(scores[..., None, :]), drawn)


def _of_alike(sides: Vector, seed: int) -> list[Interval]:
    """The same by task, where there are so many tasks that alike ones are drawn together."""
    kinds, sizes = np.unique(sides, axis=1, return_counts=True)
    drawn = [
        _of_tasks(kinds, times.astype(np.float64))
        for times in rates.times_drawn(sizes.astype(np.float64), seed, values=len(sides))
    ]
    return _intervals(_of_tasks(kinds, sizes[None].astype(np.float64)), drawn)


def _intervals(values: Vector, parts: Sequence[Vector]) -> list[Interval]:
    """Of measures × 1, and measures × draws in parts."""
    return [
        Interval(float(value), *rates.percentiles(drawn, 0.05))
        for (value,), drawn in zip(values, np.concatenate(parts, axis=1), strict=True)
    ]
