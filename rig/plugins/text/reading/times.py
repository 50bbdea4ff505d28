"""The days and times of day that a text states."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from rig.plugins.text.reading.amounts import DAY, LASTING_UNITS, ORDINAL_ENDINGS, ORDINALS, lasting, small
from rig.plugins.text.reading.facts import Fact, Scan, Sort
from rig.plugins.text.reading.lexicon import in_order, listed, sized, table, vocabulary

WEEKDAYS = in_order("monday tuesday wednesday thursday friday saturday sunday")
MONTHS = in_order("january february march april may june july august september october november december")
SHORT = {"jan": "january", "sat": "saturday", "sun": "sunday", "mar": "march"}
AMBIGUOUS = vocabulary("may march sat sun mar august jan")
RELATIVE = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}
TWO_DAYS = ("day after tomorrow", "day before yesterday")
PARTS = {word: part for part, words in table("parts").items() for word in words.split()}
HOURS = {
    "morning": ((0, 12),),
    "afternoon": ((12, 19),),
    "evening": ((17, 24), (0, 5)),
    "night": ((17, 24), (0, 5)),
}
"""The hours of each part of the day."""
LATE = frozenset({"evening", "night"})
"""On one day, as tonight or on Friday, both words are used for the same hours; but not of every day."""
UNITS = vocabulary("day week weekday weekend month year quarter semester term season time")
WHICH = {
    word: tuple(which for which, words in table("which").items() if word in words.split())
    for words in table("which").values()
    for word in words.split()
}
SAME_UNIT = {"weekday": "week", "weekend": "week"}
"""Tuesday next week is next Tuesday."""
OFTEN = {word: (int(number), unit) for word, (unit, number) in sized("often")}
"""How many of which unit lie between one time and the next."""
EACH = vocabulary("every each per")
TIMES_A = vocabulary("a an one")
PERIODS = {**LASTING_UNITS, "night": ("seconds", DAY), "quarter": ("months", 3.0)}
BEFORE_MONTH = listed("before_month")
BEFORE_DAY = listed("before_day")
NOUNLESS = listed("nounless")
"""Words that can follow a day or a time of day; before other words, a number may count things."""
SPANS = vocabulary("- – — to and until till through or")
_ISO = re.compile(r"\d{4}([-/])\d{1,2}\1\d{1,2}")


def dates(scan: Scan) -> Iterator[Fact]:
    """Yield the facts about days, the most telling first, and mark their words as read."""
    for find in (_numeric, _rate, _month, _weekday, _relative, _lone_day):
        for at in range(len(scan.words)):
            if scan.free(at):
                yield from find(scan, at)


def _numeric(scan: Scan, at: int) -> Iterator[Fact]:
    """Read a date in numbers: 2024-09-15, 2024/9/15, 9/15, 15/9/24."""
    for end in (at + 1, at + 5):
        if match := _ISO.fullmatch("".join(map(scan.text, range(at, end)))):
            year, month, day = map(int, match[0].split(match[1]))
            if 1 <= month <= 12 and 1 <= day <= 31:
                span = scan.take(at, end)
                yield Fact(Sort.YEAR, frozenset({year}), span)
                yield Fact(Sort.MONTH, frozenset({month}), span)
                yield Fact(Sort.DAY, frozenset({day}), span, dates=((month, day),))
            return
    one, other = scan.number(at), scan.number(at + 2)
    if scan.text(at + 1) != "/" or one is None or other is None or (one, other) == (24, 7):
        return
    if scan.text(at + 3) == "of":  # a third of it
        return
    both = dict.fromkeys(((one, other), (other, one)))
    readings = [(m, d) for m, d in both if 1 <= m <= 12 and 1 <= d <= 31]
    if not readings:
        return
    end = at + 3
    if scan.text(at + 3) == "/" and (value := scan.number(at + 4, digits=4)) is not None:
        end = at + 5
        yield Fact(Sort.YEAR, frozenset({value if value > 99 else 2000 + value}), scan.take(at + 4, end))
    span = scan.take(at, end)
    yield Fact(Sort.MONTH, frozenset(m for m, _ in readings), span)
    yield Fact(Sort.DAY, frozenset(d for _, d in readings), span, dates=tuple(readings))


def _month(scan: Scan, at: int) -> Iterator[Fact]:
    """Read a month with its days: September 4th, 4 September, the 15th of May, 3 to 7 August, in March."""
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
    span = scan.take(start, end)
    month = MONTHS.index(text) + 1
    yield Fact(Sort.MONTH, frozenset({month}), span)
    for day in days:
        yield Fact(Sort.DAY, frozenset({day}), span, day, dates=((month, day),))
    year = end + (scan.text(end) == ",")
    if scan.text(year)[:2] in ("19", "20") and (value := scan.number(year, digits=4)) and value > 999:
        yield Fact(Sort.YEAR, frozenset({value}), scan.take(year, year + 1))


def _days_before(scan: Scan, month: int) -> tuple[list[int], int]:
    """Return the days that stand before a month, and where they begin."""
    ending = _day_ending(scan, month - (scan.text(month - 1) == "of"))
    if ending is None:
        return [], month
    day, start = ending
    if scan.text(start - 1) in SPANS and (other := _day_ending(scan, start - 1)):
        return [day, other[0]], other[1]
    return [day], start


def _days_after(scan: Scan, at: int) -> tuple[list[int], int]:
    """Return the days of the month that begin at an index or after "the", and the index after them."""
    days: list[int] = []
    end, following = at, at + (scan.text(at) == "the")
    while (day := _day(scan, following)) and len(days) < 3:
        days.append(day[0])
        end = day[1]
        if scan.text(end) not in SPANS:
            break
        following = end + 1
    return days, end


def _day(scan: Scan, at: int) -> tuple[int, int] | None:
    """Return the day of the month that begins at an index, and the index after it."""
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
    """Return the day of the month that ends before an index, and where it begins."""
    for start in (end - 1, end - 2, end - 3):
        day = _day(scan, start)
        if day and day[1] == end:
            return day[0], start
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
    """Read which unit is meant: next week, every other day."""
    if scan.text(at - 1) in ("other", "second") and scan.text(at - 2) in ("every", "each"):
        yield Fact(Sort.WHICH, frozenset({("every other", unit)}), scan.take(at - 2, at + 1))
        return
    which = WHICH.get(scan.text(at - 1))
    if which and scan.free(at - 1) and (unit != "day" or "every" in which):
        values = frozenset((word, SAME_UNIT.get(unit, unit)) for word in which)
        yield Fact(Sort.WHICH, values, scan.take(at - 1, at + 1))


def _relative(scan: Scan, at: int) -> Iterator[Fact]:
    """Read a day or time relative to now, or a frequency: tomorrow, in the morning, next week, weekly."""
    text = scan.text(at)
    if text in RELATIVE:
        is_two = " ".join(map(scan.text, range(at - 2, at + 1))) in TWO_DAYS
        offset = RELATIVE[text] * (1 + is_two)
        span = scan.take(at - 2 * is_two, at + 1)
        yield Fact(Sort.RELATIVE, frozenset({offset}), span, ("days", offset))
    if text in PARTS:
        if scan.text(at - 1) == "this":  # this evening is tonight
            yield Fact(Sort.RELATIVE, frozenset({0}), scan.take(at - 1, at + 1))
        part = PARTS[text]
        is_late = part in LATE and (text == "tonight" or _is_one_day(scan, at))
        yield Fact(Sort.PART, LATE if is_late else frozenset({part}), scan.take(at, at + 1))
    if text == "nightly":
        yield Fact(Sort.PART, frozenset({"night"}), scan.take(at, at + 1))
    unit = text.removesuffix("s")
    if unit in UNITS:
        is_of_weekdays = text == "weekday" and scan.text(at + 1).removesuffix("s") in PARTS
        if unit == "weekend" or text == "weekdays" or is_of_weekdays:
            which = WHICH.get(scan.text(at - 1), ())
            is_each = text.endswith("s") or "every" in which
            meant = {f"{unit}s"} if is_each else {unit} if which else {unit, f"{unit}s"}
            yield Fact(Sort.RELATIVE, frozenset(meant), scan.take(at, at + 1))
        yield from _which(scan, at, unit)


def _is_one_day(scan: Scan, at: int) -> bool:
    """Return whether the part of the day at an index is that of one day: this evening, Friday night."""
    before = scan.text(at - 1)
    is_weekday = SHORT.get(before, before) in WEEKDAYS and scan.text(at - 2) not in EACH
    is_of_one = is_weekday or before in RELATIVE or before in ("this", "last")
    return is_of_one and not scan.text(at).endswith("s")


def _rate(scan: Scan, at: int) -> Iterator[Fact]:
    """Read how often something happens, as times per day or month: twice a day, every third week."""
    text, times, end = scan.text(at), 1.0, at
    if text in ("once", "twice", "thrice"):
        times, end = {"once": 1.0, "twice": 2.0, "thrice": 3.0}[text], at + 1
    elif (count := small(text)) is not None and scan.text(at + 1) in ("time", "times"):
        times, end = float(count), at + 2
    if scan.text(end) in OFTEN:
        yield _often(scan, at, end + 1, times, *OFTEN[scan.text(end)])
        return
    if scan.text(end) not in EACH and not (end > at and scan.text(end) in TIMES_A):
        return
    following = scan.text(end + 1)
    term = lasting(scan, end + 1)
    if term is not None and not term.bare:
        yield _often(scan, at, term.end, times, term.amount / term.size, scan.text(term.end - 1))
        return
    between = 2 if following == "other" else ORDINALS.get(following, small(following))
    unit_at = end + 1 + (between is not None)
    unit = scan.text(unit_at).removesuffix("s")
    if unit in PARTS:  # every morning is every day, and in the morning
        yield _often(scan, at, unit_at, times, between or 1, "day")
    elif unit in PERIODS and scan.free(unit_at):
        yield _often(scan, at, unit_at + 1, times, between or 1, unit)


def _often(scan: Scan, start: int, end: int, times: float, number: float, unit: str) -> Fact:
    counted, size = PERIODS[unit.removesuffix("s")]
    rate = times / (number * size) * (DAY if counted == "seconds" else 1)
    return Fact(Sort.RATE, frozenset({(counted, round(rate, 6))}), scan.take(start, end))


def _lone_day(scan: Scan, at: int) -> Iterator[Fact]:
    """Read a day without a month, if no noun follows: the 15th."""
    day = _day(scan, at)
    if day is None:
        return
    value, end = day
    digits = scan.text(at).isdecimal()
    if (digits and end == at + 1) or (not digits and (scan.text(at - 1) != "the" or value < 3)):
        return
    following = scan.text(end)
    if following[:1].isalpha() and following not in NOUNLESS:
        return
    yield Fact(Sort.DAY, frozenset({value}), scan.take(at, end), value)


INTRODUCING = vocabulary("at by around from until before after between till since about")
"""After these, a bare number may be a time of day."""
POINTS = vocabulary("at by until till around about it's is")
"""After these comes a point in time, not a span."""
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
    """Yield the facts about times of day, and mark their words as read."""
    for at in range(len(scan.words)):
        clock = _clock(scan, at, scan.text(at - 1) in INTRODUCING) if scan.free(at) else None
        if clock is None:
            continue
        ending = _clock(scan, clock.end + 1, introduced=True) if scan.text(clock.end) in SPANS else None
        if ending and ending.told and not clock.told:
            # 8 to 10 am, 11 to 1 pm: of the possible spans, the shortest is meant.
            until = min(ending.hours)
            start = min(clock.hours, key=lambda hour: (until - hour) % 24)
            clock = replace(clock, hours=frozenset({start}))
        yield _fact(scan, at, clock)
        if ending:
            yield _fact(scan, clock.end + 1, ending)


def _fact(scan: Scan, at: int, clock: _Clock) -> Fact:
    bare = min(clock.hours) % 12 or 12 if not clock.minute else None
    span = scan.take(at, clock.end)
    return Fact(Sort.CLOCK, frozenset((hour, clock.minute) for hour in clock.hours), span, bare)


def _clock(scan: Scan, at: int, introduced: bool) -> _Clock | None:
    """Return the time of day that begins at an index. With `introduced`, a bare number can be one."""
    if not scan.free(at):
        return None
    text = scan.text(at)
    if text == "12" and scan.text(at + 1) in FIXED:
        return _Clock(frozenset({FIXED[scan.text(at + 1)]}), 0, at + 2, told=True)
    if text in FIXED:
        return _Clock(frozenset({FIXED[text]}), 0, at + 1, told=True)
    if _CLOCK.fullmatch(text):
        hour, minute = (int(part) for part in text.split(":")[:2])
        if text.startswith("0") and minute < 60 and scan.text(at + 1) not in ("am", "pm"):
            return _Clock(frozenset({hour}), minute, at + 1, told=True)
        return _of_day(scan, hour, minute, at + 1)
    if _POINTED.fullmatch(text) and (
        introduced or scan.text(at + 1) in ("am", "pm") or scan.text(at + 3) in PARTS
    ):
        hour, minute = (int(part) for part in text.split("."))
        return _of_day(scan, hour, minute, at + 1)
    return _half_past(scan, at) or _hour(scan, at, introduced)


def _half_past(scan: Scan, at: int) -> _Clock | None:
    """Read a time before or after the hour: half past four, quarter to five, ten past six."""
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
    # Nothing counts down from twenty to eight unless "from" says so.
    falls = minutes > hour and scan.text(at - 1) != "from"
    is_point = falls or scan.text(at - 1) in POINTS
    spoken = spoken or (not text.isdecimal() and is_point and scan.text(link) == "to")
    if not spoken or scan.text(link) not in TO | PAST:
        return None
    if scan.text(link) in TO:
        return _of_day(scan, hour - 1 or 12, 60 - minutes, link + 2)
    return _of_day(scan, hour, minutes, link + 2)


def _hour(scan: Scan, at: int, introduced: bool) -> _Clock | None:
    """Read an hour: 3 pm, 14h30, eleven o'clock, and after "at" just 3."""
    hour, minute, end = small(scan.text(at)), 0, at + 1
    if hour is None:
        return None
    if scan.text(end) == "h" and scan.joined(end):
        introduced, end = True, end + 1
        if scan.joined(end) and (value := scan.number(end)) is not None:
            minute, end = value, end + 1
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


