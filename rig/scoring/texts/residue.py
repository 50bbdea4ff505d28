"""Find what is left of two clauses without everything that they share, and what that means.

Every word that is left must be proven harmless, or else the clauses are different or unclear.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from rig.reading.clauses import Atom, AtomKind, is_past
from rig.reading.facts import Sort
from rig.reading.lexicon import vocabulary
from rig.scoring.texts.aligning import matching
from rig.toolbox.spec import Text

PAST, PRESENT, FUTURE = "past", "present", "future"
BEING = vocabulary("is be was been being")
GETTING = vocabulary("get got getting")
HELPING = BEING | vocabulary("do does did will")
"""The closed-class words that only say when and by whom something is done."""
OTHERWISE = vocabulary("would can could may might must should neednot mustnot let to")
"""With one of these the verb says what is possible, due or wanted."""


@dataclass(frozen=True, slots=True)
class Residue:
    """Two clauses, and what only one of them has: content words in order, and closed-class words with the
    content words that they stand before.
    """

    kind: Text
    first: tuple[Atom, ...]
    second: tuple[Atom, ...]
    pairs: dict[int, int]
    contexts: tuple[tuple[tuple[Atom, ...], ...], tuple[tuple[Atom, ...], ...]]
    content: tuple[tuple[Atom, ...], tuple[Atom, ...]]
    small: tuple[tuple["Small", ...], tuple["Small", ...]]
    timed: frozenset[int] = frozenset()
    """The words of the first clause that are verbs of the same time and voice in both."""

    @property
    def left(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The words that remain of each clause."""
        return tuple(
            tuple(atom.shown for atom in (*self.content[side], *(small.atom for small in self.small[side])))
            for side in (0, 1)
        )  # type: ignore[return-value]

    @property
    def passive(self) -> int | None:
        """The pair that does something: first in the active clause, after "by" in the passive one."""
        firsts, seconds = list(self.pairs), list(self.pairs.values())
        for side, here, there in ((0, firsts, seconds), (1, seconds, firsts)):
            keys = {small.atom.key for small in self.small[side]}
            doer = next((s.anchor for s in self.small[side] if s.atom.key == "by" and s.anchor >= 0), None)
            if doer is None or not keys & PASSIVE or len(here) < 2:
                continue
            if there[doer] == min(there) and here[doer] > min(here):
                return doer
        return None

    @property
    def is_plain(self) -> bool:
        """Whether the shared words are the same in one order, and at most one side has other small words."""
        return self._is_shared_word_for_word and not (self.small[0] and self.small[1])

    @property
    def is_least(self) -> bool:
        """Whether one word replaces another or only one side has more, and all else is literally the same."""
        remain = sorted(map(len, self.left))
        return self._is_shared_word_for_word and (remain[0] == 0 or remain == [1, 1])

    @property
    def _is_shared_word_for_word(self) -> bool:
        """Whether both clauses have what they share in the same words and the same order."""
        worded = all(self.first[m].shown == self.second[n].shown for m, n in self.pairs.items())
        return worded and self.rows == sorted(self.rows)

    @property
    def is_impersonal(self) -> bool:
        """Whether only one clause says who does it, and the other is passive: we moved it, it was moved."""
        keys = [{small.atom.key for small in side} for side in self.small]
        doers = [bool(side & DOERS) for side in keys]
        passives = [bool(side & {"is", "be", "was", "been"}) for side in keys]
        return doers != doers[::-1] and passives != passives[::-1] and doers != passives

    def named(self, number: int) -> Atom:
        """Return one word of a pair of content words: the one that is a name, if either is."""
        m, n = list(self.pairs.items())[number]
        return self.second[n] if self.second[n].sort is AtomKind.NAME else self.first[m]

    def without(self, side: int, count: int) -> "Residue":
        """Return this without a side's first `count` remaining content words and small words before them."""
        content, small = list(self.content), list(self.small)
        content[side] = content[side][count:]
        small[side] = tuple(word for word in small[side] if word.at >= count)
        return replace(self, content=(content[0], content[1]), small=(small[0], small[1]))

    @property
    def rows(self) -> list[int]:
        """Where the matched content words of the first clause stand in the second."""
        return list(self.pairs.values())

    @property
    def only_small(self) -> bool:
        """Whether no content remains."""
        return not (self.content[0] or self.content[1])


