"""The judgement of two free texts: the same, different, or not clear.

Both texts are read clause by clause; aligned clauses are judged alone on what remains of each. Likeness of
wording is asked only where nothing but words that carry meaning remains of both.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import accumulate, chain, product
from operator import attrgetter

from rig.reading.characters import mood, readable
from rig.reading.clauses import Atom, AtomKind, Clause, ReadText, conflicting, read_parts, sentences
from rig.reading.facts import Fact, Sort, TextSpan
from rig.reading.times import WEEKDAYS
from rig.reading.typos import corrected
from rig.reading.words import is_foreign, is_small, opened
from rig.scoring.texts.aligning import Group, align, atoms_of
from rig.scoring.texts.atoms import matching, same_name
from rig.scoring.texts.checks import (
    CHECKS,
    Finding,
    Meaning,
    different,
    is_list_moved,
    unclear,
    without_double_negation,
)
from rig.scoring.texts.least import exchanged
from rig.scoring.texts.residue import Residue, residue
from rig.scoring.texts.ways import brought_together
from rig.toolbox.spec import FREE_TEXT, Text

MAX_CLAUSES = 160
"""Clauses of either text that the other has not. Of more, the texts are too different to be held together."""
MAX_TEXT = 1_000_000
MAX_PAIRS = 100_000
"""Pairs of words that are looked at for one within the other."""
LONGEST_REASON = 100
SIDES = (attrgetter("first"), attrgetter("second"))
ORDERING = frozenset(("then", "before", "after"))
"""With these the order of a list counts."""
LOOSE_LINKS = frozenset(("", "and", "so", "because", "though", "but", "plus"))
"""Clauses may be joined by these or by a full stop."""


@dataclass(frozen=True, slots=True)
class Band:
    """From which likeness on words that remain are the same, and from which on it is not clear."""

    same: float
    unclear: float


@dataclass(frozen=True, slots=True)
class Aligned:
    """Clauses that belong together, as they were read: the words that remain of each, and what that means."""

    first: str
    second: str
    left: tuple[tuple[str, ...], tuple[str, ...]]
    meaning: Meaning
    reason: str


@dataclass(frozen=True, slots=True)
class TextJudgement:
    """What is said about two texts, and why. `likeness` is that of the words that remain, from 0 to 1."""

    meaning: Meaning
    likeness: float
    note: str | None = None
    clauses: tuple[Aligned, ...] = ()

    @property
    def reason(self) -> str:
        """Why, in one line."""
        return self.note or f"the wording is alike by {self.likeness:.2f}"


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What is said beside both texts, in other arguments: a fact that stands there is not missing."""

    facts: tuple[Fact, ...] = ()
    stems: frozenset[str] = frozenset()


Likeness = Callable[[Residue], float]
NOWHERE = Elsewhere()
SAME = TextJudgement(Meaning.SAME, 1.0)
TOO_LONG = TextJudgement(Meaning.UNCLEAR, 0.0, "not clear: too long to read")


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


def judge(
    kind: Text, first: str, second: str, likeness: Likeness, band: Band, elsewhere: Elsewhere = NOWHERE
) -> TextJudgement:
    """Whether two texts of a kind mean the same. Symmetric. Texts of any length are read whole."""
    if first == second:
        return SAME
    if max(len(first), len(second)) > MAX_TEXT:
        return TOO_LONG
    turned = first > second
    one, other = sorted((first, second))
    judged = _judged(kind, one, other, likeness, band, elsewhere)
    return replace(judged, clauses=tuple(map(_turned, judged.clauses))) if turned else judged


def marked(first: str, second: str) -> list[tuple[str, str]]:
    """The clauses of two texts that are not the same, side by side, each word that remains in brackets."""
    judged = judge(FREE_TEXT, first, second, lambda _: 0.5, Band(0.5, 0.5))
    return [
        (_bracketed(clause.first, clause.left[0]), _bracketed(clause.second, clause.left[1]))
        for clause in judged.clauses
        if clause.meaning is not Meaning.SAME
    ]


def _bracketed(clause: str, words: Sequence[str]) -> str:
    for word in dict.fromkeys(words):
        clause = re.sub(rf"(?<![\w\[]){re.escape(word)}(?![\w\]])", f"[{word}]", clause)
    return clause


def _turned(aligned: Aligned) -> Aligned:
    return replace(aligned, first=aligned.second, second=aligned.first, left=aligned.left[::-1])


