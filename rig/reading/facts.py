"""Facts that a text states (days, times of day, amounts), and how those of two texts are compared."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from rig.reading.words import Word

LONGEST_SHOWN = 40


class Span(NamedTuple):
    """Words that state a fact: as they were written, and from which index to before which."""

    shown: str
    start: int
    end: int


class Scan:
    """The words of a text, and the indices of those that state a fact that was found."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = words
        self.taken: set[int] = set()

    def text(self, at: int) -> str:
        """The word at an index, empty if there is none."""
        return self.words[at].text if 0 <= at < len(self.words) else ""

    def free(self, at: int) -> bool:
        return 0 <= at < len(self.words) and at not in self.taken

    def joined(self, at: int) -> bool:
        return 0 <= at < len(self.words) and self.words[at].joined

    def number(self, at: int, digits: int = 2) -> int | None:
        """The whole number of at most this many digits at an index."""
        text = self.text(at)
        return int(text) if text.isdecimal() and len(text) <= digits else None

    def take(self, start: int, end: int) -> Span:
        """Mark what lies from one index to before another as read, and say how it was written."""
        self.taken.update(range(start, end))
        parts = ("" if word.joined or not n else " " for n, word in enumerate(self.words[start:end]))
        shown = "".join(a + b.text for a, b in zip(parts, self.words[start:end], strict=True))
        return Span(shown[:LONGEST_SHOWN], start, end)


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
    NUMBER = "number"
    MONEY = "amount of money"
    PERCENT = "percentage"
    DURATION = "duration"
    MEASURE = "measure"
    LETTER = "letter"


TIMES = frozenset(
    {Sort.WEEKDAY, Sort.MONTH, Sort.DAY, Sort.YEAR, Sort.CLOCK, Sort.PART, Sort.RELATIVE, Sort.WHICH}
)
IMPLIED = frozenset({Sort.PART, Sort.WHICH, Sort.YEAR})
"""What is often understood: "Friday" is this Friday, and an annual leave a leave."""


@dataclass(frozen=True, slots=True)
class Fact:
    """`values` are all that it can mean ("3:00" is 3 in the morning and in the afternoon); two facts agree
    when they can mean the same. `bare` is the plain number it is written with, if that may be all it is;
    `of` is what is numbered: the floor in "3rd floor".
    """

    sort: Sort
    values: frozenset[object]
    said: Span
    bare: object = None
    of: str | None = None

    @property
    def shown(self) -> str:
        return self.said.shown

    def agrees(self, other: "Fact") -> bool:
        """Whether both can mean the same."""
        if self.sort != other.sort:
            return self.bare is not None and self.bare == other.bare
        return not self.values.isdisjoint(other.values)


@dataclass(frozen=True, slots=True)
class Matched:
    """The facts of two texts, each compared with one of the other: the pairs that agree, and the rest."""

    pairs: tuple[tuple[Fact, Fact], ...]
    first: tuple[Fact, ...]
    second: tuple[Fact, ...]


def match(first: Sequence[Fact], second: Sequence[Fact]) -> Matched:
    """Hold each fact against one of the other text, those of one sort first. What a text says twice may be
    said once in the other.
    """
    free, pairs = _Free(second), []
    left = list(first)
    for loose in (False, True):
        unmatched = []
        sorts = {other.sort for other in free.left} if loose else set()
        for fact in left:
            # A 3 for a 3 o'clock, where neither text has another of that sort.
            other = free.take(fact, loose) if fact.sort not in sorts else None
            if other is None:
                unmatched.append(fact)
            else:
                pairs.append((fact, other))
        left = unmatched
    others = free.left
    ones = [fact for fact in left if not _restated(fact, [b for _, b in pairs], others)]
    others = [fact for fact in others if not _restated(fact, [a for a, _ in pairs], left)]
    return Matched(tuple(pairs), tuple(ones), tuple(others))


class _Free:
    """Facts that nothing was checked against yet, found by what they can mean."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._facts = dict(enumerate(facts))
        self._by_value: dict[object, list[int]] = {}
        for index, fact in enumerate(facts):
            for key in _keys(fact, loose=True):
                self._by_value.setdefault(key, []).append(index)

    @property
    def left(self) -> list[Fact]:
        return list(self._facts.values())

    def take(self, fact: Fact, loose: bool) -> Fact | None:
        """The first that agrees, or nothing; `loose` also where only the bare number is the same."""
        found = [index for key in _keys(fact, loose) for index in self._first(key)]
        return self._facts.pop(min(found)) if found else None

    def _first(self, key: object) -> list[int]:
        waiting = self._by_value.get(key, [])
        while waiting and waiting[0] not in self._facts:
            waiting.pop(0)
        return waiting[:1]


def _keys(fact: Fact, loose: bool) -> Iterable[object]:
    yield from ((fact.sort, value) for value in fact.values)
    if loose and fact.bare is not None:
        yield ("bare", fact.bare)


def _restated(fact: Fact, matched: Iterable[Fact], against: Iterable[Fact]) -> bool:
    """Whether the other text says it once for twice, and nothing else in its place."""
    if any(other.sort is fact.sort for other in against):
        return False
    return any(fact.agrees(other) for other in matched)


def conflict(ones: Sequence[Fact], others: Sequence[Fact], sorts: frozenset[Sort]) -> str | None:
    """Why the facts that are left of two texts disagree: each states one of a sort that the other does
    not.
    """
    by_sort = {other.sort: other for other in reversed(others)}
    for one in ones:
        if one.sort in sorts and one.sort in by_sort:
            return f"{one.sort}: {one.shown} is not {by_sort[one.sort].shown}"
    return None


def renumbered(first: Iterable[Fact], second: Sequence[Fact]) -> str | None:
    """Why the numbers are of other things: level 3 of tower 2 is not level 2 of tower 3."""
    numbered: dict[str, list[Fact]] = {}
    for fact in second:
        numbered.setdefault(fact.of or "", []).append(fact)
    for one in first:
        same = numbered.get(one.of, []) if one.of else []
        if same and not any(one.agrees(other) for other in same):
            return f"{one.of}: {one.shown} is not {same[0].shown}"
    return None
