"""Regular expressions that every part of rig reads alike: both grammar engines, and Python's `re` afterwards.

JSON Schema's patterns are ECMAScript's; the engines have Rust's, the validator has Python's, and one of the
engines matches the JSON text instead of the string in it. So a pattern is rewritten from the parts that mean
the same everywhere, over characters that JSON spells in one way only.

Strings of a named format have such patterns, too: a date is a date of the calendar, in leap years too; times
have 24 hours; both have all their digits. No pattern can promise that a day lies in the future, or that an
address exists.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

# 0001 to 9999, as Python's datetime has them.
_YEAR = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
# Leap years of the Gregorian calendar, from 0004 on.
_LEAP_YEAR = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_DAY = (
    "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
_DATE = f"(?:{_YEAR}-{_DAY}|{_LEAP_YEAR}-02-29)"
_TIME = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_OFFSET = "(?:\\.[0-9]{1,9})?(?:Z|[+\\-](?:[01][0-9]|2[0-3]):[0-5][0-9])"  # RFC 3339, section 5.6
_LABEL = "[0-9A-Za-z](?:[0-9A-Za-z\\-]*[0-9A-Za-z])?"
_EMAIL = f"[0-9A-Za-z_\\-]+(?:\\.[0-9A-Za-z_\\-]+)*@{_LABEL}(?:\\.{_LABEL})+"
_HEX = "[0-9A-Fa-f]"
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_MONTH = "|".join("".join(f"[{letter.upper()}{letter.lower()}]" for letter in month) for month in _MONTHS)


def _whole(**patterns: str) -> dict[str, str]:
    return {name.replace("_", "-"): f"^(?:{pattern})$" for name, pattern in patterns.items()}


NAMED: Mapping[str, Mapping[str, str]] = {
    "x-format": _whole(
        date=_DATE,
        datetime=f"{_DATE} {_TIME}",
        email=_EMAIL,
        month=_MONTH,
        phone="[0-9]{3}-[0-9]{3}-[0-9]{4}",
        time=_TIME,
    ),
    "format": _whole(
        date=_DATE,
        date_time=f"{_DATE}T{_TIME}{_OFFSET}",
        email=_EMAIL,
        time=f"{_TIME}{_OFFSET}",
        uuid=f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}",
    ),
}
"""Patterns by keyword and name: the hints of rig's own tools, and JSON Schema's formats."""


def version() -> str:
    """Return a hash that changes with any pattern; it is in the fingerprint of arms that enforce formats."""
    return hashlib.sha256(json.dumps(NAMED).encode()).hexdigest()[:16]


MOST = 256
"""The highest count in a quantifier, and the most characters or items: automata grow with these."""

_ESCAPED = ((0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C), (0x7F, 0x7F), (0xD800, 0xDFFF))
"""Characters that JSON text escapes or cannot contain: controls, quote, backslash, DEL; and surrogates."""

_ALL = ((0x00, 0x10FFFF),)
_SHORTHANDS = {"d": ((48, 57),), "w": ((48, 57), (65, 90), (95, 95), (97, 122)), "s": ((32, 32),)}
"""ASCII only, as in ECMAScript. The only white space is the space, since JSON would escape the rest."""

_TOKEN = re.compile(
    r"(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|(?P<escape>\\.)"
    r"|(?P<open>\((?:\?:)?(?!\?))"
    r"|(?P<close>\))"
    r"|(?P<either>\|)"
    r"|(?P<repeat>[*+?]|\{[0-9]{1,4}(?:,[0-9]{0,4})?\})"
    r"|(?P<any>\.)"
    r"|(?P<literal>[^\\^$.|?*+()\[\]{}])",
    re.DOTALL,
)
_ITEM = re.compile(r"(\\.|[^\\])(?:-(\\.|[^\\]))?", re.DOTALL)

Ranges = tuple[tuple[int, int], ...]


def canonical(pattern: str) -> str:
    """Return a pattern in the form that all read alike, `^(?:…)$`. Raises ValueError with a reason.

    The result may be narrower, never wider: characters that JSON would escape are left out of classes.
    """
    if not pattern.startswith("^") or not re.search(r"(?<!\\)(?:\\\\)*\$\Z", pattern):
        raise ValueError("it has to begin with ^ and end with $")
    text = f"^(?:{''.join(_parts(pattern[1:-1]))})$"
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from error
    return text


def _parts(text: str) -> Iterator[str]:
    place, depth, repeated = 0, 0, True
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            raise ValueError(f"{text[place : place + 3]!r} is not understood")
        kind, part, place = token.lastgroup, token[0], token.end()
        depth += (kind == "open") - (kind == "close")
        if kind == "either" and depth == 0:
            raise ValueError("alternatives need parentheses around them, or ^ and $ belong to one of them")
        if kind == "repeat":
            if repeated:
                raise ValueError(f"{part!r} has nothing of its own to repeat")
            if any(int(count) > MOST for count in re.findall("[0-9]+", part)):
                raise ValueError(f"{part} counts further than {MOST}")
        repeated = kind in ("repeat", "open", "either")
        match kind:
            case "open":
                yield "(?:"
            case "any":
                yield _class(_without(_ALL, _ESCAPED))
            case "class":
                yield _class(_members(part))
            case "escape" if part[1] in "dwsDWS":
                yield _class(_shorthand(part[1]))
            case "escape" | "literal":
                yield re.escape(_plain(part))
            case _:
                yield part


def _members(part: str) -> Ranges:
    is_negated = part.startswith("[^")
    ranges: list[tuple[int, int]] = []
    for item in _ITEM.finditer(part[2:-1] if is_negated else part[1:-1]):
        first, last = item[1], item[2]
        if first[0] == "\\" and first[-1] in "dwsDWS":
            if last is not None:
                raise ValueError(f"{item[0]!r} is not a range")
            ranges += _shorthand(first[1])
            continue
        low, high = (ord(_plain(end, in_class=True)) for end in (first, last or first))
        if high < low:
            raise ValueError(f"{item[0]!r} is not a range")
        ranges.append((low, high))
    return _without(_without(_ALL, ranges) if is_negated else ranges, _ESCAPED)


def _shorthand(letter: str) -> Ranges:
    characters = _SHORTHANDS[letter.lower()]
    return _without(_without(_ALL, characters), _ESCAPED) if letter.isupper() else characters


def _plain(part: str, *, in_class: bool = False) -> str:
    """Return the character that a literal or an escape stands for. Raises ValueError."""
    character = part[-1]
    if part[0] == "\\" and len(part) == 2 and (character.isalnum() or not character.isascii()):
        raise ValueError(f"{part!r} is not understood")
    if not in_class and any(low <= ord(character) <= high for low, high in _ESCAPED):
        raise ValueError(f"{character!r} has more than one spelling in JSON")
    return character


def _without(ranges: Iterable[tuple[int, int]], others: Iterable[tuple[int, int]]) -> Ranges:
    left = list(ranges)
    for low, high in others:
        pieces = [
            piece
            for start, end in left
            for piece in ((start, min(end, low - 1)), (max(start, high + 1), end))
        ]
        left = [(start, end) for start, end in pieces if start <= end]
    return tuple(left)


def _class(ranges: Ranges) -> str:
    if not ranges:
        raise ValueError("a class of characters is empty, or holds only such as JSON escapes")
    members = ("-".join(map(_member, dict.fromkeys(ends))) for ends in sorted(set(ranges)))
    return f"[{''.join(members)}]"


def _member(code: int) -> str:
    character = chr(code)
    return f"\\{character}" if character in "[]^-&~|" else character


def integers(low: int, high: int) -> str:
    """Return a regular expression for the integers from `low` to `high`, inclusive, as JSON writes them.

    It allows `-0` where it allows negative numbers.
    """
    return _signed(low, high, _digits)


def decimals(low: float, high: float) -> str:
    """Return a regular expression for the numbers from `low` to `high`, inclusive, with any number of digits.

    Bounds are taken at their shortest decimal. A text that is read as a double stays within them, since
    rounding keeps the order.
    """
    return _signed(Decimal(repr(low)), Decimal(repr(high)), _unsigned)


def _signed(low: Any, high: Any, unsigned: Callable[[Any, Any], str]) -> str:
    zero = type(low)(0)
    parts = [f"-(?:{unsigned(max(-high, zero), -low)})"] if low < 0 else []
    return "|".join([*parts, unsigned(max(low, zero), high)] if high >= 0 else parts)


def _unsigned(low: Decimal, high: Decimal) -> str:
    (first, low_digits), (last, high_digits) = _split(low), _split(high)
    if first == last:
        return f"{first}{_fraction(low_digits, high_digits)}"
    parts = [f"{first}{_fraction(low_digits, None)}"]
    if last - first > 1:
        parts.append(f"(?:{_digits(first + 1, last - 1)}){_fraction('', None)}")
    return "|".join([*parts, f"{last}{_fraction('', high_digits)}"])


def _split(number: Decimal) -> tuple[int, str]:
    """Split a number into its whole part and its digits after the point, without trailing zeros."""
    whole, _, digits = format(number, "f").partition(".")
    return int(whole), digits.rstrip("0")


def _fraction(low: str, high: str | None) -> str:
    some = rf"\.(?:{'|'.join(_tails(low, high))})"
    return some if low else f"(?:{some})?"


def _tails(low: str, high: str | None) -> list[str]:
    """Return alternatives for the digits, one or more, of a fraction from `low` on, up to `high` if given."""
    if high == "":
        return ["0+"]
    if not low and high is None:
        return ["[0-9]+"]
    first, last = int(low[:1] or "0"), int(high[:1]) if high else 10
    if high and first == last:
        return [_after(first, low[1:], high[1:])]
    parts = [_after(first, low[1:], None)]
    if last - first > 1:
        parts.append(f"[{first + 1}-{last - 1}][0-9]*")
    return [*parts, _after(last, "", high[1:])] if high else parts


def _after(digit: int, low: str, high: str | None) -> str:
    return f"{digit}(?:{'|'.join(_tails(low, high))}){'' if low else '?'}"


def _digits(low: int, high: int) -> str:
    """Return a regular expression for the natural numbers from `low` to `high`.

    It goes through blocks that differ in one digit and all after it.
    """
    parts = []
    while low <= high:
        places = 0
        while low and low % 10 ** (places + 1) == 0 and low + 10 ** (places + 1) - 1 <= high:
            places += 1
        ahead, first = divmod(low // 10**places, 10)
        last = min(first + (high - low + 1) // 10**places - 1, 9)
        digit = str(first) if first == last else f"[{first}-{last}]"
        parts.append(f"{ahead or ''}{digit}{f'[0-9]{{{places}}}' if places else ''}")
        low += (last - first + 1) * 10**places
    return "|".join(parts)
