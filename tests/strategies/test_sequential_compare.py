"""Tests for simulated runs until a verdict: findings are seldom false, and arms play less than the first."""

import numpy as np
import pytest

from benchmarks.comparing.looking import play, suites, wrong
from rig.plugins.strategies.sequential import LossTest

CONVERSATIONS = 28
SUITES = 1_000
TEST = LossTest(0.05, CONVERSATIONS, step=1.0)


@pytest.mark.parametrize(("base", "loss"), [(0.3, 0.04), (0.5, 0.05), (0.9, 0.06)])
def test_what_is_left_out_makes_no_more_findings_false(base: float, loss: float) -> None:
    first, differences = suites(CONVERSATIONS, base, loss, 0.1, SUITES)
    played = play(TEST, first, differences)
    assert wrong(differences, played.shown).mean() <= 0.05
    assert (played.first >= 1).all()
    assert (played.other <= played.first).all()


def test_an_arm_that_loses_nothing_plays_only_what_the_first_gets_right() -> None:
    first, differences = suites(CONVERSATIONS, 0.3, 0.0, 0.0, 100)
    played = play(TEST, first, differences)
    assert not played.shown.any()
    assert played.first.mean() == pytest.approx(TEST.evidence(np.zeros(CONVERSATIONS)).decided)
    assert played.other.mean() / played.first.mean() < 0.4


def test_a_great_loss_is_shown_as_soon_as_if_everything_were_played() -> None:
    first, differences = suites(CONVERSATIONS, 0.7, 0.3, 0.0, 100)
    found = play(TEST, first, differences)
    everything = play(TEST, np.ones_like(first), differences)
    assert found.shown.mean() > 0.9
    assert found.first.mean() <= everything.first.mean() + 0.5
    assert found.other.mean() <= everything.other.mean() + 0.5
