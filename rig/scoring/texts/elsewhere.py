"""What is said beside two texts, in the other arguments of their calls."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import product

from rig.reading.clauses import read_parts
from rig.reading.facts import Fact, Sort, TextSpan
from rig.reading.times import WEEKDAYS
from rig.reading.words import opened


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What is said beside both texts, in other arguments: a fact that stands there is not missing."""

    facts: tuple[Fact, ...] = ()
    stems: frozenset[str] = frozenset()


NOWHERE = Elsewhere()


def beside(values: Iterable[str]) -> Elsewhere:
    """The facts and words of the other arguments. A date says its weekday too."""
    facts: list[Fact] = []
    stems: set[str] = set()
    for value in values:
        read = read_parts(opened(value))
        facts += [*read.facts, *_weekday(read.facts)]
        stems.update(atom.key for atom in read.atoms)
    return Elsewhere(tuple(facts), frozenset(stems))


def _weekday(facts: Iterable[Fact]) -> Iterator[Fact]:
    facts = list(facts)
    sorts = (Sort.YEAR, Sort.MONTH, Sort.DAY)
    parts = [[fact.values for fact in facts if fact.sort is sort] for sort in sorts]
    for year, month, day in product(*(values[0] if values else () for values in parts)):
        try:
            name = WEEKDAYS[date(int(str(year)), int(str(month)), int(str(day))).weekday()]
        except ValueError:
            continue
        yield Fact(Sort.WEEKDAY, frozenset({name}), TextSpan(name, 0, 0))
