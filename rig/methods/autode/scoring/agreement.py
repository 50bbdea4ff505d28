"""How far two methods agree about assistants, as AutoDE's paper asks: ICC3 and Pearson's R, and intervals."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rig.rates import Vector

RESAMPLES = 10_000
SEED = 20_260_210


class Interval(NamedTuple):
    """A number, and where it lies in 95 of 100 draws."""

    value: float
    low: float
    high: float


def icc3(*raters: Sequence[float] | Vector) -> float:
    """The intraclass correlation of raters' scores of the same targets: ICC(3,1), consistency.

    NaN where nothing varies.
    Shrout and Fleiss, Psychological Bulletin 86, 1979. At least two raters and two targets.
    """
    scores = np.column_stack(raters).astype(float)
    targets, count = scores.shape
    mean = scores.mean()
    between = count * ((scores.mean(1) - mean) ** 2).sum() / (targets - 1)
    left = scores - scores.mean(1, keepdims=True) - scores.mean(0) + mean
    error = (left**2).sum() / ((targets - 1) * (count - 1))
    whole = between + (count - 1) * error
    return float((between - error) / whole) if whole else float("nan")


def pearson(first: Sequence[float] | Vector, second: Sequence[float] | Vector) -> float:
    """The correlation coefficient of Pearson; NaN where one side never varies."""
    x, y = (np.asarray(side, dtype=float) - np.mean(side) for side in (first, second))
    scale = float(np.sqrt((x**2).sum() * (y**2).sum()))
    return float((x * y).sum()) / scale if scale else float("nan")


def agreement(
    first: Sequence[Vector],
    second: Sequence[Vector],
    measure: Callable[[Sequence[float], Sequence[float]], float],
    seed: int = SEED,
) -> Interval:
    """How far two methods agree about assistants, by either measure of their mean scores.

    Each side has a row of dialogues' F1 for each assistant, in the same order of dialogues. The interval is
    that of a bootstrap over dialogues, the same draw for every assistant and both methods.
    """
    sides = np.stack([np.stack(first), np.stack(second)])

    def measured(scores: Vector) -> float:
        return measure(*scores.mean(2))

    return _bootstrap(sides, measured, seed)


def agreement_by_dialogue(
    first: Vector,
    second: Vector,
    measure: Callable[[Sequence[float], Sequence[float]], float],
    seed: int = SEED,
) -> Interval:
    """How far two methods agree about one assistant, dialogue by dialogue, by either measure."""
    return _bootstrap(np.stack([first, second]), lambda drawn: measure(*drawn), seed)


def mean_f1(dialogues: Vector, seed: int = SEED) -> Interval:
    """The mean over dialogues, with the interval that other dialogues of the same kind would leave."""
    return _bootstrap(dialogues, lambda drawn: float(drawn.mean()), seed)


def _bootstrap(scores: Vector, measured: Callable[[Vector], float], seed: int) -> Interval:
    """A measure of scores, and its percentile interval over draws of the last axis."""
    generator = np.random.default_rng(seed)
    dialogues = scores.shape[-1]
    drawn = np.array(
        [measured(scores[..., generator.integers(dialogues, size=dialogues)]) for _ in range(RESAMPLES)]
    )
    told = drawn[~np.isnan(drawn)]
    low, high = np.quantile(told, [0.025, 0.975]) if len(told) else (np.nan, np.nan)
    return Interval(measured(scores), float(low), float(high))
