"""Numbers for people."""

import pytest

from rig.core.metrics import Declaration, Metric
from rig.show.texts import clock_time, headline, percent, rate


@pytest.mark.parametrize(("value", "text"), [(None, "-"), (0.0, "0.0%"), (0.0357, "3.6%"), (1.0, "100.0%")])
def test_percent(value: float | None, text: str) -> None:
    assert percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0.42, "0.4"), (9.99, "10.0"), (58.4, "58"), (1234.5, "1234")]
)
def test_rate(value: float | None, text: str) -> None:
    assert rate(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0:00"), (59.6, "1:00"), (61, "1:01"), (3600, "1:00:00"), (7325, "2:02:05")]
)
def test_clock_time(value: float, text: str) -> None:
    assert clock_time(value) == text


def test_an_arm_whose_tasks_are_of_several_kinds_has_a_rate_for_each() -> None:
    kinds = [Metric(name, name, f"right.{name}", f"all.{name}") for name in ("simple", "hard")]
    counts = {"right": 3, "right.simple": 3, "all.simple": 4, "right.hard": 0, "all.hard": 5}
    several = Declaration(metrics=tuple(kinds), success="right")
    assert headline(several, counts) == "simple 75.0% · hard 0.0%"
    assert headline(several._replace(metrics=(kinds[1],)), counts) == "0.0%"
    whole = Metric("rate", "success", "right")
    assert headline(several._replace(metrics=(*kinds, whole)), {**counts, "tasks": 6}) == "50.0%"
    assert headline(Declaration(), counts) == "-"
