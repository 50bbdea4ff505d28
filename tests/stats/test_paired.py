"""The paired bootstrap: against full enumeration and another implementation, and what must never change."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from rig.stats import paired, rates
from rig.stats.paired import PairedBootstrap
from rig.stats.rates import Sides

Array = NDArray[np.float64]

SUCCESS = Sides(np.array([1.0, 1, 0, 1, 0, 1, 1, 0, 1, 1]), np.ones(10))
WORSE = Sides(np.array([1.0, 0, 0, 1, 0, 0, 1, 1, 0, 1]), np.ones(10))
RECALL = Sides(np.array([3.0, 1, 4, 2, 0, 5]), np.array([3.0, 2, 6, 2, 1, 8]))
LOWER = Sides(np.array([2.0, 1, 1, 2, 0, 4]), np.array([3.0, 2, 6, 2, 1, 8]))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Sides, Sides]:
    """Two arms over the same calls, or with calls of their own."""
    calls = draw(st.lists(st.integers(0, 8), min_size=2, max_size=12).filter(any))
    others = calls if draw(st.booleans()) else [draw(st.integers(1, 8)) for _ in calls]
    arms = [
        Sides(np.array([float(draw(st.integers(0, most))) for most in each]), np.array(each, dtype=float))
        for each in (calls, others)
    ]
    return arms[0], arms[1]


def imagined(baseline: Sides, arm: Sides, typical: float, middle: float) -> tuple[Sides, Sides]:
    """Both with a conversation of average length that the arm wins and one that it loses by `typical`."""
    return tuple(  # type: ignore[return-value]
        Sides(
            np.append(side.numerators, side.denominators.mean() * np.array([middle + half, middle - half])),
            np.append(side.denominators, np.full(2, side.denominators.mean())),
        )
        for side, half in ((baseline, -typical / 2), (arm, typical / 2))
    )


def test_the_draws_are_those_of_all_resamples() -> None:
    """Three conversations and the two imagined: each of the 5^5 resamples is equally likely."""
    baseline, arm = Sides(np.array([1.0, 1, 0]), np.ones(3)), Sides(np.array([0.0, 1, 0]), np.ones(3))
    wide = imagined(baseline, arm, 1.0, 0.5)
    every = np.array(list(product(range(5), repeat=5)))
    means = [side.numerators[every].mean(axis=1) for side in wide]
    exact = means[1] - means[0]
    draws = PairedBootstrap(3, resamples=200_000)._draws(
        wide[1].numerators, wide[1].denominators, wide[0].numerators, wide[0].denominators
    )
    for value in np.unique(exact.round(9)):
        share = (np.abs(exact - value) < 1e-6).mean()
        assert (np.abs(draws - value) < 1e-6).mean() == pytest.approx(share, abs=0.005)


def test_the_interval_is_that_of_scipys_bootstrap_at_the_expanded_level() -> None:
    n, alpha = 6, 0.05
    middle = (RECALL.numerators.sum() + LOWER.numerators.sum()) / 2 / RECALL.denominators.sum()
    length = RECALL.denominators.mean()
    apart = (LOWER.numerators - RECALL.numerators) / length
    typical = float(np.sqrt((apart**4).sum() / (apart**2).sum()))
    wide = imagined(RECALL, LOWER, typical, middle)

    def difference(places: Array, axis: int = -1) -> Array:
        index = places.astype(int)
        rates = [side.numerators[index].sum(axis) / side.denominators[index].sum(axis) for side in wide]
        found: Array = rates[1] - rates[0]
        return found

    tail = stats.norm.cdf(np.sqrt(n / (n - 1)) * stats.t.ppf(alpha / 2, n - 1))
    expected = stats.bootstrap(
        (np.arange(n + 2),),
        difference,
        vectorized=True,
        method="percentile",
        confidence_level=1 - 2 * tail,
        n_resamples=100_000,
        rng=1,
    ).confidence_interval
    found = PairedBootstrap(n, resamples=100_000).difference(RECALL, LOWER, alpha)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.01)
    assert found.value == pytest.approx((10 - 15) / 22)


@settings(max_examples=40)
@given(pairs())
def test_exchanging_the_arms_changes_the_sign_and_nothing_else(arms: tuple[Sides, Sides]) -> None:
    bootstrap = PairedBootstrap(len(arms[0].numerators), resamples=500)
    found = bootstrap.difference(arms[0], arms[1], 0.05)
    other = bootstrap.difference(arms[1], arms[0], 0.05)
    if found.value is None or found.low is None or found.high is None:
        assert other.value == found.value
        return
    assert other.value == -found.value
    assert (other.low, other.high) == pytest.approx((-found.high, -found.low), abs=1e-9)
    assert other.p == pytest.approx(found.p)
    assert other.detectable == (None if found.detectable is None else pytest.approx(found.detectable))


@settings(max_examples=40)
@given(pairs(), st.sampled_from([0.01, 0.05, 0.2]))
def test_the_p_value_is_that_of_the_interval(arms: tuple[Sides, Sides], alpha: float) -> None:
    found = PairedBootstrap(len(arms[0].numerators), resamples=2_000).difference(arms[0], arms[1], alpha)
    if found.p is None or found.low is None or found.high is None or found.value is None:
        return
    assert -1 <= found.low <= found.value <= found.high <= 1
    # Draws are finitely many, so that p and a bound may part company right at the edge.
    if abs(found.p - alpha) > 0.3 * alpha:
        assert (found.p < alpha) == (found.low > 1e-9 or found.high < -1e-9)


@settings(max_examples=20)
@given(pairs(), st.randoms(use_true_random=False))
def test_the_order_of_conversations_changes_no_more_than_the_draws(
    arms: tuple[Sides, Sides], random: np.random.RandomState
) -> None:
    order = list(range(len(arms[0].numerators)))
    random.shuffle(order)
    shuffled = [Sides(arm.numerators[order], arm.denominators[order]) for arm in arms]
    bootstrap = PairedBootstrap(len(order), resamples=20_000)
    found = bootstrap.difference(arms[0], arms[1], 0.05)
    again = bootstrap.difference(shuffled[0], shuffled[1], 0.05)
    assert again.value == (None if found.value is None else pytest.approx(found.value))
    if found.low is not None and found.high is not None:
        assert (again.low, again.high) == pytest.approx((found.low, found.high), abs=0.15)


def test_the_same_seed_gives_the_same_numbers() -> None:
    first, second = (PairedBootstrap(6, seed=3).difference(RECALL, LOWER, 0.05) for _ in range(2))
    other = PairedBootstrap(6, seed=4).difference(RECALL, LOWER, 0.05)
    assert first == second
    assert (other.low, other.high) != (first.low, first.high)


def test_arms_that_differ_nowhere_could_still_differ_elsewhere() -> None:
    """The interval does not shrink to a point, and is what one flip either way would make likely."""
    for n in (10, 28, 78):
        arm = Sides(np.ones(n), np.ones(n))
        found = PairedBootstrap(n).difference(arm, arm, 0.05)
        assert found.value == 0
        assert found.low == pytest.approx(-(found.high or 0))
        assert 1.5 / n < (found.high or 0) < 4 / n
        assert found.p == 1.0
        assert (found.detectable or 0) > (found.high or 0)


def test_more_arms_make_what_can_be_detected_larger_and_nothing_else() -> None:
    arms = [Sides(np.tile(each.numerators, 4), np.ones(40)) for each in (SUCCESS, WORSE)]
    alone, among = (PairedBootstrap(40).difference(*arms, 0.05, tests) for tests in (1, 5))
    assert (alone.value, alone.low, alone.p) == (among.value, among.low, among.p)
    assert (among.detectable or 0) > (alone.detectable or 0)


def test_a_rate_that_is_none_has_no_difference() -> None:
    nothing = Sides(np.zeros(10), np.zeros(10))
    found = PairedBootstrap(10).difference(SUCCESS, nothing, 0.05)
    assert (found.value, found.low, found.high, found.p, found.detectable) == (None,) * 5


def test_one_conversation_has_a_difference_and_no_interval() -> None:
    one = Sides(np.ones(1), np.ones(1))
    none = Sides(np.zeros(1), np.ones(1))
    found = PairedBootstrap(1).difference(one, none, 0.05)
    assert (found.value, found.low, found.high, found.p) == (-1.0, None, None, None)


MANY = 400


def many() -> tuple[Sides, Sides]:
    """Two arms over many conversations, of which most are like others."""
    generator = np.random.default_rng(7)
    calls = generator.integers(1, 4, MANY).astype(float)
    before = generator.binomial(calls.astype(int), 0.8).astype(float)
    after = np.where(generator.random(MANY) < 0.2, np.maximum(before - 1, 0), before)
    return Sides(before, calls), Sides(after, calls)


def test_conversations_that_are_alike_can_be_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    baseline, arm = many()
    each = PairedBootstrap(MANY).difference(baseline, arm, 0.05)
    monkeypatch.setattr(rates, "LARGE", MANY - 1)
    together = PairedBootstrap(MANY).difference(baseline, arm, 0.05)
    assert each.low is not None
    assert each.high is not None
    assert (together.value, together.test) == (each.value, each.test)
    # A bound moves by about a hundredth of the interval from seed to seed.
    assert (together.low, together.high) == pytest.approx(
        (each.low, each.high), abs=0.03 * (each.high - each.low)
    )
    assert together.detectable == pytest.approx(each.detectable, rel=0.03)
    exchanged = PairedBootstrap(MANY).difference(arm, baseline, 0.05)
    assert exchanged.low is not None
    assert exchanged.high is not None
    assert (-exchanged.high, -exchanged.low, exchanged.p) == pytest.approx(
        (together.low, together.high, together.p)
    )


@pytest.mark.parametrize("kinds", [1, 3, 40])
def test_rows_that_are_alike_are_found_in_order(kinds: int) -> None:
    rows = np.random.default_rng(kinds).integers(-kinds, kinds, (500, 4)) / 3
    for found, expected in zip(paired._kinds(rows), np.unique(rows, axis=0, return_counts=True), strict=True):
        assert np.array_equal(found, expected)


def test_draws_are_the_same_however_many_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    baseline, arm = many()
    found = []
    for at_once in (1 << 20, 10_000):
        monkeypatch.setattr(paired, "_AT_ONCE", at_once)
        found.append(PairedBootstrap(MANY).difference(baseline, arm, 0.05))
    assert found[0] == found[1]
