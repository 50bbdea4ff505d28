"""Regular expressions that every part of rig reads alike: llguidance, and Python's `re` afterwards.

JSON Schema's patterns are ECMAScript's, llguidance has Rust's and the validator Python's. So a pattern is
rewritten from the parts that mean the same everywhere, with its characters spelled as the text is.

Strings of a named format have such patterns, too: a date is a date of the calendar, in leap years too; times
have 24 hours; both have all their digits. No pattern can promise that a day lies in the future, or that an
address exists.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from operator import neg
from typing import Any, TypeAlias

from rig.core.calls import JsonObject
from rig.plugins.llama.grammar.language import Tags
from rig.world.patterns import fault_of

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


_LONGEST = 1 << 16
"""The most characters of a pattern."""
MOST = 2**15
"""The highest count in a quantifier, and the most characters that a grammar counts."""
_ALL = ((0x00, 0xD7FF), (0xE000, 0x10FFFF))
"""All characters of Unicode text."""
_SURROGATES = ((0xD800, 0xDFFF),)
_ESCAPED = ((0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C), (0x7F, 0x7F))
"""Characters that JSON text escapes: controls, quote, backslash and DEL."""
_LINE_ENDS = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
_SPACES = (
    *((0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029)),
    *((0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF)),
)
_SHORTHANDS = {"d": ((48, 57),), "w": ((48, 57), (65, 90), (95, 95), (97, 122)), "s": _SPACES}
"""As in ECMAScript."""
_CONTROLS = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D, "0": 0x00}

_ESCAPE = r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[^xu])"
_TOKEN = re.compile(
    rf"(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])"
    rf"|(?P<escape>{_ESCAPE})"
    r"|(?P<open>\((?:\?:)?(?!\?))"
    r"|(?P<close>\))"
    r"|(?P<either>\|)"
    r"|(?P<repeat>[*+?]|\{[0-9]{1,6}(?:,[0-9]{0,6})?\})"
    r"|(?P<any>\.)"
    r"|(?P<literal>[^\\^$.|?*+()\[\]{}])",
    re.DOTALL,
)
_ITEM = re.compile(rf"({_ESCAPE}|[^\\])(?:-({_ESCAPE}|[^\\]))?", re.DOTALL)

Ranges: TypeAlias = tuple[tuple[int, int], ...]


def text_of(ranges: Ranges) -> str:
    """Return a regular expression for one of these characters."""
    if not ranges:
        raise ValueError("a class of characters is empty")
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        code = ranges[0][0]
        return f"\\x{code:02x}" if code < 0x20 or code == 0x7F else re.escape(chr(code))
    joined: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(high, joined[-1][1])
        else:
            joined.append((low, high))
    members = ("-".join(map(_member, dict.fromkeys(ends))) for ends in joined)
    return f"[{''.join(members)}]"


def unescaped(ranges: Ranges) -> str:
    """Return a regular expression for those of the characters that JSON text does not escape."""
    left = _without(ranges, _ESCAPED)
    if not left:
        raise ValueError("a class of characters holds only such as are escaped")
    return text_of(left)


@lru_cache(maxsize=1024)
def canonical(pattern: str, spell: Callable[[Ranges], str] = text_of, most: int = MOST) -> str:
    """Return a pattern in the form that all read alike, `^(?:…)$`, its characters as `spell` writes them.

    Raises ValueError with a reason for what has no such form, and for counts above `most`.
    """
    if not pattern.startswith("^") or not re.search(r"(?<!\\)(?:\\\\)*\$\Z", pattern):
        raise ValueError("it does not go from ^ to $")
    text = f"^(?:{''.join(_parts(pattern[1:-1], spell, most))})$"
    if len(text) > _LONGEST or (fault := fault_of(text)):
        raise ValueError("it is too large" if len(text) > _LONGEST else fault)
    return text


def _parts(text: str, spell: Callable[[Ranges], str], most: int) -> Iterator[str]:
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
            if any(int(count) > most for count in re.findall("[0-9]+", part)):
                raise ValueError(f"{part} counts further than {most}")
        repeated = kind in ("repeat", "open", "either")
        match kind:
            case "open":
                yield "(?:"
            case "any":
                yield spell(_without(_ALL, _LINE_ENDS))
            case "class":
                yield spell(_members(part))
            case "escape" if part[1] in "dwsDWS":
                yield spell(_shorthand(part[1]))
            case "escape" | "literal":
                code = _code(part)
                yield spell(((code, code),))
            case _:
                yield part


def _members(part: str) -> Ranges:
    is_negated = part.startswith("[^")
    ranges: list[tuple[int, int]] = []
    for item in _ITEM.finditer(part[2:-1] if is_negated else part[1:-1]):
        first, last = item[1], item[2]
        if first[0] == "\\" and first[-1] in "dwsDWS" and len(first) == 2:
            if last is not None:
                raise ValueError(f"{item[0]!r} is not a range")
            ranges += _shorthand(first[1])
            continue
        low, high = (_code(end) for end in (first, last or first))
        if high < low:
            raise ValueError(f"{item[0]!r} is not a range")
        ranges.append((low, high))
    return _without(_ALL, ranges) if is_negated else _without(ranges, _SURROGATES)


def _shorthand(letter: str) -> Ranges:
    characters = _SHORTHANDS[letter.lower()]
    return _without(_ALL, characters) if letter.isupper() else characters


def _code(part: str) -> int:
    """Return the character that a literal or an escape stands for. Raises ValueError."""
    code = ord(part[-1])
    if part[0] == "\\" and len(part) > 2:
        code = int(part[2:], 16)
    elif part[0] == "\\" and len(part) == 2:
        if part[1] not in _CONTROLS and (part[1].isalnum() or not part[1].isascii()):
            raise ValueError(f"{part!r} is not understood")
        code = _CONTROLS.get(part[1], code)
    if 0xD800 <= code <= 0xDFFF:
        raise ValueError("half of a surrogate pair is no Unicode text")
    return code


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


def _member(code: int) -> str:
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    character = chr(code)
    return f"\\{character}" if character in "[]^-&~|\\" else character


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
    # A minus sign before a Decimal rounds it.
    negated: Callable[[Any], Any] = Decimal.copy_negate if isinstance(low, Decimal) else neg
    parts = [f"-(?:{unsigned(max(negated(high), zero), negated(low))})"] if low < 0 else []
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
        digits = len(str(low))
        if (most := len(str(high + 1)) - 1) > digits and low == 10 ** (digits - 1):
            # All numbers of so many digits, whatever they are.
            parts.append(f"[1-9][0-9]{{{digits - 1},{most - 1}}}")
            low = 10**most
            continue
        places = 0
        while low and low % 10 ** (places + 1) == 0 and low + 10 ** (places + 1) - 1 <= high:
            places += 1
        ahead, first = divmod(low // 10**places, 10)
        last = min(first + (high - low + 1) // 10**places - 1, 9)
        digit = str(first) if first == last else f"[{first}-{last}]"
        parts.append(f"{ahead or ''}{digit}{f'[0-9]{{{places}}}' if places else ''}")
        low += (last - first + 1) * 10**places
    return "|".join(parts)


# Pieces of Lark's text: literals, regular expressions between slashes, and values by their types.


def by_llguidance(schema: JsonObject, options: JsonObject) -> str:
    """Return the rule of a value that llguidance writes in its own way."""
    return f"%json {json.dumps({**schema, 'x-guidance': options}, ensure_ascii=False)}"


def in_doubles(value: Any) -> Any:
    """Return a schema without the bounds that llguidance would round."""
    if isinstance(value, dict):
        return {
            key: in_doubles(inner)
            for key, inner in value.items()
            if key not in ("minimum", "maximum") or not isinstance(inner, int) or abs(inner) < 2**53
        }
    return [in_doubles(inner) for inner in value] if isinstance(value, list) else value


def values_of(schema: JsonObject) -> Sequence[Any]:
    """Return the values that a schema lists; none if it does not list any."""
    values: Sequence[Any] = schema.get("enum", [schema["const"]] if "const" in schema else ())
    return values


def counted(schema: JsonObject, most: float = math.inf) -> str:
    """Return the number of characters that a string may have, as a quantifier, held up to `most`."""
    high = schema.get("maxLength", math.inf)
    return f"{{{min(schema.get('minLength', 0), most)},{'' if high > most or high == math.inf else high}}}"


def literal(text: str) -> str:
    """Return a Lark string. It has JSON's escapes, but DEL must be escaped as well."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def in_regex(text: str) -> str:
    """Return a regular expression, for use between slashes, that matches a text."""
    return "".join(char if char.isalnum() or not char.isascii() else f"\\x{ord(char):02x}" for char in text)


def in_slashes(regex: str) -> str:
    """Escape the slashes of a regular expression, for use between slashes."""
    return re.sub(r"(?<!\\)((?:\\\\)*)/", r"\1\\/", regex)


def by_type(schema: JsonObject) -> list[JsonObject]:
    """Return the options of a schema, those that list values split into strings and others."""
    if "anyOf" in schema:
        return [part for option in schema["anyOf"] for part in by_type(option)]
    if not isinstance(values := schema.get("enum"), list):
        return [schema]
    texts = [value for value in values if isinstance(value, str)]
    others = [value for value in values if not isinstance(value, str)]
    return [{"enum": group} for group in (texts, others) if group]


def word(schema: JsonObject, tags: Tags) -> str:
    """Return the rule of true, false or null as a whole value, in the family's words and in JSON's.

    It is empty for a schema that has none of them.
    """
    values = values_of(schema)
    if not values:
        values = {"boolean": (True, False), "null": (None,)}.get(str(schema.get("type")), ())
    elif not any(isinstance(value, bool) or value is None for value in values):
        return ""
    texts = [text for value in values for text in (tags.value(value), json.dumps(value))]
    return " | ".join(map(literal, dict.fromkeys(texts)))
