"""Other languages than English: which text is in one, and which two texts are equal but for how they are
written. What such texts mean is not read.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache

from rig.plugins.text.reading.characters import readable
from rig.plugins.text.reading.lexicon import entries, table

_MARKS = re.compile("[\u0591-\u05c7\u0640\u064b-\u0652]")
"""Vowel signs and stretching that Hebrew and Arabic leave out at will."""
_ASKING = str.maketrans(dict.fromkeys("\u037e\u061f\uff1f", "?") | {"\u0451": "\u0435", "'": "’"})
_CHINESE = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_CHINESE |= {"十": 10, "百": 100, "千": 1000, "万": 10_000, "萬": 10_000}
_LATE, _EARLY, _HOUR = (table("languages")[name] for name in ("late", "early", "hour"))
_TIME = re.compile(
    rf"(?:(?:(?P<late>{_LATE})|(?P<early>{_EARLY}))\s*)?(?<![\d.,:])(?P<hour>[01]?\d|2[0-4])"
    rf"(?:[:.](?P<past>[0-5]\d)(?![.:]?\d))?(?![.,:]?\d)"
    rf"\s*(?P<unit>{_HOUR})?\s*(?:(?P<half>半|ครึ่ง)|(?<=[^\d\s])(?P<minute>[0-5]?\d)(?![\d.,:])\s*(?:分|นาที)?)?"
    rf"(?:\s*(?:(?P<later>{_LATE})|(?P<earlier>{_EARLY})))?"
)
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[.,:/\s-](?=\d)")
_APART = re.compile(r"(?<=\d)[^\w\s]*\s[\W]*(?=\d)")
"""Between two numbers, not within one."""
_TELLING = frozenset("?%#&@")
"""Punctuation that says something."""


@cache
def _values(which: bool) -> Mapping[str, int]:
    """Return the numbers that words say: how many, or if `which`, which one."""
    words = {
        unicodedata.normalize("NFKC", word.casefold()).translate(_ASKING): int(value.rstrip("."))
        for value, words in entries("numerals")
        if value.endswith(".") is which
        for word in words.split()
    }
    return words | _CHINESE


@cache
def _numeral(which: bool) -> re.Pattern[str]:
    """Return a pattern for a number in words: several in a row where words have no spaces, else one or two.
    In Hebrew and Arabic one letter before it may be a preposition.
    """
    close = [word for word in _values(which) if word in _CHINESE or "ก" <= word[0] <= "๛"]
    runs, single = _any(close), _any(_values(which).keys() - close)
    return re.compile(rf"(?:{runs})+|(?:\b|(?<=\b[בלמהוכ]))(?:{single})(?:[ -](?:{single}))?(?![^\W_])")


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


def equal(first: str, second: str) -> bool:
    """Return whether two texts in any language are equal but for how they are written. "Three" is not "the
    third", but either may be written in digits.
    """
    return any(_bare(first, which) == _bare(second, which) for which in (False, True))


def _bare(text: str, which: bool) -> str:
    """Return a text without what never changes its meaning: spaces, punctuation, capitals, the script of
    digits. Numbers in words are written in digits, and times of day as hours and minutes.
    """
    text = unicodedata.normalize("NFKC", readable(text)).casefold().translate(_ASKING)
    text = _MARKS.sub("", text)
    text = "".join(str(unicodedata.decimal(c, c)) for c in text)
    text = _numeral(which).sub(lambda match: _counted(match.group(), _values(which)), text)
    text = _APART.sub(" ", _TIME.sub(_time, text))
    inner = {match.start() for match in _BETWEEN_DIGITS.finditer(text)}
    return "".join(
        c
        for at, c in enumerate(text)
        if c in _TELLING or at in inner or unicodedata.category(c)[0] not in ("P", "Z", "C")
    )


def _counted(whole: str, values: Mapping[str, int]) -> str:
    """Return the digits of a number in words: 二十五, ยี่สิบห้า, "двадцать пять"."""
    parts = [whole] if whole in values else re.findall(_any(values), whole)
    numbers = [values[part] for part in parts]
    if len(numbers) > 1 and all(number < 10 for number in numbers):
        return ("" if parts[0] in _CHINESE else " ").join(map(str, numbers))
    total, group, digit = 0, 0, 0
    for part, number in zip(parts, numbers, strict=True):
        if number < 10 or (number % 10 and number < 20):
            digit = number
        elif number == 10_000:
            total, group, digit = total + (group + digit or 1) * 10_000, 0, 0
        elif part in _CHINESE or number >= 100 or part == "สิบ":
            group, digit = group + (digit or 1) * number, 0
        else:
            group, digit = group + digit + number, 0
    return str(total + group + digit)


def _time(match: re.Match[str]) -> str:
    late, early = match["late"] or match["later"], match["early"] or match["earlier"]
    if not (late or early or match["unit"] or match["past"]) or (match["past"] and match["minute"]):
        return match.group()
    hour = int(match["hour"])
    minute = 30 if match["half"] else int(match["past"] or match["minute"] or 0)
    if late and hour < 12:
        hour += 12
    return f" {hour}:{minute:02} "
