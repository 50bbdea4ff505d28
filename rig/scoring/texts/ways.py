"""Rewrite what two texts say in different ways: "New Year's Eve" beside "31 December". Alone, such words stay
as they are, because only the other text shows what is meant.
"""

import re
from collections.abc import Iterator

from rig.reading.lexicon import in_order

MONTHS = in_order("january february march april may june july august september october november december")
LONGEST = 20_000
"""The most characters of a text in which such words are sought."""
_FEASTS = (
    (r"new year'?s eve|nye", 12, 31),
    (r"new year'?s day", 1, 1),
    (r"valentine'?s(?: day)?", 2, 14),
    (r"st\.? patrick'?s day", 3, 17),
    (r"april fools'?(?: day)?", 4, 1),
    (r"may day", 5, 1),
    (r"independence day", 7, 4),
    (r"hallowe'?en", 10, 31),
    (r"christmas eve", 12, 24),
    (r"christmas day", 12, 25),
    (r"boxing day", 12, 26),
)
_ROMAN = re.compile(r"(?<=\w )(?!I\b)(?=[IVX]+\b)(X{0,3})(IX|IV|V?I{0,3})\b")
_NUMBER = re.compile(r"(?<![\w.,])\d{1,2}(?!\w)")
_ITEM = {
    "digits": re.compile(r"(?:^|(?<=\s))\(?\d{1,2}[.)]\s+(?=\S)"),
    "words": re.compile(
        r"(?<![\w,] )\b(?:first(?:ly)?|second(?:ly)?|third(?:ly)?|then|finally|lastly),\s+", re.I
    ),
    "letters": re.compile(r"(?:^|(?<=\s))\(?[a-e]\)\s+(?=\S)"),
}
"""How the items of a list are numbered."""


def _day(month: int, day: int) -> str:
    name = MONTHS[month - 1]
    named = rf"(?:{name}|{name[:3]}\.?)"
    ending = "(?:st|nd|rd|th)?"
    ways = (
        f"{day}{ending}(?: of)? {named}",
        f"{named} (?:the )?{day}{ending}",
        f"{month}/{day}",
        f"{day}/{month}",
    )
    return rf"\b(?:{'|'.join(ways)})(?!\d)"


def _either(names: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{names})\b", re.I)


_WAYS = tuple(
    (_either(names), re.compile(_day(month, day), re.I), f"{day} {MONTHS[month - 1]}")
    for names, month, day in _FEASTS
) + tuple(
    (_either(short), _either(long), meant)
    for short, long, meant in (
        (
            "(?:(?:at|on|over|during) )?the weekend",
            r"(?:on )?sat(?:urday)?,? (?:and|&) sun(?:day)?",
            "Saturday and Sunday",
        ),
        (
            r"weekdays|(?:on )?(?:every|each) weekday",
            r"(?:from )?mon(?:day)?s? ?(?:to|-|–|through|until) ?fri(?:day)?s?",
            "Monday to Friday",
        ),
        (r"(?:the )?day before yesterday", r"(?:two|2) days ago", "two days ago"),
        (r"(?:the )?day after tomorrow", r"in (?:two|2) days", "in two days"),
        (r"a pair of", r"(?:2|two)(?= [^\W\d])", "2"),
        (r"a few days", r"(?:2|3|two|three) days", "a few days"),
        (r"around the clock|day and night", r"24/7|24 hours a day", "24/7"),
        (r"a decade", r"(?:10|ten) years", "10 years"),
        (r"a century", r"(?:100|a hundred|one hundred) years", "100 years"),
    )
)


def brought_together(first: str, second: str) -> tuple[str, str]:
    """Return both texts; what only the other one writes out is written out as it is there."""
    if max(len(first), len(second)) > LONGEST:
        return first, second
    first, second = _unlisted(first, second)
    first, second = _numbered(first, second), _numbered(second, first)
    return _written_out(first, second), _written_out(second, first)


def _written_out(text: str, other: str) -> str:
    for short, long, meant in _WAYS:
        if short.search(text) and long.search(other) and not short.search(other) and not long.search(text):
            text = short.sub(meant, text)
    return text


def _numbered(text: str, other: str) -> str:
    """Write Roman numbers as the other text does: chapter IV beside chapter 4."""
    numbers = set(_NUMBER.findall(other))

    def turned(match: re.Match[str]) -> str:
        value = str(_value(match.group()))
        return value if value in numbers else match.group()

    return _ROMAN.sub(turned, text) if numbers else text


def _value(roman: str) -> int:
    worth = [{"I": 1, "V": 5, "X": 10}[letter] for letter in roman]
    return sum(-n if n < max(worth[at:]) else n for at, n in enumerate(worth))


def _unlisted(first: str, second: str) -> tuple[str, str]:
    """Return both texts without the numbers of a list's items if their styles of numbering differ."""
    styles = [dict(_styles(text)) for text in (first, second)]
    if styles[0].keys() == styles[1].keys():
        return first, second
    return _bare(first, styles[0]), _bare(second, styles[1])


def _styles(text: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    for name, pattern in _ITEM.items():
        if len(pattern.findall(text)) > 1:
            yield name, pattern


def _bare(text: str, styles: dict[str, re.Pattern[str]]) -> str:
    for pattern in styles.values():
        text = pattern.sub(" ", text)
    return text
