"""How values of arguments are read and compared: texts, numbers, dates and times, in whatever form."""

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from rig.core.calls import Json, JsonObject
from rig.plugins.matching.parts import SchemaPart

ABSENT = object()
"""The value of an argument that was not given."""

ANY = SchemaPart(None, {})
"""The part of a schema that says nothing."""

CLOSE = 1e-9
"""How far two numbers may differ, relative to the larger, by being computed in binary."""
NOISE = 1e-12
"""The same near zero, where nothing is relative: 0.1 + 0.2 - 0.3 is 5.6e-17."""

_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe0f\ufeff]")
"""Characters without width that carry no meaning; joiners do in Persian, and in emoji."""
_BREAK = re.compile("\r\n|[\r\x85\u2028\u2029]")
_SPACE = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u2010\u2011", "-"),
        "\u2026": "...",
    }
)


def typed(text: str) -> str:
    """Return a text as one would type it: one form of accents, quotes, spaces and line breaks, and no blanks
    at its ends. The indentation of a text of several lines stays.
    """
    text = _BREAK.sub("\n", _INVISIBLE.sub("", unicodedata.normalize("NFC", text)))
    lines = _SPACE.sub(" ", text).translate(_SIGNS).split("\n")
    text = "\n".join(line.rstrip(" \t") for line in lines).rstrip("\n")
    return text if "\n" in text else text.strip()


def is_nothing(value: Json, part: SchemaPart = ANY) -> bool:
    """Return whether a value says no more than leaving it out would: null, or an empty list or object.

    An empty one does say something where `part`, what the schema says of the value, has another default.
    """
    if value is ABSENT or value is None:
        return True
    return (value == [] or value == {}) and (part is ANY or part.default in (None, [], {}))


def both_nothing(one: Json, other: Json, part: SchemaPart = ANY) -> bool:
    """Return whether both of two values say nothing."""
    return is_nothing(one, part) and is_nothing(other, part)


def alike(expected: Json, got: Json, part: SchemaPart = ANY) -> bool:
    """Return whether two values are equal but for how texts are typed, how numbers are rounded, and members
    that say nothing. Times are read where the schema, of which this is a `part`, says that a text is one.
    """
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    if isinstance(expected, str) and isinstance(got, str):
        return expected == got or typed(expected) == typed(got) or _is_same_time(expected, got, part)
    if isinstance(expected, int | float) and isinstance(got, int | float):
        return is_close(expected, got)
    if isinstance(expected, list) and isinstance(got, list):
        items = part.items
        return len(expected) == len(got) and all(
            alike(one, other, items) for one, other in zip(expected, got, strict=True)
        )
    if isinstance(expected, dict) and isinstance(got, dict):
        ones, others = ({typed(name): value for name, value in one.items()} for one in (expected, got))
        if len(ones) + len(others) < len(expected) + len(got):
            return expected == got  # two names that are read alike
        triples = (
            (ones.get(name, ABSENT), others.get(name, ABSENT), part.member(name))
            for name in {**ones, **others}
        )
        return all(both_nothing(*triple) or alike(*triple) for triple in triples)
    return bool(expected == got)


def _is_same_time(expected: str, got: str, part: SchemaPart) -> bool:
    """Return whether two texts are the same day, time or instant, if the schema says that they are one."""
    if part is ANY or (compare := _TIMES.get(part.format)) is None:
        return False
    try:
        return compare(expected, got)
    except (ValueError, OverflowError):
        return False


def is_close(expected: float, got: float) -> bool:
    """Return whether two numbers are equal but for noise. Whole ones stay exact: they may be an order's."""
    if expected == got or (_is_whole(expected) and _is_whole(got)):
        return expected == got
    return math.isclose(expected, got, rel_tol=CLOSE, abs_tol=NOISE)


def _is_whole(number: float) -> bool:
    return isinstance(number, int) or number.is_integer()


def filled(part: SchemaPart, value: Json) -> Json:
    """Return a value with the defaults that its schema declares for what it leaves out, null included."""
    if isinstance(value, list):
        items = part.items
        return [filled(items, item) for item in value] if items.schema is not None else value
    if not isinstance(value, dict) or not (properties := part.properties):
        return value
    parts = {name: part.member(name) for name in {**value, **properties}}
    whole = {name: filled(parts[name], item) for name, item in value.items()}
    for name in properties:
        if whole.get(name) is None and (default := parts[name].default) is not None:
            whole[name] = default
    return whole


def value_pairs(
    schema: JsonObject, name: str, expected: JsonObject, got: JsonObject
) -> Iterator[tuple[Json, Json]]:
    """Yield the values of an argument in two calls, as they are written and with the schema's defaults."""
    yield expected.get(name, ABSENT), got.get(name, ABSENT)
    part = SchemaPart(schema, schema)
    yield filled(part, expected).get(name, ABSENT), filled(part, got).get(name, ABSENT)


