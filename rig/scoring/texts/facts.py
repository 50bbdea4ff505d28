"""Facts that a text states - days, times of day, amounts - and how those of two texts are held together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

MAX_FACTS = 64
"""A text states no more; a hostile one does."""


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
    LETTER = "letter"


TIMES = frozenset(
    {Sort.WEEKDAY, Sort.MONTH, Sort.DAY, Sort.YEAR, Sort.CLOCK, Sort.PART, Sort.RELATIVE, Sort.WHICH}
)


@dataclass(frozen=True, slots=True)
class Fact:
    """`values` are all that it can mean ("3:00" is 3 in the morning and in the afternoon); two facts agree
    when they can mean the same. `bare` is the plain number it is written with, if that may be all it is;
    `of` is what is numbered: the floor in "3rd floor".
    """

    sort: Sort
    values: frozenset[object]
    shown: str
    bare: object = None
    of: str | None = None


def conflict(first: Sequence[Fact], second: Sequence[Fact], sorts: frozenset[Sort]) -> str | None:
    """Why the facts disagree: each text states one of a sort that the other does not. A fact that only one
    of them states is no disagreement.
    """
    first, second = first[:MAX_FACTS], second[:MAX_FACTS]
    ones, others = _unshared(first, second), _unshared(second, first)
    for one in ones:
        for other in others:
            if one.sort == other.sort and one.sort in sorts:
                return f"{one.sort}: {one.shown} is not {other.shown}"
    return _renumbered(first, second) if Sort.NUMBER in sorts else None


def _unshared(facts: Iterable[Fact], elsewhere: Sequence[Fact]) -> list[Fact]:
    return [fact for fact in facts if not any(_agree(fact, other) for other in elsewhere)]


def _agree(one: Fact, other: Fact) -> bool:
    if one.bare is not None and one.bare == other.bare:
        return True
    return one.sort == other.sort and not one.values.isdisjoint(other.values)


def _renumbered(first: Iterable[Fact], second: Sequence[Fact]) -> str | None:
    """Level 3 of tower 2 is not level 2 of tower 3."""
    for one in first:
        same = [other for other in second if other.of and other.of == one.of]
        if same and not any(_agree(one, other) for other in same):
            return f"{one.of}: {one.shown} is not {same[0].shown}"
    return None
