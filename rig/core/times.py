"""The formats of dates and times: one table for schemas, tools, grammars and scoring."""

from collections.abc import Mapping
from datetime import datetime, time
from functools import lru_cache
from typing import NamedTuple

TIME = "%H:%M:%S"
INSTANT = "%Y-%m-%d %H:%M:%S"
DATE = "%Y-%m-%d"


class DateTimeFormat(NamedTuple):
    """A format of dates or times: for strptime, in words, and as an example."""

    pattern: str
    words: str
    example: str


FORMS: Mapping[str, DateTimeFormat] = {
    "time": DateTimeFormat(TIME, "HH:MM:SS", "18:30:00"),
    "datetime": DateTimeFormat(INSTANT, "YYYY-MM-DD HH:MM:SS", "2024-03-05 18:30:00"),
    "date": DateTimeFormat(DATE, "YYYY-MM-DD", "2024-03-05"),
}
"""Formats by the name that a schema gives them in `x-format`."""

WHOLE_DAY = frozenset({time(0, 0), time(23, 59)})
"""Times of day that stand for no time: a date such as "on Friday" is written with one of them."""


@lru_cache(maxsize=4096)  # scoring reads the same few over and over
def read(text: str, pattern: str) -> datetime:
    """Read a date or time without a zone. Raises ValueError for another form, TypeError if it is no text."""
    return datetime.strptime(text, pattern)  # noqa: DTZ007 - the mock worlds have no zones


def read_or_none(text: str, pattern: str) -> datetime | None:
    """Read a date or time as `read` does, but return None for another form."""
    try:
        return read(text, pattern)
    except ValueError:
        return None


def read_any(text: str) -> tuple[datetime, bool, bool] | None:
    """Read an instant, a time or a date, and whether it has a day and a time of day; None for other forms."""
    for pattern in (INSTANT, TIME, DATE):
        if (moment := read_or_none(text, pattern)) is not None:
            return moment, "%Y" in pattern, "%H" in pattern
    return None


def minute_of(instant: datetime) -> time:
    """Return the time of day without seconds."""
    return time(instant.hour, instant.minute)
