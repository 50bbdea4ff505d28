"""How well an arm's rates are known, for displays: the same intervals wherever they are shown."""

from typing import NamedTuple


class Interval(NamedTuple):
    """The bounds of a 95% confidence interval; fractions."""

    low: float
    high: float
