"""Two texts of one kind, read: everything that the checks and the measure of wording look at."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

from rig.scoring.texts.clocks import clocks, in_part
from rig.scoring.texts.content import Unshared, content, unshared
from rig.scoring.texts.dates import dates
from rig.scoring.texts.facts import Fact
from rig.scoring.texts.negation import denied
from rig.scoring.texts.phrases import merged
from rig.scoring.texts.quantities import quantities
from rig.scoring.texts.reading import Reading, Word, read
from rig.scoring.texts.scan import Scan
from rig.toolbox.spec import Text

CACHED_TEXTS = 1024


@dataclass(frozen=True, slots=True)
class Side:
    """One of the texts. `plain` are its words without those that state a fact; `merged` has the expressions
    among them made one, and `content` is what is worth comparing of it. `denials` are the stems of what each
    negation is about.
    """

    reading: Reading
    facts: tuple[Fact, ...]
    plain: tuple[Word, ...]
    merged: tuple[Word, ...]
    content: tuple[Word, ...]
    denials: tuple[tuple[str, ...], ...]

    @property
    def denied(self) -> frozenset[str]:
        return frozenset(chain.from_iterable(self.denials))


@lru_cache(CACHED_TEXTS)
def side(text: str) -> Side:
    """Read one text. Never raises."""
    reading = read(text)
    scan = Scan(reading.words)
    facts = tuple(in_part(chain(dates(scan), clocks(scan), quantities(scan))))
    plain = tuple(word for index, word in enumerate(reading.words) if index not in scan.taken)
    whole = merged(plain)
    return Side(reading, facts, plain, whole, content(whole), tuple(denied(plain)))


@dataclass(frozen=True)
class Pair:
    """Two texts of one kind."""

    kind: Text
    first: Side
    second: Side

    @cached_property
    def unshared(self) -> Unshared:
        return unshared(self.first.content, self.second.content)


def pair(kind: Text, first: str, second: str) -> Pair:
    """Read two texts, always in the same order, so that nothing can depend on which is the expected one."""
    one, other = sorted((first, second))
    return Pair(kind, side(one), side(other))
