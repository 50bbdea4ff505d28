"""Agreement as ToolBench defines it, and kappa with an interval that covers chance."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.plugins.judging.calibration import accuracy, agreement, kappa, upstream

HUMANS = [[0, 0, 1, 1], [0, 0, 0, 1], [1, 1, 1, 1]]


@pytest.mark.parametrize(
    ("votes", "reference", "expected"),
    [
        ([0], [0, 0, 1, 1], 0.5),
        ([0, 1], [0, 0, 1, 1], 0.5),
        ([0, 0, 1, 1], [0, 0, 0, 1], 0.5),
        ([1, 1, 0, 1], [1], 1.0),
    ],
)
def test_agreement_is_upstreams(votes: list[int], reference: list[int], expected: float) -> None:
    assert agreement(votes, reference) == expected


def test_an_evaluators_row_is_upstreams() -> None:
    found = upstream([[0, 1, 0, 1], [1, 1, 1, 0], [1, 0, 1, 1]], HUMANS)
    assert found is not None
    assert found == (pytest.approx(0.5), pytest.approx(0.5), pytest.approx(0.125), pytest.approx(0.0))
    other = upstream([[0, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 1]], HUMANS)
    assert other is not None
    assert other[:3] == (pytest.approx(0.75), pytest.approx(0.166667, abs=1e-6), pytest.approx(0.0625))
    assert upstream([], []) is None


def test_kappa_is_cohens() -> None:
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: Cohen's kappa is 0.4.
    found = [1] * 25 + [0] * 25
    truth = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    measured = kappa(found, truth)
    assert measured.value == pytest.approx(0.4)
    assert measured.low is not None
    assert measured.high is not None
    assert 0.1 < measured.low < 0.4 < measured.high < 0.7
    assert accuracy(found, truth).value == 0.7


def test_who_always_says_the_same_or_guesses_is_at_chance() -> None:
    truth = [0, 1] * 30
    always = kappa([1] * 60, truth)
    assert (always.value, always.low) == (0, 0)
    guesses = random.Random(4)
    guessed = kappa([guesses.randint(0, 1) for _ in truth], truth)
    assert guessed.low is not None
    assert guessed.low <= 0
    undecided = kappa([None] * 60, truth)
    assert undecided.value == 0


@pytest.mark.slow
@settings(deadline=None, max_examples=10)
@given(st.lists(st.integers(0, 1), min_size=2, max_size=30))
def test_agreement_with_oneself_is_whole(truth: list[int]) -> None:
    found = kappa(truth, truth)
    assert found.value == pytest.approx(1 if len(set(truth)) > 1 else 0)
    assert accuracy(truth, truth).value == 1
