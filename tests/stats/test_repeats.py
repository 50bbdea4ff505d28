"""pass^k and pass@k against every outcome there is; their intervals against the truth of simulated suites."""

from itertools import combinations, product

import numpy as np
import pytest

from rig.stats.repeats import all_pass, any_passes, reliability


@pytest.mark.parametrize("attempts", range(1, 7))
def test_estimates_are_those_of_every_choice_of_attempts(attempts: int) -> None:
    for outcome in product((0, 1), repeat=attempts):
        played, successes = np.array([attempts]), np.array([sum(outcome)])
        for k in range(1, attempts + 1):
            choices = list(combinations(outcome, k))
            assert all_pass(played, successes, k) == pytest.approx(np.mean([all(c) for c in choices]))
            assert any_passes(played, successes, k) == pytest.approx(np.mean([any(c) for c in choices]))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.93])
def test_they_are_unbiased(share: float) -> None:
    attempts = 5
    outcomes = np.array(list(product((0, 1), repeat=attempts)))
    successes = outcomes.sum(axis=1)
    played = np.full_like(successes, attempts)
    weights = share**successes * (1 - share) ** (attempts - successes)
    for k in range(1, attempts + 1):
        assert weights @ all_pass(played, successes, k) == pytest.approx(share**k)
        assert weights @ any_passes(played, successes, k) == pytest.approx(1 - (1 - share) ** k)


def test_of_more_attempts_than_there_were_nothing_is_known() -> None:
    assert np.isnan(all_pass(np.array([3, 3]), np.array([3, 0]), 4)).all()
    assert [estimate.k for estimate in reliability(np.array([3, 3, 3]), np.array([3, 2, 0]))] == [1, 2, 3]


def test_three_of_five() -> None:
    estimates = {estimate.k: estimate for estimate in reliability(np.array([5]), np.array([3]))}
    assert estimates[2].any_passes.value == pytest.approx(0.9)
    assert estimates[2].all_pass.value == pytest.approx(0.3)
    assert estimates[3].all_pass.value == pytest.approx(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("conversations", [28, 300])
@pytest.mark.parametrize("shape", [(8, 1), (0.5, 0.5), (30, 1)], ids=str)
def test_intervals_hold_the_truth_as_often_as_they_say(
    conversations: int, shape: tuple[float, float]
) -> None:
    random = np.random.default_rng(20_261_125)
    everyone = random.beta(*shape, 400_000)
    rounds, attempts = 150, 8
    truths = {k: ((everyone**k).mean(), (1 - (1 - everyone) ** k).mean()) for k in range(1, attempts + 1)}
    held = np.zeros((rounds, attempts, 2))
    for place in range(rounds):
        successes = random.binomial(attempts, random.beta(*shape, conversations))
        for estimate in reliability(np.full_like(successes, attempts), successes):
            rates = estimate.all_pass, estimate.any_passes
            for side, (rate, truth) in enumerate(zip(rates, truths[estimate.k], strict=True)):
                assert rate.low is not None
                assert rate.high is not None
                held[place, estimate.k - 1, side] = rate.low - 1e-9 <= truth <= rate.high + 1e-9
    # Of 150 intervals of 95% fewer than 133 hold the truth in one of 1,000 simulations.
    assert held.sum(axis=0).min() >= 133


def test_conversations_that_were_tried_more_often_count_with_all_their_attempts() -> None:
    estimates = list(reliability(np.array([4, 2]), np.array([2, 2])))
    assert [estimate.k for estimate in estimates] == [1, 2]
    assert estimates[1].all_pass.value == pytest.approx((1 / 6 + 1) / 2)
    assert list(reliability(np.array([], int), np.array([], int))) == []
