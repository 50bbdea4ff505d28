"""What the other arguments of a call say besides a text."""

from collections.abc import Iterable
from datetime import date
from itertools import product

from rig.reading.facts import Fact, Sort, Span
from rig.reading.times import WEEKDAYS
from rig.reading.words import opened
from rig.scoring.texts.pair import Elsewhere, side


def beside(values: Iterable[str]) -> Elsewhere:
    """The facts and words of the other arguments. A date says its weekday too."""
    facts: list[Fact] = []
    stems: set[str] = set()
    for value in values:
        read = side(opened(value))
        facts += [*read.facts, *_weekday(read.facts)]
        stems.update(word.stem for word in read.reading.words if word.is_word)
    return Elsewhere(tuple(facts), frozenset(stems))


def _weekday(facts: Iterable[Fact]) -> Iterable[Fact]:
    parts = [[f.values for f in facts if f.sort is sort] for sort in (Sort.YEAR, Sort.MONTH, Sort.DAY)]
    for year, month, day in product(*(values[0] if values else () for values in parts)):
        try:
            name = WEEKDAYS[date(int(str(year)), int(str(month)), int(str(day))).weekday()]
        except ValueError:
            continue
        yield Fact(Sort.WEEKDAY, frozenset({name}), Span(name, 0, 0))
