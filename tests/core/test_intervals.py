"""A number and its interval are written by one function, whatever they are of."""

import pytest

from rig.core.intervals import with_interval
from rig.plugins.resources.measured import TurnSpread
from rig.stats import Estimate
from rig.stats.agreement import Interval


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (Estimate(0.61, 0.55, 0.64), "", "0.61 (0.55 to 0.64)"),
        (Estimate(0.61, 0.55, 0.64), "%", "0.61% (0.55 to 0.64)"),
        (Estimate(0.61, None, None), "%", "0.61%"),
        (Estimate(None, 0.55, 0.64), "%", "0.55 to 0.64%"),
        (Estimate(None, None, None), "%", "-"),
        (Interval(0.61, 0.55, 0.64), "", "0.61 (0.55 to 0.64)"),
        (TurnSpread.of(range(1, 10)), "", "5.00 (2.00 to 9.00)"),
    ],
)
def test_a_number_with_its_interval(number: Estimate | Interval | TurnSpread, unit: str, text: str) -> None:
    assert with_interval("{:.2f}".format, number, unit) == text


def test_bounds_can_have_digits_of_their_own() -> None:
    number = Estimate(0.61, 0.55, 0.64)
    assert with_interval("{:.3f}".format, number, write_bound="{:.1f}".format) == "0.610 (0.6 to 0.6)"
