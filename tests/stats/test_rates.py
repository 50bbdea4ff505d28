"""Intervals of one arm's rates."""

import counted
import numpy as np
import pytest
import simulated_suites
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from rig.plugins.tooltalk.scoring import DECLARATION
from rig.stats import estimates, interval

Array = NDArray[np.float64]


@st.composite
def counts(draw: st.DrawFn) -> tuple[Array, Array]:
    """Matches and calls of up to 40 conversations, with a call in at least one."""
    calls = draw(st.lists(st.integers(0, 8), min_size=1, max_size=40).filter(any))
    return (
        np.array([float(draw(st.integers(0, most))) for most in calls]),
        np.array(calls, dtype=float),
    )


@pytest.mark.parametrize("n", [1, 5, 28, 78])
def test_of_outcomes_that_are_all_by_themselves_it_is_wilsons(n: int) -> None:
    for right in range(n + 1):
        outcomes = np.array([1.0] * right + [0.0] * (n - right))
        found = interval(outcomes, np.ones(n), 0.05)
        expected = stats.binomtest(right, n).proportion_ci(0.95, method="wilson")
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("n", [28, 50, 78])
def test_success_is_covered_whatever_the_true_rate(n: int) -> None:
    """Exactly: every outcome with its probability. Single rates may fall below, as Wilson's does."""
    bounds = [interval(np.arange(n) < right, np.ones(n), 0.05) for right in range(n + 1)]
    low, high = (np.array([getattr(found, name) for found in bounds]) for name in ("low", "high"))
    rates = np.linspace(0.02, 0.98, 97)
    covered = [stats.binom.pmf(np.arange(n + 1), n, p)[(low <= p) & (p <= high)].sum() for p in rates]
    assert 0.945 < np.mean(covered) < 0.965
    assert min(covered) > 0.92


@pytest.mark.slow
@pytest.mark.parametrize(
    "scenario",
    [
        simulated_suites.Scenario(78, (1.5, 1.5)),
        simulated_suites.Scenario(28, (3.0, 3.0), (0.1, 0.1)),
        simulated_suites.Scenario(28, (5.0, 5.0), (0.02, 0.02)),
        simulated_suites.Scenario(78, (-4.0, -4.0), (3.0, 3.0)),
        simulated_suites.Scenario(50, (1.5, 1.5), repeats=5),
    ],
    ids=str,
)
def test_rates_over_calls_are_covered_though_calls_of_a_conversation_are_alike(
    scenario: simulated_suites.Scenario,
) -> None:
    found = simulated_suites.simulate(scenario, 1_000, seed=7)
    truths = simulated_suites.true_rates(scenario)
    for metric, sides in found.items():
        numerators, denominators = sides[0]
        covered = 0
        for right, calls in zip(numerators, denominators, strict=True):
            bounds = interval(right, calls, 0.05, scenario.repeats * calls.sum())
            assert bounds.low is not None
            assert bounds.high is not None
            covered += bounds.low <= truths[metric][0] <= bounds.high
        assert covered >= 930, metric


def test_where_all_conversations_agree_each_counts_once() -> None:
    """Not each call: those of a conversation may stand and fall together."""
    found = interval(np.full(10, 4.0), np.full(10, 4.0), 0.05)
    quantile = stats.t.ppf(0.975, 9)
    assert found.value == found.high == 1.0
    assert found.low == pytest.approx(1 / (1 + quantile**2 / 10))


def test_conversations_without_a_denominator_say_nothing() -> None:
    right, calls = np.array([1.0, 0.0, 2.0]), np.array([2.0, 1.0, 3.0])
    nothing = np.zeros(20)
    alone = interval(right, calls, 0.05)
    padded = interval(np.append(right, nothing), np.append(calls, nothing), 0.05)
    assert padded.value == alone.value
    assert interval(nothing, nothing, 0.05).value is None
    assert interval(nothing, nothing, 0.05).low is None


def test_one_conversation_of_several_calls_says_nothing_of_others() -> None:
    found = interval(np.array([3.0]), np.array([4.0]), 0.05)
    assert (found.value, found.low, found.high) == (0.75, 0.0, 1.0)


@given(counts(), st.sampled_from([0.01, 0.05, 0.2]))
def test_bounds_hold_the_rate_and_mirror_it(both: tuple[Array, Array], alpha: float) -> None:
    right, calls = both
    found, mirrored = interval(right, calls, alpha), interval(calls - right, calls, alpha)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert mirrored.low is not None
    assert mirrored.high is not None
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert (found.low, found.high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low), abs=1e-9)


@given(counts(), st.randoms(use_true_random=False))
def test_the_order_of_conversations_is_of_no_account(
    both: tuple[Array, Array], random: np.random.RandomState
) -> None:
    order = list(range(len(both[0])))
    random.shuffle(order)
    found = interval(*both, 0.05)
    again = interval(both[0][order], both[1][order], 0.05)
    assert (found.low, found.high) == pytest.approx((again.low, again.high), abs=1e-9)


@given(counts())
def test_a_higher_level_gives_a_wider_interval(both: tuple[Array, Array]) -> None:
    narrow, wide = interval(*both, 0.2), interval(*both, 0.01)
    assert narrow.low is not None
    assert wide.low is not None
    assert wide.low <= narrow.low


def test_the_rates_of_an_arm_so_far_take_repeats_of_a_conversation_together() -> None:
    right = counted.counts(successes=1, predictions=2, ground_truths=2, matches=2)
    wrong = counted.counts(predictions=1, ground_truths=2, matches=1)
    found = estimates([("a", right), ("b", wrong), ("a", wrong)], DECLARATION)
    assert found.keys() == {metric.name for metric in DECLARATION.metrics}
    assert found["success_rate"] == interval(np.array([0.5, 0.0]), np.ones(2), 0.05, 3.0)
    assert found["recall"] == interval(np.array([1.5, 1.0]), np.array([2.0, 2.0]), 0.05, 6.0)
    assert found["incorrect_action_rate"].value is None
    assert estimates([], DECLARATION) == {}
