"""Tests for the bound on all rules that stop early: what it is made of, and that rig's own keeps to it."""

from math import comb

import numpy as np
import pytest

from benchmarks.comparing.bound import SIZE, Suite, best
from rig.plugins.strategies.sequential import LossTest

CONVERSATIONS = 12
LOSS, BOTH_WAYS = 0.3, 0.1


@pytest.fixture(scope="module")
def suite() -> Suite:
    return Suite(CONVERSATIONS, LOSS, BOTH_WAYS)


def orders(suite: Suite, played: int) -> np.ndarray:
    """How many orders there are of so many lost and won."""
    found = np.zeros(suite.lost.shape)
    for lost in range(played + 1):
        for won in range(played + 1 - lost):
            found[lost, won] = comb(played, lost) * comb(played - lost, won)
    return found


@pytest.mark.parametrize("played", [0, 1, 5, 12])
def test_the_chances_of_all_orders_are_one(suite: Suite, played: int) -> None:
    for chances in (suite.alike(played), *(suite.of_suite(played, each) for each in suite.below)):
        assert (orders(suite, played) * chances).sum() == pytest.approx(1)


def test_the_suites_that_are_charged_for_are_those_just_on_either_side_of_the_size(suite: Suite) -> None:
    for (lost, won), is_loss in [(each, False) for each in suite.below] + [
        (each, True) for each in suite.least
    ]:
        assert lost + won <= CONVERSATIONS
        assert ((lost - won) / CONVERSATIONS >= SIZE) == is_loss
        assert ((lost + 1 - won) / CONVERSATIONS >= SIZE) or not is_loss


def test_who_may_be_wrong_more_often_can_stop_sooner(suite: Suite) -> None:
    bounds = [best(suite, alpha, 60) for alpha in (0.01, 0.05, 0.3, 1.0)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > bounds[1] > 0
    assert bounds[-1] == 0


def test_rigs_own_rule_is_not_below_the_bound(suite: Suite) -> None:
    draw = np.random.default_rng(4)
    chances = [LOSS + BOTH_WAYS / 2, BOTH_WAYS / 2, 1 - LOSS - BOTH_WAYS]
    drawn = draw.choice([-1.0, 1.0, 0.0], p=chances, size=(2_000, CONVERSATIONS))
    test = LossTest(SIZE, CONVERSATIONS, step=1.0)
    found = np.array([each >= test.needed for each in test.e_processes(drawn).values()]).any(0)
    played = np.where(found.any(-1), found.argmax(-1) + 1, CONVERSATIONS).mean()
    assert 0 < best(suite, 0.05, 60) < played