def _judged(
    kind: Text, first: str, second: str, likeness: Likeness, band: Band, elsewhere: Elsewhere
) -> TextJudgement:
    parts = [opened(text) for text in (first, second)]
    # One character can stand for many: a ligature for a whole phrase.
    if max(len(part.body) for part in parts) > MAX_TEXT:
        return TOO_LONG
    bodies = corrected(*brought_together(*(part.body for part in parts)))
    parts = [part._replace(body=body) for part, body in zip(parts, bodies, strict=True)]
    first_text, second_text = (read_parts(part) for part in parts)
    if not kind.place and any(all(map(is_foreign, sentences(body))) for body in bodies if body.strip()):
        return _foreign(first_text, second_text)
    whole = corrected(*brought_together(*map(readable, (first, second))))
    least = [unclear(f"{one} is not {other}") for one, other in exchanged(*whole, kind.like == "task")]
    comparison = _Comparison(kind, first_text, second_text, likeness, band, elsewhere)
    clauses = tuple(comparison.clauses())
    findings = [
        *_around(first_text, second_text),
        *least,
        *(Finding(one.meaning, one.reason) for one in clauses),
    ]
    for meaning in (Meaning.DIFFERENT, Meaning.UNCLEAR):
        reason = next((finding.reason for finding in findings if finding.meaning is meaning), None)
        if reason is not None:
            note = reason if meaning is Meaning.DIFFERENT else f"not clear: {reason}"
            return TextJudgement(meaning, comparison.least, note[:LONGEST_REASON], clauses)
    return TextJudgement(Meaning.SAME, comparison.least, None, clauses)


def _around(first: ReadText, second: ReadText) -> Iterator[Finding]:
    """Greeting, signature and pictures."""
    for ones, others in ((first.greeted, second.greeted), (first.signed, second.signed)):
        if ones and others and not any(same_name(one, other) for one in ones for other in others):
            yield different(f"name: {ones[0].capitalize()} is not {others[0].capitalize()}")
    moods = [{mood(picture) for picture in text.pictures} - {""} for text in (first, second)]
    against = (("yes", "no"), ("glad", "sad"))
    if any(a in one and b in other for a, b in against for one, other in (moods, moods[::-1])):
        yield different(f"emoji: {min(moods[0])} is not {min(moods[1])}")
        return
    pictures = [set(text.pictures) for text in (first, second)]
    alone = bool(pictures[0]) != bool(pictures[1]) and not (first.atoms and second.atoms)
    other = all(pictures) and pictures[0].isdisjoint(pictures[1]) and (moods[0] != moods[1] or not moods[0])
    if alone or other or (moods[0] ^ moods[1]) & {"no", "sad"}:
        yield unclear("emoji")


def _foreign(first: ReadText, second: ReadText) -> TextJudgement:
    """Of other languages only the words are known: the same ones, in an order that moves no name."""
    atoms = [text.atoms for text in (first, second)]
    bags = [sorted(atom.shown for atom in side if not is_small(atom.shown)) for side in atoms]
    left = [
        [word for word in bag if word not in other]
        for bag, other in zip(bags, map(set, bags[::-1]), strict=True)
    ]
    is_short = len(left[0]) * len(left[1]) <= MAX_PAIRS
    within = is_short and any(one in other or other in one for one in left[0] for other in left[1])
    if left[0] and left[1] and not within:
        return TextJudgement(Meaning.DIFFERENT, 0.0, f"other word: {left[0][0]} is not {left[1][0]}")
    if left[0] or left[1]:
        return TextJudgement(Meaning.UNCLEAR, 0.5, f"not clear: only one says: {(left[0] or left[1])[0]}")
    small = [Counter(atom.shown for atom in side if is_small(atom.shown)) for side in atoms]
    capital = [{atom.shown for atom in side if atom.word.capital and not atom.word.first} for side in atoms]
    rows = [[atom.shown for atom in side if atom.shown in capital[0] & capital[1]] for side in atoms]
    if rows[0] != rows[1] or small[0] != small[1]:
        return TextJudgement(Meaning.UNCLEAR, 0.5, "not clear: the small words and their order")
    return SAME


def _foreign_clause(found: Residue) -> Finding:
    """A clause of another language: the same words, in any order."""
    ones, others = found.left
    if found.content[0] and found.content[1]:
        return different(f"other word: {ones[0]} is not {others[0]}")
    if ones or others:
        return unclear(f"only one says: {(ones or others)[0]}")
    return Finding(Meaning.SAME, "the same words")


