"""Find the sentences of two texts that belong together: shared words propose, an assignment decides."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import dropwhile, pairwise, takewhile
from typing import NamedTuple

from rig.plugins.text.reading.clauses import Atom, AtomKind, ReadText
from rig.plugins.text.reading.facts import TIMES, Sort
from rig.plugins.text.reading.lexicon import given_names, roots, synonymous, vocabulary
from rig.plugins.text.reading.typos import distance
from rig.plugins.text.reading.words import Word

AT = vocabulary("at on")
"""What may stand before a time or not."""
POSITION = 0.05
"""How much standing at the same place counts, compared with the words that sentences share."""
MAX_SENTENCES = 160
"""The most sentences that only one text has. With more, the texts are too different to be compared."""
NEAR_NAMES = 2
"""Names that differ by at most this many letters are different: Jon is not John."""
BORDER = Atom("|", AtomKind.CLOSED, "|", Word("|", "|"), family="link")
"""Stands between the clauses of a sentence that nothing else joins."""


@dataclass(frozen=True)
class Sentence:
    """Sentences of a text: as they were written, their atoms in order, and whether they ask."""

    text: str
    atoms: tuple[Atom, ...]
    asks: bool

    @cached_property
    def content(self) -> tuple[Atom, ...]:
        """The atoms that carry meaning."""
        return tuple(atom for atom in self.atoms if atom.is_content)

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What two sentences have in common that are the same but for articles, the form of facts, and the
        place of the times at their start or end.
        """
        every = (*(atom for atom in self.atoms if atom.key != "a"), BORDER)
        atoms = [atom for atom, after in pairwise(every) if atom.key not in AT or not _time(after)]
        lead = [] if "to" in {atom.key for atom in atoms} else list(takewhile(_time, atoms))
        if lead and not _time(atoms[-1]):
            atoms = [*dropwhile(lambda atom: atom is BORDER, atoms[len(lead) :]), *lead]
        times = list(takewhile(_time, reversed(atoms)))
        sorts = set(map(_time, times))
        when = {token(atom) for atom in times if not (Sort.CLOCK in sorts and _time(atom) is Sort.PART)}
        return self.asks, frozenset(when), *map(token, atoms[: len(atoms) - len(times)])

    def __add__(self, other: "Sentence") -> "Sentence":
        return Sentence(f"{self.text} {other.text}", self.atoms + other.atoms, self.asks or other.asks)


class Passage(NamedTuple):
    """Sentences of two texts that belong together; either may be missing."""

    first: Sentence | None
    second: Sentence | None


def _time(atom: Atom) -> Sort | None:
    """Return which sort of time an atom states; None if it states none."""
    return atom.fact.sort if atom.fact is not None and atom.fact.sort in TIMES else None


def token(atom: Atom) -> object:
    """Return what two atoms have in common that are written alike, or are one fact."""
    return atom.shown if atom.fact is None else (atom.fact.sort, atom.fact.values, atom.fact.dates)


def sentences_of(text: ReadText) -> list[Sentence]:
    """Return the sentences of a text as they were read."""
    atoms: defaultdict[int, list[Atom]] = defaultdict(list)
    asking = {clause.sentence for clause in text.clauses if clause.asks}
    for clause in text.clauses:
        if atoms[clause.sentence] and clause.link in ("", "and"):
            atoms[clause.sentence].append(BORDER)
        atoms[clause.sentence] += clause.joined
    return [Sentence(text.sentences[n], tuple(atoms[n]), n in asking) for n in sorted(atoms)]


def unshared(first: Sequence[Sentence], second: Sequence[Sentence]) -> tuple[list[Sentence], list[Sentence]]:
    """Return each text's sentences that the other text does not have."""
    counts = [Counter(sentence.key for sentence in side) for side in (first, second)]
    rest: tuple[list[Sentence], list[Sentence]] = ([], [])
    for side, sentences in enumerate((first, second)):
        left = counts[0] & counts[1]
        for sentence in sentences:
            left[sentence.key] -= 1
            if left[sentence.key] < 0:
                rest[side].append(sentence)
    return rest