class Small(NamedTuple):
    """A closed-class word, and the number of the matched pair of content words that it stands before; -1
    after the last one. `at` is the index of the content word that follows it, matched or not.
    """

    atom: Atom
    anchor: int
    at: int


MOVABLE = frozenset(("adverb", "helper", "copula", "person", "degree", "article", "thing"))
"""Families of words that may stand before another word, depending on the order of the clause."""
DOERS = vocabulary("i we they somebody")
PASSIVE = vocabulary("is be was been being get got have")


def residue(kind: Text, first: Sequence[Atom], second: Sequence[Atom]) -> Residue:
    """Return what remains of two clauses without what they share."""
    content = [[atom for atom in atoms if atom.is_content] for atoms in (first, second)]
    pairs = matching(*content)
    numbers = (
        {m: number for number, m in enumerate(pairs)},
        {n: number for number, n in enumerate(pairs.values())},
    )
    contexts = _contexts(first), _contexts(second)
    small = [list(_small(context, numbers[side])) for side, context in enumerate(contexts)]
    small, timed = _same_time(content, small, pairs)
    silent = _silent(content, numbers)
    small = [[word for word in side if word.at not in silent[n]] for n, side in enumerate(small)]
    for strict in (True, False):
        small = _cancelled(small[0], small[1], strict)
    left = (
        tuple(atom for m, atom in enumerate(content[0]) if m not in numbers[0] and m not in silent[0]),
        tuple(atom for n, atom in enumerate(content[1]) if n not in numbers[1] and n not in silent[1]),
    )
    pieces = (tuple(small[0]), tuple(small[1]))
    return Residue(kind, tuple(content[0]), tuple(content[1]), pairs, contexts, left, pieces, timed)


def _same_time(
    content: Sequence[Sequence[Atom]], small: list[list["Small"]], pairs: Mapping[int, int]
) -> tuple[list[list["Small"]], frozenset[int]]:
    """Return the closed-class words without the helpers of verbs that agree, and those verbs of the first
    clause. If either clause has just one word without a partner, these two count as a pair.
    """
    alone = [
        [n for n in range(len(side)) if n not in matched]
        for side, matched in zip(content, (set(pairs), set(pairs.values())), strict=True)
    ]
    candidates = [
        *pairs.items(),
        *([(alone[0][0], alone[1][0])] if all(len(side) == 1 for side in alone) else []),
    ]
    timed = {}
    for m, n in candidates:
        if content[0][m].fact is None and content[1][n].fact is None:
            before = [
                [word.atom for word in side if word.at == at] for side, at in zip(small, (m, n), strict=True)
            ]
            words = content[0][m], content[1][n]
            helped = any(
                is_helper(atom, word) for side, word in zip(before, words, strict=True) for atom in side
            )
            if helped and verb_of(content[0][m], before[0]).agrees(verb_of(content[1][n], before[1])):
                timed[m] = n
    rest = [
        [word for word in side if word.at not in at or not is_helper(word.atom, words[word.at])]
        for side, at, words in zip(small, (set(timed), set(timed.values())), content, strict=True)
    ]
    return rest, frozenset(timed)


def _silent(content: Sequence[Sequence[Atom]], numbers: Sequence[dict[int, int]]) -> list[set[int]]:
    """Return the facts that say nothing new: the evening beside 19:00, the month of a day that both name."""
    facts = [[(n, atom.fact) for n, atom in enumerate(side) if atom.fact is not None] for side in content]
    silent: list[set[int]] = []
    for side, matched, others, met in zip(facts, numbers, facts[::-1], numbers[::-1], strict=True):
        clocks = any(fact.sort is Sort.CLOCK for n, fact in side if n in matched)
        days = {fact.said for n, fact in side if n in matched and fact.sort is Sort.DAY}
        months = any(fact.sort is Sort.MONTH for n, fact in others if n not in met)
        parts = any(fact.sort is Sort.PART for n, fact in others if n not in met)
        silent.append(
            {
                n
                for n, fact in side
                if n not in matched
                if (fact.sort is Sort.PART and clocks and not parts)
                or (fact.sort is Sort.MONTH and fact.said in days and not months)
            }
        )
    return silent