class _Comparison:
    """Two texts, held together clause by clause. `least` is the least likeness of wording among them."""

    def __init__(
        self,
        kind: Text,
        first: ReadText,
        second: ReadText,
        likeness: Likeness,
        band: Band,
        elsewhere: Elsewhere,
    ) -> None:
        self.kind = kind
        self.texts = (first, second)
        self.likeness, self.band, self.elsewhere = likeness, band, elsewhere
        self.least = 1.0
        self.rest: tuple[list[Clause], list[Clause]] = ([], [])
        self.compared: list[tuple[Group, Residue]] = []
        self.lists: list[Group] = []
        """Sentences in which only the items of a list have changed places."""
        self.heads: set[tuple[str, ...]] = set()

    def clauses(self) -> Iterator[Aligned]:
        """The clauses that only one text has word for word, aligned and judged."""
        first, second = self.texts
        asks = [{clause.asks for clause in text.clauses} for text in self.texts]
        if asks[0] == asks[1] and _flat(first) == _flat(second):
            return
        self.rest = _unshared(first.clauses, second.clauses)
        if max(map(len, self.rest)) > MAX_CLAUSES:
            yield Aligned("", "", ((), ()), Meaning.DIFFERENT, "most of it differs")
            return
        groups = self._listed(align(*self.rest))
        self.compared = [(group, self._residue(group)) for group in groups]
        self.heads = self._opening(0) & self._opening(1)
        for group, remains in self.compared:
            finding = (
                self._judged(group, remains) if group.first and group.second else self._lone(group, remains)
            )
            texts = self._shown(group)
            yield Aligned(texts[0], texts[1], remains.left, *finding)

    def _sides(self, group: Group) -> tuple[list[Clause], list[Clause]]:
        first, second = self.rest
        return [first[n] for n in sorted(group.first)], [second[n] for n in sorted(group.second)]

    def _shown(self, group: Group) -> list[str]:
        return [" ".join(clause.shown for clause in side) for side in self._sides(group)]

    def _residue(self, group: Group) -> Residue:
        return residue(self.kind, *(atoms_of(side) for side in self._sides(group)))

    def _listed(self, groups: list[Group]) -> list[Group]:
        """The groups, with those of one sentence made one where only items of a list have changed places."""
        by_sentence: dict[int, list[Group]] = {}
        for group in groups:
            for number in {self.rest[0][n].sentence for n in group.first}:
                by_sentence.setdefault(number, []).append(group)
        for several in by_sentence.values():
            first, second = (sorted(n for group in several for n in side(group)) for side in SIDES)
            whole = Group(first, second)
            one_each = len({self.rest[1][n].sentence for n in whole.second}) == 1
            if len(several) > 1 and one_each and all(group in groups for group in several):
                starts = [
                    list(accumulate(len(clause.content) for clause in side)) for side in self._sides(whole)
                ]
                if is_list_moved(self._residue(whole), *starts):
                    groups = [group for group in groups if group not in several]
                    self.lists.append(whole)
        return [*groups, *self.lists]

    def _opening(self, side: int) -> set[tuple[str, ...]]:
        """What opens a list before an item that the other text has elsewhere: "Bring bread, cheese"."""
        openings: set[tuple[str, ...]] = set()
        if any(
            small.atom.key in ORDERING
            for _, remains in self.compared
            for part in remains.small
            for small in part
        ):
            return openings
        for group, remains in self.compared:
            clauses = self._sides(group)[side]
            left = remains.content[side]
            if not clauses or not left or remains.content[1 - side]:
                continue
            numbers = [clause.sentence for clause in self.rest[side]]
            starts = min((group.first, group.second)[side]) == numbers.index(clauses[0].sentence)
            if starts and clauses[0].content[: len(left)] == left:
                openings.add(tuple(atom.key for atom in left))
        return openings

    def _judged(self, group: Group, remains: Residue) -> Finding:
        """What one group of clauses means: the gravest of all that remains."""
        findings = list(self._structure(group, remains))
        if group.is_left_over and len(group.first) != len(group.second):
            # A clause more is something more to say, however alike the rest is.
            findings.append(unclear("more clauses on one side, like none on the other"))
        if group in self.lists:
            return next(iter(findings), Finding(Meaning.SAME, "only the order of a list"))
        remains = without_double_negation(remains)
        for side in (0, 1):
            if tuple(atom.key for atom in remains.content[side]) in self.heads:
                remains = remains.without(side, len(remains.content[side]))
        remains = replace(remains, content=(self._new(remains.content[0]), self._new(remains.content[1])))
        findings += chain.from_iterable(check(remains) for check in CHECKS.values())
        proven = next((finding for finding in findings if finding.meaning is Meaning.DIFFERENT), None)
        if proven is None and not self.kind.place and any(map(is_foreign, self._shown(group))):
            return _foreign_clause(remains)
        words = [[atom for atom in side if atom.fact is None] for side in remains.content]
        if proven is None and words[0] and words[1]:
            value = self.likeness(remains)
            self.least = min(self.least, value)
            reason = f"the wording is alike by {value:.2f}"
            if value < self.band.unclear:
                return different(reason)
            if value < self.band.same:
                findings.append(unclear(reason))
        harmless = Finding(Meaning.SAME, "nothing that matters remains")
        return proven or next(iter(findings), harmless)

    def _new(self, atoms: Sequence[Atom]) -> tuple[Atom, ...]:
        """Those that do not stand in the other arguments of the call."""
        return tuple(atom for atom in atoms if not self._stands(atom))

    def _stands(self, atom: Atom) -> bool:
        if atom.fact is None:
            return atom.sort is AtomKind.NAME and atom.key in self.elsewhere.stems
        others = self.elsewhere.facts
        told = atom.fact.sort in (Sort.RELATIVE, Sort.WHICH, Sort.PART)
        dated = any(other.sort in (Sort.DAY, Sort.CLOCK) for other in others)
        return (told and dated) or any(atom.fact.agrees(other) for other in others)

    def _structure(self, group: Group, found: Residue) -> Iterator[Finding]:
        """The kind of sentence, and what joins the clauses."""
        sides = self._sides(group)
        plain = found.only_small
        if len({any(clause.asks for clause in side) for side in sides}) > 1:
            yield unclear("only one asks")
        links = [{clause.link for clause in side} for side in sides]
        ones, others = links[0] - links[1] - {""}, links[1] - links[0] - {""}
        clash = next((f"{a} is not {b}" for a in ones for b in others if conflicting(a, b)), None)
        firm = (ones ^ others) - LOOSE_LINKS
        if firm == {"if", "whether"}:
            firm = set()
        if clash:
            yield different(clash) if plain else unclear(clash)
        elif firm:
            only = min(firm)
            sure = plain and not (ones and others) and only in ("if", "unless")
            yield different(f"only one says: {only}") if sure else unclear(f"only one says: {only}")

    def _lone(self, group: Group, found: Residue) -> Finding:
        """What a clause means that stands in one text alone."""
        side = 0 if group.first else 1
        clauses = self._sides(group)[side]
        content = self._new([atom for clause in clauses for atom in clause.content])
        reason = f"only one says: {' '.join(clause.shown for clause in clauses)}"
        other = self.texts[1 - side]
        if all(
            atom.sort is AtomKind.NAME and atom.key in (*other.greeted, *other.signed) for atom in content
        ):
            small = [atom for clause in clauses for atom in clause.atoms if not atom.is_content]
            silent = all(atom.family in ("article", "degree", "thing", "courtesy") for atom in small)
            return Finding(Meaning.SAME, "it says nothing") if silent else unclear(reason)
        others = [atom for clause in other.clauses for atom in clause.content]
        new = len(content) - len(matching(content, others))
        reworded = any(remains.content[1 - side] for _, remains in self.compared)
        sure = new > 2 or (new and not reworded)
        return different(reason) if sure and new * 2 >= len(content) else unclear(reason)


