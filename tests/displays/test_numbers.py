"""Numbers for people."""

import pytest

from rig.displays.numbers import clock_time, percent, rate


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
