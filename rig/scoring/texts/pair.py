"""Two texts of one kind, read: everything that the checks and the measure of wording look at."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

from rig.reading.amounts import quantities
from rig.reading.facts import TIMES, Fact, Matched, Scan, match
from rig.reading.lexicon import opposites
from rig.reading.phrases import merged
from rig.reading.times import clocks, dates, in_part
from rig.reading.typos import corrected
from rig.reading.words import Parts, Reading, Unshared, Word, content, is_foreign, opened, read, unshared
from rig.scoring.texts.checks.negation import Denial, denied
from rig.scoring.texts.checks.scales import Mark, left, marks
from rig.scoring.texts.ways import brought_together
from rig.toolbox.spec import Text

CACHED_TEXTS = 1024


@dataclass(frozen=True, slots=True)
class Side:
    """One of the texts. `plain` are its words without those that state a fact, `stated` the indices of these;
    `merged` has the expressions among the plain ones made one, and `content` is what is worth comparing of
    it. `denials` are the negations, `marks` the words of a scale, and `pictures` the emoji.
    """

    reading: Reading
    facts: tuple[Fact, ...]
    stated: frozenset[int]
    plain: tuple[Word, ...]
    merged: tuple[Word, ...]
    content: tuple[Word, ...]
    denials: tuple[Denial, ...]
    marks: tuple[Mark, ...]
    pictures: tuple[str, ...]

    @property
    def denied(self) -> frozenset[str]:
        """The stems of all that it denies."""
        return frozenset(chain.from_iterable(denial.scope for denial in self.denials if not denial.harmless))


@lru_cache(CACHED_TEXTS)
def side(parts: Parts) -> Side:
    """Read one text. Never raises."""
    reading = read(parts)
    scan = Scan(reading.words)
    facts = tuple(in_part(chain(dates(scan), clocks(scan), quantities(scan))))
    stated = frozenset(scan.taken)
    plain = tuple(word for index, word in enumerate(reading.words) if index not in stated)
    whole = merged(plain)
    return Side(
        reading,
        facts,
        stated,
        plain,
        whole,
        content(whole),
        tuple(denied(plain)),
        tuple(marks(reading.words, _told(facts))),
        parts.pictures,
    )


def _told(facts: Iterable[Fact]) -> dict[int, str]:
    """What stands at which word: a time or an amount."""
    return {
        at: "time" if fact.sort in TIMES else "amount"
        for fact in facts
        for at in range(fact.said.start, fact.said.end)
    }


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What is said beside both texts, in other sentences or arguments: a fact that one text leaves out is
    not missing if it stands there.
    """

    facts: tuple[Fact, ...] = ()
    stems: frozenset[str] = frozenset()
    sentences: int = 0
    """Sentences that both texts have beside what is held together."""


NOWHERE = Elsewhere()


@dataclass(frozen=True)
class Pair:
    """Two texts of one kind."""

    kind: Text
    first: Side
    second: Side
    elsewhere: Elsewhere = NOWHERE
    texts: tuple[str, str] = ("", "")
    """What was read, without greeting and signature."""

    @cached_property
    def foreign(self) -> bool:
        """Whether either text is in another language than English."""
        return not self.kind.place and (is_foreign(self.texts[0]) or is_foreign(self.texts[1]))

    @cached_property
    def facts(self) -> Matched:
        """The facts of both, held together."""
        return match(self.first.facts, self.second.facts)

    @cached_property
    def unshared(self) -> Unshared:
        """What only one of them has. "Not agree" and "disagree" are shared, and so are two words for all."""
        found = unshared(self.first.content, self.second.content)
        evened = self._evened(found)
        kept = [tuple(w for w in words if w.stem not in evened) for words in (found.first, found.second)]
        dropped = len(found.first) + len(found.second) - len(kept[0]) - len(kept[1])
        return Unshared(kept[0], kept[1], found.shared + dropped)

    def _evened(self, found: Unshared) -> set[str]:
        evened: set[str] = set()
        sides = (self.first, self.second)
        ones = [left(*(each.marks for each in sides[::step]))[0] for step in (1, -1)]
        for each, alone in zip(sides, ones, strict=True):
            even = [mark for mark in each.marks if mark not in alone]
            evened |= {each.reading.words[at].stem for mark in even for at in range(mark.start, mark.end)}
        for one, other, words in ((*sides, found.second), (*sides[::-1], found.first)):
            for stem in one.denied - other.denied:
                turned = opposites(stem, [word.stem for word in words])
                evened |= {stem, *turned} if turned else set()
        return evened


def pair(kind: Text, first: str, second: str) -> Pair:
    """Read two texts, always in the same order, so that nothing can depend on which is the expected one."""
    return of_parts(kind, *taken_apart(first, second))


def taken_apart(first: str, second: str) -> tuple[Parts, Parts]:
    """Both texts taken apart, always in the same order, and each read in the light of the other."""
    one, other = (opened(text) for text in sorted((first, second)))
    bodies = brought_together(one.body, other.body)
    return one._replace(body=bodies[0]), other._replace(body=bodies[1])


def of_parts(kind: Text, first: Parts, second: Parts, elsewhere: Elsewhere = NOWHERE) -> Pair:
    """The same of two texts taken apart. Mistyped words are read as what they are in the other text."""
    one, other = sorted((first, second))
    bodies = corrected(one.body, other.body)
    one, other = one._replace(body=bodies[0]), other._replace(body=bodies[1])
    return Pair(kind, side(one), side(other), elsewhere, bodies)