BESIDE = 3
"""How many words may stand between a time of day and the part of the day that it is in."""
DAWN = 5
"""What is closed in the morning and opens at one, opens after noon."""


def in_part(facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts with times of day narrowed to the part of the day that the text names, if just one."""
    facts = list(facts)
    named = [fact for fact in facts if fact.sort is Sort.PART]
    parts = {value for fact in named for value in fact.values}
    if len(parts) != 1 and parts != LATE:
        return facts
    late = parts != {"morning"}
    for place, fact in enumerate(facts):
        if fact.sort is Sort.CLOCK and fact.shown != "12":
            fitting = frozenset(v for v in fact.values if isinstance(v, tuple) and (v[0] >= 12) == late)
            if not (late or any(abs(part.said.start - fact.said.end) <= BESIDE for part in named)):
                fitting = frozenset(v for v in fitting if v[0] >= DAWN)
            facts[place] = replace(fact, values=fitting or fact.values)
    return facts


def is_in_part(clock: Fact, part: Fact) -> bool:
    """Return whether a fact is a time of day in a part of the day: 9:00 in the morning."""
    hours = [value[0] for value in clock.values if clock.sort is Sort.CLOCK and isinstance(value, tuple)]
    spans = [span for value in part.values for span in HOURS[str(value)]]
    return any(lower <= hour < upper for hour in hours for lower, upper in spans)
