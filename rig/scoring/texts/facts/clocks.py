"""Times of day that a text states."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from rig.scoring.texts.facts.dates import NOUNLESS, PARTS, RELATIVE, SPANS, WEEKDAYS, WHICH
from rig.scoring.texts.facts.fact import Fact, Sort
from rig.scoring.texts.facts.numerals import small
from rig.scoring.texts.facts.scan import Scan
from rig.scoring.texts.reading.listed import vocabulary

INTRODUCING = vocabulary("at by around from until before after between till since about")
"""After these a bare number may be a time of day."""
POINTS = vocabulary("at by until till around about it's is")
"""After these comes one time and no span of time."""
FOREIGN_AT = vocabulary("a um vers des las ore alle")
"""Before "10h" these say "at" elsewhere."""
FOLLOWING = NOUNLESS | PARTS.keys() | RELATIVE.keys() | WHICH.keys() | {*WEEKDAYS, "sharp", "the"}
OCLOCK = frozenset(("oclock", "o'clock"))
TO, PAST = frozenset(("to", "till", "before")), frozenset(("past", "after"))
FIXED = {"noon": 12, "midday": 12, "midnight": 0}
_CLOCK = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?")
_POINTED = re.compile(r"\d{1,2}\.\d{2}")


@dataclass(frozen=True, slots=True)
class _Clock:
    """A time of day: the hours it can be (0 to 23), the index after it, and whether it says am or pm."""

    hours: frozenset[int]
    minute: int
    end: int
    told: bool = False


def clocks(scan: Scan) -> Iterator[Fact]:
    """The facts about times of day; marks their words as read."""
    for at in range(len(scan.words)):
        found = _clock(scan, at, scan.text(at - 1) in INTRODUCING) if scan.free(at) else None
        if found is None:
            continue
        ending = _clock(scan, found.end + 1, introduced=True) if scan.text(found.end) in SPANS else None
        if ending and ending.told and not found.told:
            # 8 to 10 am, and 11 to 1 pm: of what it can mean it is the shorter span.
            until = min(ending.hours)
            start = min(found.hours, key=lambda hour: (until - hour) % 24)
            found = replace(found, hours=frozenset({start}))
        yield _fact(scan, at, found)
        if ending:
            yield _fact(scan, found.end + 1, ending)


def _fact(scan: Scan, at: int, clock: _Clock) -> Fact:
    bare = min(clock.hours) % 12 or 12 if not clock.minute else None
    said = scan.take(at, clock.end)
    return Fact(Sort.CLOCK, frozenset((hour, clock.minute) for hour in clock.hours), said, bare)


def _clock(scan: Scan, at: int, introduced: bool) -> _Clock | None:
    """The time of day that begins at an index. `introduced` says that a bare number can be one."""
    if not scan.free(at):
        return None
    text = scan.text(at)
    if text in FIXED:
        return _Clock(frozenset({FIXED[text]}), 0, at + 1, told=True)
    if _CLOCK.fullmatch(text):
        hour, minute = (int(part) for part in text.split(":")[:2])
        return _of_day(scan, hour, minute, at + 1)
    if _POINTED.fullmatch(text) and (introduced or scan.text(at + 1) in ("am", "pm")):
        hour, minute = (int(part) for part in text.split("."))
        return _of_day(scan, hour, minute, at + 1)
    return _half_past(scan, at) or _hour(scan, at, introduced)


def _half_past(scan: Scan, at: int) -> _Clock | None:
    """As in: half past four, quarter to five, ten past six"""
    text = scan.text(at)
    minutes = {"half": 30, "quarter": 15}.get(text, small(text))
    if text == "half" and scan.text(at - 1) in POINTS and (hour := small(scan.text(at + 1))) and hour <= 12:
        return _of_day(scan, hour, 30, at + 2)
    link = at + 1 + (scan.text(at + 1) == "minutes")
    hour = small(scan.text(link + 1))
    if minutes is None or minutes not in range(5, 35, 5) or hour is None or not 1 <= hour <= 12:
        return None
    # "from 10 to 12" is not a time before twelve, but "at ten to twelve" is.
    spoken = text in ("half", "quarter") or scan.text(link) == "past" or link == at + 2
    spoken = spoken or (not text.isdecimal() and scan.text(at - 1) in POINTS and scan.text(link) == "to")
    if not spoken or scan.text(link) not in TO | PAST:
        return None
    if scan.text(link) in TO:
        return _of_day(scan, hour - 1 or 12, 60 - minutes, link + 2)
    return _of_day(scan, hour, minutes, link + 2)


def _hour(scan: Scan, at: int, introduced: bool) -> _Clock | None:
    """As in: 3 pm, 14h30, eleven o'clock, and after "at" just 3"""
    hour, minute, end = small(scan.text(at)), 0, at + 1
    if hour is None:
        return None
    if scan.text(end) == "h" and scan.joined(end):
        introduced, end = True, end + 1
        if scan.joined(end) and (value := scan.number(end)) is not None:
            minute, end = value, end + 1
        if scan.text(at - 1) in FOREIGN_AT:
            return _of_day(scan, hour, minute, end)
    elif introduced and not scan.text(end).isdecimal() and small(scan.text(end)) in (15, 20, 30, 40, 45, 50):
        minute, end = small(scan.text(end)) or 0, end + 1
    if scan.text(end) in OCLOCK:
        return _of_day(scan, hour, minute, end + 1)
    if scan.text(end) in ("am", "pm") or (introduced and (minute or _counts_nothing(scan, end))):
        return _of_day(scan, hour, minute, end)
    return None


def _counts_nothing(scan: Scan, at: int) -> bool:
    text = scan.text(at)
    return text in FOLLOWING if text[:1].isalpha() else text not in ("%", "/", "$", "€", "£", "#")


def _of_day(scan: Scan, hour: int, minute: int, end: int) -> _Clock | None:
    if hour > 24 or minute > 59:
        return None
    half = scan.text(end)
    if half in ("am", "pm"):
        return _Clock(frozenset({hour % 12 + 12 * (half == "pm")}), minute, end + 1, told=True)
    if hour > 12 or hour == 0:
        return _Clock(frozenset({hour % 24}), minute, end)
    return _Clock(frozenset({hour % 12, hour % 12 + 12}), minute, end)


def in_part(facts: Iterable[Fact]) -> list[Fact]:
    """Times of day read in the light of the one part of the day that the text names."""
    facts = list(facts)
    parts = {value for fact in facts if fact.sort is Sort.PART for value in fact.values}
    if len(parts) != 1:
        return facts
    late = parts != {"morning"}
    return [_narrowed(fact, late) if fact.sort is Sort.CLOCK else fact for fact in facts]


def _narrowed(fact: Fact, late: bool) -> Fact:
    fitting = frozenset(v for v in fact.values if isinstance(v, tuple) and (v[0] >= 12) == late)
    return replace(fact, values=fitting) if fitting and fact.shown != "12" else fact
