"""What a suite could have detected: exact power against enumeration, and against simulated suites."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rig.stats.paired import PairedBootstrap, exact_mcnemar
from rig.stats.power import detectable_difference, detectable_success_loss, mcnemar_power
from rig.stats.rates import Sides


def enumerated_power(n: int, gain: float, loss: float, alpha: float) -> float:
    """Every table of won and lost conversations with its probability and its test."""
    return float(
        sum(
            stats.multinomial.pmf([won, lost, n - won - lost], n, [gain, loss, 1 - gain - loss])
            for won in range(n + 1)
            for lost in range(n + 1 - won)
            if exact_mcnemar(won, lost) <= alpha
        )
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 22), st.floats(0, 0.5), st.floats(0, 0.5), st.sampled_from([0.05, 0.0125]))
def test_power_is_that_of_all_tables(n: int, gain: float, loss: float, alpha: float) -> None:
    assert mcnemar_power(n, gain, loss, alpha) == pytest.approx(
        enumerated_power(n, gain, loss, alpha), abs=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize(("n", "won", "lost"), [(28, 0, 0), (28, 3, 4), (78, 0, 0), (78, 5, 6), (78, 12, 10)])
def test_a_loss_of_the_detectable_size_is_found_in_four_suites_of_five(n: int, won: int, lost: int) -> None:
    loss = detectable_success_loss(n, won, lost, 0.05)
    assert loss is not None
    noise = (won + lost) / (2 * n)
    drawn = np.random.default_rng(n + won).multinomial(
        n, [noise, noise + loss, 1 - 2 * noise - loss], size=2_000
    )
    found = np.mean([exact_mcnemar(int(won), int(lost)) <= 0.05 for won, lost, _ in drawn])
    assert found == pytest.approx(0.8, abs=0.03)


def test_more_noise_and_fewer_conversations_hide_more() -> None:
    found = [detectable_success_loss(78, flips, flips, 0.05) or 1 for flips in range(12)]
    assert found == sorted(found)
    small = [detectable_success_loss(n, 0, 0, 0.05) or 1 for n in (10, 28, 50, 78, 500)]
    assert small == sorted(small, reverse=True)


def test_five_conversations_can_show_nothing() -> None:
    assert detectable_success_loss(5, 0, 0, 0.05) is None
    assert detectable_success_loss(6, 0, 0, 0.05) is not None
    assert detectable_success_loss(10, 5, 5, 0.05) is None


@pytest.mark.slow
def test_a_difference_of_the_detectable_size_is_found_in_four_suites_of_five() -> None:
    """Recall of 40 conversations with 4 calls each, from skills that vary; the arm has a part less of them.

    Skills are such that the loss adds no spread of its own, which the formula takes for granted.
    """
    draw = np.random.default_rng(11)
    n, calls, skill = 40, np.full(40, 4.0), 0.58
    bootstrap = PairedBootstrap(n, resamples=2_000)

    def suite(loss: float) -> tuple[Sides, Sides]:
        skills = draw.beta(8 * skill, 8 * (1 - skill), size=n)
        arms = (skills, skills * (1 - loss / skill))
        first, second = (Sides(draw.binomial(4, each).astype(float), calls) for each in arms)
        return first, second

    null = [bootstrap.difference(*suite(0.0), 0.05) for _ in range(200)]
    size = float(np.mean([each.detectable for each in null if each.detectable]))
    found = [bootstrap.difference(*suite(size), 0.05) for _ in range(800)]
    assert np.mean([each.value for each in found]) == pytest.approx(-size, abs=0.005)
    assert np.mean([each.p is not None and each.p <= 0.05 for each in found]) == pytest.approx(0.8, abs=0.05)


def test_nothing_larger_than_everything_is_detectable() -> None:
    assert detectable_difference(0.1, 78, 0.05) == pytest.approx(
        0.1 * (stats.t.ppf(0.975, 77) + stats.t.ppf(0.8, 77))
    )
    assert detectable_difference(0.5, 78, 0.05) is None
    assert detectable_difference(0.1, 1, 0.05) is None