def _contexts(atoms: Sequence[Atom]) -> tuple[tuple[Atom, ...], ...]:
    """Return the closed-class words before each content word, and those after the last."""
    contexts: list[list[Atom]] = [[]]
    for atom in atoms:
        if atom.is_content:
            contexts.append([])
        else:
            contexts[-1].append(atom)
    return tuple(map(tuple, contexts))


def _small(contexts: Sequence[Sequence[Atom]], numbers: dict[int, int]) -> Iterator[Small]:
    """Yield the closed-class words, each with the next content word that is matched."""
    waiting: list[tuple[Atom, int]] = []
    for at, context in enumerate(contexts):
        waiting += [(atom, at) for atom in context]
        if at in numbers:
            yield from (Small(word, numbers[at], before) for word, before in waiting)
            waiting = []
    yield from (Small(word, -1, before) for word, before in waiting)


def _cancelled(ones: list[Small], others: list[Small], strict: bool) -> list[list[Small]]:
    """Return both without equal words: before the same word or, if not `strict`, where they may move."""
    people = [sum(small.atom.family == "person" for small in side) for side in (ones, others)]

    def key(small: Small) -> tuple[str, int] | None:
        if strict:
            return (small.atom.key, small.anchor)
        movable = small.atom.family in MOVABLE and (small.atom.family != "person" or max(people) < 2)
        at_end = small.anchor == -1 or small.atom.key in ("also", "not", "still", "already", "yet")
        return (small.atom.key, 0) if movable or (at_end and small.atom.family != "place") else None

    counts = [Counter(map(key, side)) for side in (ones, others)]
    shared = counts[0] & counts[1]
    result = []
    for side in (ones, others):
        left, kept = Counter(shared), []
        for small in side:
            if (name := key(small)) is not None and left[name] > 0:
                left[name] -= 1
            else:
                kept.append(small)
        result.append(kept)
    return result


class VerbForm(NamedTuple):
    """The times that a verb can refer to, its voice, and what else its helpers say. "Is coming", "comes" and
    "will come" are the same, and so are "was delivered" and "has been delivered".
    """

    times: Set[str]
    passive: bool
    otherwise: Set[str]

    def agrees(self, other: "VerbForm") -> bool:
        """Return whether both can refer to one time, in one voice."""
        same = self.passive == other.passive and self.otherwise == other.otherwise
        return same and not self.times.isdisjoint(other.times)


def is_helper(small: Atom, verb: Atom) -> bool:
    """Return whether a closed-class word helps a verb; "have" and "get" only do before a participle."""
    return small.key in HELPING or (small.key in GETTING | {"have", "had"} and is_past(verb.word))


def verb_of(atom: Atom, before: Sequence[Atom]) -> VerbForm:
    """Return the form of a word that may be a verb, given the closed-class words before it."""
    keys = {small.key for small in before}
    texts = {small.shown for small in before}
    otherwise = keys & OTHERWISE
    participle = is_past(atom.word)
    passive = participle and bool(keys & (BEING | GETTING))
    perfect = "have" in keys and (participle or "been" in texts)
    if "will" in keys or (otherwise and not passive):
        return VerbForm({FUTURE}, passive, otherwise)
    if not keys.isdisjoint(("was", "did", "had")) or (passive and "got" in keys):
        return VerbForm({PAST}, passive, otherwise)
    if perfect:
        return VerbForm({PAST, PRESENT} if passive else {PAST}, passive, otherwise)
    if participle and not passive:
        return VerbForm({PAST}, False, otherwise)
    return VerbForm({PRESENT, FUTURE}, passive, otherwise)