_GROUPED = re.compile(r"[+-]?\d{1,3}(?:[, ]\d{2,3})*[, ]\d{3}(?:\.\d+)?")


def read_number(value: Json) -> int | float:
    """Read a number, given as one or as text. Raises TypeError or ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError("no number")
    if isinstance(value, str):
        value = typed(value).replace("\u2212", "-")
        if _GROUPED.fullmatch(value):
            value = value.replace(",", "").replace(" ", "")
        value = int(value) if value.lstrip("+-").isdecimal() else float(value)
    if not math.isfinite(value):
        raise ValueError("no finite number")
    return int(value) if value == int(value) else value


_LONGEST_TIME = 200
_ZONE = re.compile(r"\s*(?:UTC|GMT|Z)$|\s+(?=[+-]\d{2}:?\d{2}$)")
_DAY = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")


def read_instant(text: Json) -> datetime:
    """Read an ISO 8601 date with or without a time; without one, it is 00:00. Raises ValueError."""
    _require_short(text)
    text = _DAY.sub(lambda day: f"{day[1]}-{day[2]:0>2}-{day[3]:0>2}", _zoned(typed(text).upper()), count=1)
    return datetime.fromisoformat(text)


def _require_short(text: str) -> None:
    """Raise ValueError for what is too long to be a time. Searching thousands of blanks takes long."""
    if len(text) > _LONGEST_TIME:
        raise ValueError("too long for a time")


def _zoned(text: str) -> str:
    return _ZONE.sub(lambda zone: "+00:00" if zone[0].strip() else "", text, count=1)


_CLOCK = re.compile(
    r"T?(?P<hour>\d{1,2})(?:[:.H](?P<minute>\d{2})(?:[:.](?P<second>\d{2})(?:[.,]\d+)?)?)?"
    r" ?(?:(?P<half>[AP])\.? ?M\.?)?(?:(?P<sign>[+-])(?P<zone_hours>\d{2}):?(?P<zone_minutes>\d{2}))?"
)
DAY_S = 24 * 3600


def read_time(text: Json) -> tuple[int, int | None]:
    """Read a time of day, or that of an instant: 9:05, 09:05:00, 9:05 pm, 09:05:00.000Z. Returns its seconds
    since midnight, and those of its zone's offset if it has a zone. Raises ValueError.
    """
    _require_short(text)
    text = _zoned(typed(text).upper())
    clock = _CLOCK.fullmatch(text)
    if clock is None or (clock["minute"] is None and clock["half"] is None):
        instant = read_instant(text)
        offset = instant.utcoffset()
        seconds = instant.hour * 3600 + instant.minute * 60 + instant.second
        return seconds, None if offset is None else int(offset.total_seconds())
    hour, minute, second = (int(clock[part] or 0) for part in ("hour", "minute", "second"))
    if hour > 24 or minute > 59 or second > 59 or (clock["half"] == "A" and hour > 12):
        raise ValueError("no time of day")
    if clock["half"]:
        hour = hour % 12 + 12 * (clock["half"] == "P")
    offset_s = None
    if clock["sign"]:
        offset_s = int(clock["zone_hours"]) * 3600 + int(clock["zone_minutes"]) * 60
        offset_s *= -1 if clock["sign"] == "-" else 1
    return (hour * 3600 + minute * 60 + second) % DAY_S, offset_s


def seconds_between(expected: Json, got: Json) -> float:
    """Return the seconds between two instants, by clock time if only one has a zone. Raises ValueError."""
    due, read = read_instant(expected), read_instant(got)
    if due.tzinfo is None or read.tzinfo is None:
        due, read = due.replace(tzinfo=UTC), read.replace(tzinfo=UTC)
    return abs((due - read) / timedelta(seconds=1))


def seconds_of_day_between(expected: Json, got: Json) -> int:
    """Return the seconds between two times of day, by clock time if only one has a zone. Midnight may lie
    between. Raises ValueError.
    """
    (due, zone), (read, other) = read_time(expected), read_time(got)
    if zone is not None and other is not None:
        due, read = due - zone, read - other
    return min((due - read) % DAY_S, (read - due) % DAY_S)


_TIMES: Mapping[str, Callable[[str, str], bool]] = {
    "date": lambda one, other: read_instant(one).date() == read_instant(other).date(),
    "time": lambda one, other: seconds_of_day_between(one, other) == 0,
    "date-time": lambda one, other: seconds_between(one, other) == 0,
    "datetime": lambda one, other: seconds_between(one, other) == 0,
}
"""Whether two texts are the same, by the format that a schema gives them."""
