from datetime import date, timedelta

import pytest
from conversations.dates import disagreement
from hypothesis import given
from hypothesis import strategies as st

MONDAY = date(2025, 12, 29)


@pytest.mark.parametrize(
    ("phrase", "meant"),
    [
        ("tomorrow", "2025-12-30"),
        ("the day after tomorrow", "2025-12-31"),
        ("tonight", "2025-12-29"),
        ("yesterday", "2025-12-28"),
        ("Friday", "2026-01-02"),
        ("this Monday", "2026-01-05"),
        ("Friday the 9th", "2026-01-09"),
        ("the 31st", "2025-12-31"),
        ("January 6", "2026-01-06"),
        ("the 6th of January", "2026-01-06"),
        ("in three days", "2026-01-01"),
        ("in 2 weeks", "2026-01-12"),
        ("in a week", "2026-01-05"),
        ("on may 3", "2026-05-03"),
    ],
)
def test_understood(phrase: str, meant: str) -> None:
    assert disagreement(phrase, MONDAY, date.fromisoformat(meant)) is None


@pytest.mark.parametrize(
    ("phrase", "meant", "reason"),
    [
        ("tomorrow", "2025-12-31", "tomorrow is 2025-12-30"),
        ("the day after tomorrow", "2025-12-30", "day after tomorrow is 2025-12-31"),
        ("Friday", "2026-01-03", "a Saturday"),
        ("Friday", "2026-01-09", "comes next"),
        ("Friday the 9th", "2026-01-02", "not 9th"),
        ("January 6", "2026-02-06", "not in January"),
        ("in three days", "2026-01-02", "is 2026-01-01"),
        ("when it may suit", "2026-05-03", "no date is understood"),
        ("soon", "2025-12-30", "no date is understood"),
    ],
)
def test_disagrees(phrase: str, meant: str, reason: str) -> None:
    found = disagreement(phrase, MONDAY, date.fromisoformat(meant))
    assert found is not None
    assert reason in found


@given(st.dates(date(2020, 1, 1), date(2030, 1, 1)), st.integers(1, 7))
def test_a_weekday_means_the_next_one(today: date, distance: int) -> None:
    meant = today + timedelta(days=distance)
    assert disagreement(f"on {meant:%A}", today, meant) is None
    assert disagreement(f"on {meant:%A}", today, meant + timedelta(days=7)) is not None
    assert disagreement(f"on {meant:%A}", today, meant + timedelta(days=1)) is not None
