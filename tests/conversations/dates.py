"""Relative dates as people say them, held against the conversation's clock.

Only what can be decided is understood: weekdays, days of the month, months, and distances from today.
"""

import calendar
import re
from datetime import date, timedelta

_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_NEAR = {
    "day after tomorrow": 2,
    "tomorrow": 1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "yesterday": -1,
}
_NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}
_DISTANCE = re.compile(r"\bin (\w+) (day|week)s?\b")
_DAY = re.compile(rf"\b([0-3]?\d)(?:st|nd|rd|th)\b|\b(?:{'|'.join(_MONTHS)}) ([0-3]?\d)\b")
_FURTHEST = timedelta(days=7)


def disagreement(phrase: str, said_on: date, meant: date) -> str | None:
    """Why `phrase`, said on one day, cannot mean the other; None when it can."""
    words = phrase.lower()
    understood = False
    near = next((each for each in _NEAR if re.search(rf"\b{each}\b", words)), None)
    if near is not None:
        understood = True
        if meant != said_on + timedelta(days=_NEAR[near]):
            return f"{near} is {said_on + timedelta(days=_NEAR[near])}"
    if distance := _DISTANCE.search(words):
        count = _NUMBERS.get(distance[1]) or (int(distance[1]) if distance[1].isdecimal() else None)
        if count is not None:
            understood = True
            expected = said_on + timedelta(days=count * (7 if distance[2] == "week" else 1))
            if meant != expected:
                return f"{distance[0]} is {expected}"
    if number := _DAY.search(words):
        understood = True
        if meant.day != int(number[1] or number[2]):
            return f"{meant} is not {number[0]}"
    for name, month in _MONTHS.items():
        # "may" is also a verb; as a month it stands beside a number here.
        if re.search(rf"\b{name}\b", words) and (name != "may" or _DAY.search(words)):
            understood = True
            if meant.month != month:
                return f"{meant} is not in {name.title()}"
    for name, weekday in _WEEKDAYS.items():
        if re.search(rf"\b{name}s?\b", words):
            if meant.weekday() != weekday:
                return f"{meant} is a {meant:%A}"
            if not (understood or said_on < meant <= said_on + _FURTHEST):
                return f"{meant} is not the {name.title()} that comes next"
            understood = True
    return None if understood else "no date is understood in it"
