"""A trial measures how fast arms play, keeps nothing, and ends in time."""

import time
from pathlib import Path

import graded_talks
import pytest
import small_talks

from rig.core.errors import RigError
from rig.methods.scripted import Oracle, Scripted
from rig.plugins.plan.trial import try_out
from rig.running.plan import Plan


def slow(number: int, delay_s: float) -> Scripted:
    right = Oracle(graded_talks.conversations(number))
    return Scripted(lambda request: right.predict(request, lambda _: None), delay_s=delay_s)


def plan(tmp_path: Path, *models: Scripted, number: int) -> Plan:
    return small_talks.plan(
        tmp_path / "runs.sqlite", *models, conversations=graded_talks.conversations(number)
    )


@pytest.mark.slow
def test_arms_play_for_as_long_as_they_may_and_nothing_is_kept(tmp_path: Path) -> None:
    """Each turn has two steps of 20 and 60 milliseconds."""
    began = time.monotonic()
    fast, heavy = try_out(plan(tmp_path, slow(200, 0.02), slow(200, 0.06), number=200), 1.5)
    assert time.monotonic() - began < 10
    assert 3 < fast.turns < 200
    assert fast.turns > 1.5 * heavy.turns
    assert fast.conversations <= fast.turns / 2
    per_turn = heavy.seconds_for(1)
    assert per_turn is not None
    assert 0.12 < per_turn < 0.4
    assert list(tmp_path.iterdir()) == []


def test_a_suite_that_is_through_before_is_measured_whole(tmp_path: Path) -> None:
    [pace] = try_out(plan(tmp_path, slow(3, 0.0), number=3), 30)
    assert (pace.conversations, pace.turns) == (3, 6)


@pytest.mark.slow
def test_a_turn_that_takes_longer_ends_and_is_not_counted(tmp_path: Path) -> None:
    right = Oracle(graded_talks.conversations(1))
    endless = Scripted(lambda request: right.predict(request, lambda _: None), chunk=1, delay_s=0.2)
    [pace] = try_out(plan(tmp_path, endless, number=1), 0.5)
    assert pace.turns == 0
    assert pace.seconds_for(5) is None


def test_a_model_that_cannot_be_loaded_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RigError, match="no such weights"):
        try_out(small_talks.plan(tmp_path / "runs.sqlite", small_talks.unloadable), 1)
