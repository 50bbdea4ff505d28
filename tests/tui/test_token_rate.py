"""Tokens a second of what is being written."""

import pytest

from rig.core.calls import StepPlace
from tui.live.live_run import TokenRate


def test_it_is_told_from_the_second_look_on() -> None:
    rate = TokenRate()
    rate.tell("alarms", StepPlace(1, 0), 4, 10.0)
    assert rate.per_second is None
    rate.tell("alarms", StepPlace(1, 0), 24, 10.5)
    assert rate.per_second == pytest.approx(40)


def test_only_the_last_seconds_count() -> None:
    rate = TokenRate()
    for second in range(10):
        rate.tell("alarms", StepPlace(1, 0), 10 * second + 1, float(second))
    for second in range(10, 20):
        rate.tell("alarms", StepPlace(1, 0), 91 + 50 * (second - 9), float(second))
    assert rate.per_second == pytest.approx(50)


def test_another_step_and_an_end_begin_anew() -> None:
    rate = TokenRate()
    rate.tell("alarms", StepPlace(1, 0), 4, 10.0)
    rate.tell("alarms", StepPlace(1, 0), 24, 11.0)
    rate.tell("alarms", StepPlace(1, 1), 4, 12.0)
    assert rate.per_second is None
    rate.tell("alarms", None, 0, 13.0)
    assert rate.per_second is None
    rate.tell("alarms", StepPlace(1, 1), 8, 14.0)
    assert rate.per_second is None


def test_a_clock_that_stands_gives_no_rate() -> None:
    rate = TokenRate()
    rate.tell("alarms", StepPlace(1, 0), 4, 10.0)
    rate.tell("alarms", StepPlace(1, 0), 24, 10.0)
    assert rate.per_second is None