def passages(first: Sequence[Sentence], second: Sequence[Sentence]) -> list[Passage]:
    """Return the sentences that belong together. Each is in exactly one passage. What is like nothing in the
    other text makes one passage if both texts have as many such sentences.
    """
    groups = _assigned(first, second)
    texts = (first, second)
    for side in (0, 1):
        paired = {n for group in groups for n in group[side]}
        for number in (n for n in range(len(texts[side])) if n not in paired):
            gains = [_matched(_with(group, side, number), texts) - _matched(group, texts) for group in groups]
            if max(gains, default=0) > 0:
                groups[gains.index(max(gains))][side].append(number)
    lone = [
        [n for n in range(len(text)) if not any(n in group[side] for group in groups)]
        for side, text in enumerate(texts)
    ]
    if lone[0] and len(lone[0]) == len(lone[1]):
        groups.append(lone)
    else:
        groups += [[[n], []] for n in lone[0]] + [[[], [n]] for n in lone[1]]
    return [Passage(_joined(first, group[0]), _joined(second, group[1])) for group in groups]


Group = list[list[int]]
"""The numbers of the sentences of both texts that belong together."""


def _assigned(first: Sequence[Sentence], second: Sequence[Sentence]) -> list[Group]:
    from scipy.optimize import linear_sum_assignment

    if not (first and second):
        return []
    values = [
        [
            _overlap(one, other) - POSITION * abs(m / len(first) - n / len(second))
            for n, other in enumerate(second)
        ]
        for m, one in enumerate(first)
    ]
    rows, columns = linear_sum_assignment(values, maximize=True)
    return [[[int(m)], [int(n)]] for m, n in zip(rows, columns, strict=True) if values[m][n] > POSITION]


def _overlap(one: Sentence, other: Sentence) -> float:
    total = len(one.content) + len(other.content)
    return 2 * len(matching(one.content, other.content)) / total if total else float(one.key == other.key)


def _with(group: Group, side: int, number: int) -> Group:
    return [[*numbers, number] if n == side else numbers for n, numbers in enumerate(group)]


def _matched(group: Group, texts: Sequence[Sequence[Sentence]]) -> int:
    content = [
        [atom for n in sorted(numbers) for atom in text[n].content]
        for numbers, text in zip(group, texts, strict=True)
    ]
    return len(matching(*content))


def _joined(text: Sequence[Sentence], numbers: Sequence[int]) -> Sentence | None:
    parts = [text[n] for n in sorted(numbers)]
    return sum(parts[1:], parts[0]) if parts else None


def matching(first: Sequence[Atom], second: Sequence[Atom]) -> dict[int, int]:
    """Match atoms of the first with atoms of the second that say the same, equal ones before synonyms."""
    pairs: dict[int, int] = {}
    free = dict.fromkeys(range(len(second)))
    for alike in (_equal, _synonymous):
        for m, one in enumerate(first):
            if m not in pairs:
                n = next((n for n in free if alike(one, second[n])), None)
                if n is not None:
                    pairs[m] = n
                    del free[n]
    return dict(sorted(pairs.items()))


def _equal(one: Atom, other: Atom) -> bool:
    if one.fact is not None or other.fact is not None:
        return one.fact is not None and other.fact is not None and one.fact.agrees(other.fact)
    return one.key == other.key


def _synonymous(one: Atom, other: Atom) -> bool:
    return one.fact is None and other.fact is None and same_word(one, other)


def same_word(one: Atom, other: Atom) -> bool:
    """Return whether one word can stand for another."""
    if AtomKind.NAME in (one.sort, other.sort):
        return same_name(one.shown, other.shown)
    return synonymous(one.key, other.key) or not roots(one.key).isdisjoint(roots(other.key))


def same_name(first: str, second: str) -> bool:
    """Return whether two words can be one name, in two of its forms (Tom, Thomas) or in the plural."""
    if first.removesuffix("s") == second.removesuffix("s"):
        return True
    if distance(first, second) <= NEAR_NAMES and not (first.startswith(second) or second.startswith(first)):
        return False
    names = given_names()
    return not names.get(first, frozenset()).isdisjoint(names.get(second, frozenset()))
