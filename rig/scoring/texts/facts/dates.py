"""Days that a text states: weekdays, dates, and days relative to the day it was written on."""

import re
from collections.abc import Iterator

from rig.scoring.texts.facts.fact import Fact, Sort
from rig.scoring.texts.facts.numerals import ORDINAL_ENDINGS, ORDINALS
from rig.scoring.texts.facts.scan import Scan
from rig.scoring.texts.reading.listed import in_order, vocabulary

WEEKDAYS = in_order("monday tuesday wednesday thursday friday saturday sunday")
MONTHS = in_order("january february march april may june july august september october november december")
SHORT = {"jan": "january", "sat": "saturday", "sun": "sunday", "mar": "march"}
AMBIGUOUS = vocabulary("may march sat sun mar august jan")
RELATIVE = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}
PARTS = {
    "morning": "morning",
    "afternoon": "afternoon",
    "evening": "evening",
    "night": "evening",
    "tonight": "evening",
    "sunrise": "morning",
    "sunset": "evening",
}
UNITS = vocabulary("day week weekend month year quarter semester term season time")
WHICH = {
    "this": ("this",),
    "current": ("this",),
    "coming": ("this", "next"),
    "upcoming": ("this", "next"),
    "next": ("next",),
    "following": ("next",),
    "last": ("last",),
    "previous": ("last",),
    "past": ("last",),
    "every": ("every",),
    "each": ("every",),
}
SAME_UNIT = {"weekday": "week", "weekend": "week"}
"""Tuesday next week is next Tuesday."""
OFTEN = {
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "yearly": "year",
    "annual": "year",
    "annually": "year",
}
BEFORE_MONTH = vocabulary("in of by until since for this next last early late through my our your")
BEFORE_DAY = vocabulary("on this next last by every until before after and for")
NOUNLESS = vocabulary(
    "and or to at in on of for with from by until till through but is are was will so because if "
    "then as please due we i you he she they it between this next before after also too be not"
)
"""What can follow a day or a time of day, so that it does not number a thing."""
SPANS = vocabulary("- – — to and until till through or")
_ISO = re.compile(r"\d{4}-\d{1,2}-\d{1,2}")


def dates(scan: Scan) -> Iterator[Fact]:
    """The facts about days, most telling first; marks their words as read."""
    for find in (_numeric, _month, _weekday, _relative, _lone_day):
        for at in range(len(scan.words)):
            if scan.free(at):
                yield from find(scan, at)


def _numeric(scan: Scan, at: int) -> Iterator[Fact]:
    """2024-09-15, 9/15, 15/9/24"""
    if _ISO.fullmatch(scan.text(at)):
        year, month, day = (int(part) for part in scan.text(at).split("-"))
        if 1 <= month <= 12 and 1 <= day <= 31:
            said = scan.take(at, at + 1)
            yield Fact(Sort.YEAR, frozenset({year}), said)
            yield Fact(Sort.MONTH, frozenset({month}), said)
            yield Fact(Sort.DAY, frozenset({day}), said)
        return
    one, other = scan.number(at), scan.number(at + 2)
    if scan.text(at + 1) != "/" or one is None or other is None or (one, other) == (24, 7):
        return
    readings = [(m, d) for m, d in ((one, other), (other, one)) if 1 <= m <= 12 and 1 <= d <= 31]
    if not readings:
        return
    end = at + 3
    if scan.text(at + 3) == "/" and (value := scan.number(at + 4, digits=4)) is not None:
        end = at + 5
        yield Fact(Sort.YEAR, frozenset({value if value > 99 else 2000 + value}), scan.take(at + 4, end))
    said = scan.take(at, end)
    yield Fact(Sort.MONTH, frozenset(m for m, _ in readings), said)
    yield Fact(Sort.DAY, frozenset(d for _, d in readings), said)


def _month(scan: Scan, at: int) -> Iterator[Fact]:
    """September 4th, 4 September, the 15th of May, 3 to 7 August, in March"""
    text = SHORT.get(scan.text(at), scan.text(at))
    if text not in MONTHS:
        return
    days, start = _days_before(scan, at)
    end = at + 1
    if not days:
        days, end = _days_after(scan, at + 1)
    if not days and scan.text(at) in AMBIGUOUS:
        told = scan.words[at].capital and not scan.words[at].first
        if scan.text(at - 1) not in BEFORE_MONTH or not (told or text == "august"):
            return
    said = scan.take(start, end)
    yield Fact(Sort.MONTH, frozenset({MONTHS.index(text) + 1}), said)
    for day in days:
        yield Fact(Sort.DAY, frozenset({day}), said, day)
    year = end + (scan.text(end) == ",")
    if scan.text(year)[:2] in ("19", "20") and (value := scan.number(year, digits=4)) and value > 999:
        yield Fact(Sort.YEAR, frozenset({value}), scan.take(year, year + 1))


