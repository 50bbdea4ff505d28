"""McNemar's test and Holm's correction, each against its definition."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.stats.paired import exact_mcnemar, holm

counts = st.integers(0, 60)


@given(counts, counts)
def test_mcnemar_is_the_binomial_test_of_a_fair_coin(won: int, lost: int) -> None:
    """Summed in fractions: every outcome that is no likelier than the one seen."""
    flips = won + lost
    seen = comb(flips, won)
    extreme = sum(comb(flips, each) for each in range(flips + 1) if comb(flips, each) <= seen)
    assert exact_mcnemar(won, lost) == pytest.approx(float(Fraction(extreme, 2**flips)))


@given(counts, counts)
def test_mcnemar_does_not_care_which_arm_is_the_baseline(won: int, lost: int) -> None:
    assert exact_mcnemar(won, lost) == exact_mcnemar(lost, won)


@given(counts, counts)
def test_mcnemar_of_more_losses_is_less_likely(won: int, lost: int) -> None:
    if lost >= won:
        assert exact_mcnemar(won, lost + 1) <= exact_mcnemar(won, lost)


def test_six_flips_are_the_fewest_that_show_anything() -> None:
    assert exact_mcnemar(0, 5) == 0.0625
    assert exact_mcnemar(0, 6) == 0.03125
    assert exact_mcnemar(0, 0) == 1.0


p_values = st.lists(st.none() | st.floats(0, 1), max_size=8)


@given(p_values)
def test_holm_is_the_step_down_procedure(found: list[float | None]) -> None:
    """An adjusted p-value is the smallest level at which stepping down rejects."""
    tested = [p for p in found if p is not None]
    for p, adjusted in zip(found, holm(found), strict=True):
        if p is None:
            assert adjusted is None
            continue
        smaller = sorted(each for each in tested if each <= p)
        steps = [min(1.0, (len(tested) - rank) * each) for rank, each in enumerate(smaller)]
        assert adjusted == pytest.approx(max(steps))


@given(p_values)
def test_holm_keeps_the_order_and_never_lowers(found: list[float | None]) -> None:
    pairs = sorted((p, q) for p, q in zip(found, holm(found), strict=True) if p is not None and q is not None)
    assert all(p <= q <= 1 for p, q in pairs)
    assert [q for _, q in pairs] == sorted(q for _, q in pairs)


def test_holm_of_a_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.02]) == [0.02]