def _flat(text: ReadText) -> list[tuple[str, object]]:
    return [
        (atom.key, atom.fact.values) if atom.fact is not None else (atom.shown, None)
        for clause in text.clauses
        for atom in clause.joined
        if atom.key != "a"
    ]


def _unshared(first: Sequence[Clause], second: Sequence[Clause]) -> tuple[list[Clause], list[Clause]]:
    """The clauses of the sentences that the other text has not word for word."""
    texts = [_by_sentence(text) for text in (first, second)]
    keys = [[_key(sentence) for sentence in text] for text in texts]
    shared = Counter(keys[0]) & Counter(keys[1])
    rest: tuple[list[Clause], list[Clause]] = ([], [])
    for side, text in enumerate(texts):
        left = Counter(shared)
        for key, sentence in zip(keys[side], text, strict=True):
            if left[key] > 0:
                left[key] -= 1
            else:
                rest[side].extend(sentence)
    return rest


def _by_sentence(clauses: Sequence[Clause]) -> list[list[Clause]]:
    rows: dict[int, list[Clause]] = {}
    for clause in clauses:
        rows.setdefault(clause.sentence, []).append(clause)
    return list(rows.values())


def _key(sentence: Sequence[Clause]) -> tuple[object, ...]:
    return tuple((c.link, c.asks, tuple(atom.shown for atom in c.atoms)) for c in sentence)
