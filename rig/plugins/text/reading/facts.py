"""The facts that a text states (days, times of day, amounts), and how those of two texts are compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from rig.plugins.text.reading.words import Word

LONGEST_SHOWN = 40


class TextSpan(NamedTuple):
    """Words that state a fact: as they were written, from index `start` to before `end`."""

    shown: str
    start: int
    end: int


class Scan:
    """The words of a text, and the indices of those that state a fact already found."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = words
        self.taken: set[int] = set()

    def text(self, at: int) -> str:
        """Return the word at an index, empty if there is none."""
        return self.words[at].text if 0 <= at < len(self.words) else ""

    def free(self, at: int) -> bool:
        return 0 <= at < len(self.words) and at not in self.taken

    def joined(self, at: int) -> bool:
        return 0 <= at < len(self.words) and self.words[at].joined

    def number(self, at: int, digits: int = 2) -> int | None:
        """Return the whole number of at most `digits` digits at an index; None if there is none."""
        text = self.text(at)
        return int(text) if text.isdecimal() and len(text) <= digits else None

    def take(self, start: int, end: int) -> TextSpan:
        """Mark the words from `start` to before `end` as read, and return how they were written."""
        self.taken.update(range(start, end))
        parts = ("" if word.joined or not n else " " for n, word in enumerate(self.words[start:end]))
        text = "".join(a + b.text for a, b in zip(parts, self.words[start:end], strict=True))
        return TextSpan(text[:LONGEST_SHOWN], start, end)


class Sort(StrEnum):
    """What a fact is about. The value is what a person calls it."""

    WEEKDAY = "weekday"
    MONTH = "month"
    DAY = "day of the month"
    YEAR = "year"
    CLOCK = "time"
    PART = "part of the day"
    RELATIVE = "day"
    WHICH = "which week or day"
    RATE = "how often"
    NUMBER = "number"
    MONEY = "amount of money"
    PERCENT = "percentage"
    DURATION = "duration"
    MEASURE = "measure"
    LETTER = "letter"


TIMES = frozenset(
    {
        Sort.WEEKDAY,
        Sort.MONTH,
        Sort.DAY,
        Sort.YEAR,
        Sort.CLOCK,
        Sort.PART,
        Sort.RELATIVE,
        Sort.WHICH,
        Sort.RATE,
    }
)
IMPLIED = frozenset({Sort.PART, Sort.WHICH, Sort.YEAR})
"""What often goes without saying: "Friday" is this Friday, and an annual leave is a leave."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact. `values` are all that it can mean ("3:00" is 3 in the morning or in the afternoon); two facts
    agree if they can mean the same. `bare` is the plain number it is written with, if it may be no more than
    that, or the days from now; `of` is what is numbered: the floor in "3rd floor". A day has the `dates` that
    it can be, as month and day: two for 5/6, of which only one can be meant.
    """

    sort: Sort
    values: frozenset[object]
    said: TextSpan
    bare: object = None
    of: str | None = None
    dates: tuple[tuple[int, int], ...] = ()

    @property
    def shown(self) -> str:
        return self.said.shown

    def agrees(self, other: "Fact") -> bool:
        """Return whether both facts can mean the same."""
        if self.sort != other.sort:
            return self.bare is not None and self.bare == other.bare
        if self.dates and other.dates and len(self.dates) != len(other.dates):
            return not set(self.dates).isdisjoint(other.dates)
        if len(self.dates) > 1 and other.dates:
            return self.dates == other.dates  # whoever wrote them, the month stands in one place
        return not self.values.isdisjoint(other.values)
