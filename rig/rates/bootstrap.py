"""The bootstrap: draws with replacement, of items one by one or of items that are alike together.

Whole tasks are drawn, with all their calls and repeats (Efron, Annals of Statistics 7, 1979; a cluster
bootstrap, Davison and Hinkley, *Bootstrap Methods*, 1997, section 3.8).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rig.rates.rates import Vector

RESAMPLES = 10_000
"""With this many draws, a bound of a 95% interval moves by about a hundredth of the interval between seeds.
"""

SEED = 20_260_210

LARGE = 10_000
"""From more items on, those of the same values are drawn together: how many of them a draw takes has the same
distribution, and costs as much for any number of them."""

AT_ONCE = 1 << 18
"""Numbers that are in memory together, several times over."""


def draws(
    items: int, seed: int = SEED, resamples: int = RESAMPLES, values: int = 1
) -> Iterator[NDArray[np.int64]]:
    """The items that each draw takes, draws × items, in parts. `values` is how many numbers an item has."""
    generator = np.random.default_rng(seed)
    for part in _parts(resamples, items * values):
        yield generator.integers(items, size=(part, items))


def times_drawn(
    sizes: Vector, seed: int = SEED, resamples: int = RESAMPLES, values: int = 1
) -> Iterator[NDArray[np.int64]]:
    """How often each draw takes items of each kind, of which there are so many: draws × kinds, in parts."""
    generator = np.random.default_rng(seed)
    items = sizes.sum()
    for part in _parts(resamples, len(sizes) * values):
        yield generator.multinomial(round(items), sizes / items, size=part)


def percentiles(drawn: Vector, alpha: float) -> tuple[float, float]:
    """The percentile interval at level 1 - `alpha`, of draws that have a value; NaN if none has."""
    finite = drawn[~np.isnan(drawn)]
    if not len(finite):
        return np.nan, np.nan
    low, high = np.quantile(finite, [alpha / 2, 1 - alpha / 2])
    return float(low), float(high)


def _parts(resamples: int, numbers: int) -> Iterator[int]:
    """How many draws of so many numbers each are made together, until all are made."""
    at_once = max(AT_ONCE // max(numbers, 1), 1)
    for done in range(0, resamples, at_once):
        yield min(at_once, resamples - done)