def _days_before(scan: Scan, month: int) -> tuple[list[int], int]:
    """The days of the month that stand before it, and where they begin."""
    found = _day_ending(scan, month - (scan.text(month - 1) == "of"))
    if found is None:
        return [], month
    day, start = found
    if scan.text(start - 1) in SPANS and (other := _day_ending(scan, start - 1)):
        return [day, other[0]], other[1]
    return [day], start


def _days_after(scan: Scan, at: int) -> tuple[list[int], int]:
    """The days of the month that begin at an index or after "the", and the index after them."""
    days: list[int] = []
    end, following = at, at + (scan.text(at) == "the")
    while (found := _day(scan, following)) and len(days) < 3:
        days.append(found[0])
        end = found[1]
        if scan.text(end) not in SPANS:
            break
        following = end + 1
    return days, end


def _day(scan: Scan, at: int) -> tuple[int, int] | None:
    """The day of the month that begins at an index, and the index after it."""
    if not scan.free(at):
        return None
    text, end = scan.text(at), at + 1
    value = scan.number(at)
    if value is None:
        value = ORDINALS.get(text)
    if text in ("twenty", "thirty") and (last := ORDINALS.get(scan.text(end))):
        value, end = {"twenty": 20, "thirty": 30}[text] + last, end + 1
    if value is None or not 1 <= value <= 31:
        return None
    if scan.text(end) in ORDINAL_ENDINGS and scan.joined(end):
        end += 1
    return (value, end) if scan.text(end) not in (":", "am", "pm", "%") else None


def _day_ending(scan: Scan, end: int) -> tuple[int, int] | None:
    """The day of the month that ends before an index, and where it begins."""
    for start in (end - 1, end - 2, end - 3):
        found = _day(scan, start)
        if found and found[1] == end:
            return found[0], start
    return None


def _weekday(scan: Scan, at: int) -> Iterator[Fact]:
    word = scan.words[at]
    text = SHORT.get(word.text, word.text)
    if text not in WEEKDAYS:
        text = text.removesuffix("s")
    if text not in WEEKDAYS:
        return
    if word.text in AMBIGUOUS and not (word.capital or scan.text(at - 1) in BEFORE_DAY):
        return
    yield Fact(Sort.WEEKDAY, frozenset({text}), scan.take(at, at + 1))
    yield from _which(scan, at, "weekday")


def _which(scan: Scan, at: int, unit: str) -> Iterator[Fact]:
    """As in: next week, every other day."""
    if scan.text(at - 1) in ("other", "second") and scan.text(at - 2) in ("every", "each"):
        yield Fact(Sort.WHICH, frozenset({("every other", unit)}), scan.take(at - 2, at + 1))
        return
    which = WHICH.get(scan.text(at - 1))
    if which and scan.free(at - 1) and (unit != "day" or "every" in which):
        values = frozenset((each, SAME_UNIT.get(unit, unit)) for each in which)
        yield Fact(Sort.WHICH, values, scan.take(at - 1, at + 1))


def _relative(scan: Scan, at: int) -> Iterator[Fact]:
    """As in: tomorrow, in the morning, next week, weekly"""
    text = scan.text(at)
    if text in RELATIVE:
        offset = RELATIVE[text]
        if (scan.text(at - 2), scan.text(at - 1), text) == ("day", "after", "tomorrow"):
            offset = 2
        if (scan.text(at - 2), scan.text(at - 1), text) == ("day", "before", "yesterday"):
            offset = -2
        yield Fact(Sort.RELATIVE, frozenset({offset}), scan.take(at, at + 1))
    if text in PARTS:
        if scan.text(at - 1) == "this":  # this evening is tonight
            yield Fact(Sort.RELATIVE, frozenset({0}), scan.take(at - 1, at + 1))
        yield Fact(Sort.PART, frozenset({PARTS[text]}), scan.take(at, at + 1))
    if text in OFTEN:
        yield Fact(Sort.WHICH, frozenset({("every", OFTEN[text])}), scan.take(at, at + 1))
    unit = text.removesuffix("s")
    if unit in UNITS:
        if unit == "weekend" or (unit == "week" and scan.text(at - 2) == "during"):
            yield Fact(Sort.RELATIVE, frozenset({unit}), scan.take(at, at + 1))
        yield from _which(scan, at, unit)


def _lone_day(scan: Scan, at: int) -> Iterator[Fact]:
    """As in: the 15th, where no noun follows."""
    found = _day(scan, at)
    if found is None:
        return
    value, end = found
    digits = scan.text(at).isdecimal()
    if (digits and end == at + 1) or (not digits and (scan.text(at - 1) != "the" or value < 3)):
        return
    following = scan.text(end)
    if following[:1].isalpha() and following not in NOUNLESS:
        return
    yield Fact(Sort.DAY, frozenset({value}), scan.take(at, end), value)
