"""Judge two free texts: the same, different, or not clear.

Both texts are read clause by clause; aligned clauses are judged only by what remains of each. Likeness of
wording matters only if what remains of both is nothing but words that carry meaning.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain

from rig.calls import UNREAD
from rig.reading.characters import bare, readable
from rig.reading.clauses import Atom, AtomKind, Clause, ReadText, conflicting, read_parts
from rig.reading.facts import Sort
from rig.reading.times import is_in_part
from rig.reading.typos import corrected
from rig.reading.words import is_foreign, opened
from rig.scoring.texts import checks
from rig.scoring.texts.aligning import Group, align, matching
from rig.scoring.texts.around import NOWHERE, Elsewhere, around
from rig.scoring.texts.checks import Finding, Meaning, different, missing, unclear
from rig.scoring.texts.least import exchanged
from rig.scoring.texts.passages import Passage, Reader, joined, least_alike
from rig.scoring.texts.residue import Residue, residue
from rig.scoring.texts.ways import brought_together
from rig.toolbox.spec import Text

MAX_CLAUSES = 160
"""The most clauses that only one text has. With more, the texts are too different to be compared."""
MAX_TEXT = 1_000_000
LONG = 25
"""The most words of a text that is as alike as its least passage; longer ones count as much as a whole."""
LEAST = 1e-4
"""The least likelihood that tells anything."""
LONGEST_REASON = 100
ORDERING = frozenset(("then", "before", "after"))
"""With one of these, the order of a list counts."""
DAYS_TO_COME = frozenset((which, unit) for which in ("this", "next") for unit in ("weekday", "week", "day"))
"""What a date elsewhere tells, too: this Friday. It tells neither how often nor which quarter."""
LOOSE_LINKS = frozenset(("", "and", "so", "because", "though", "but", "plus"))
"""Clauses may be joined by these or by a full stop."""


@dataclass(frozen=True, slots=True)
class Band:
    """The likeness from which wording is the same, and the one from which that is unclear. From `doubtful`,
    not even a proven difference is clear. Long texts are the same from `long` on.
    """

    same: float
    unclear: float
    doubtful: float = math.inf
    long: float | None = None


@dataclass(frozen=True, slots=True)
class Aligned:
    """Clauses that belong together, as they were read, the words that remain of each, and the verdict."""

    first: str
    second: str
    left: tuple[tuple[str, ...], tuple[str, ...]]
    meaning: Meaning
    reason: str


@dataclass(frozen=True, slots=True)
class TextJudgement:
    """The verdict on two texts, and why. `likeness` is that of the remaining words, from 0 to 1."""

    meaning: Meaning
    likeness: float
    note: str | None = None
    clauses: tuple[Aligned, ...] = ()

    @property
    def reason(self) -> str:
        """The reason for the verdict, in one line."""
        return self.note or _alike(self.likeness)


Likeness = Callable[[Residue], float]
"""Returns how alike the remaining words of two clauses are, from 0 to 1."""
SAME = TextJudgement(Meaning.SAME, 1.0)
UNREAD_TEXT = TextJudgement(Meaning.UNCLEAR, 0.0, UNREAD)
UNREAD_CLAUSE = Finding(Meaning.UNCLEAR, "in a language that is not read")
TOO_LONG = TextJudgement(Meaning.UNCLEAR, 0.0, "not clear: too long to read")


def judge(
    kind: Text,
    first: str,
    second: str,
    likeness: Likeness | None,
    band: Band,
    elsewhere: Elsewhere = NOWHERE,
    reader: Reader | None = None,
) -> TextJudgement:
    """Judge whether two texts of a kind mean the same. The verdict is symmetric, and texts are read whole.

    A `likeness` decides about clauses of which only words that carry meaning remain, a `reader` about
    everything that is not proven.
    """
    if first == second:
        return SAME
    if max(len(first), len(second)) > MAX_TEXT:
        return TOO_LONG
    if first > second:
        judged = judge(kind, second, first, likeness, band, elsewhere, reader)
        turned = (
            replace(one, first=one.second, second=one.first, left=one.left[::-1]) for one in judged.clauses
        )
        return replace(judged, clauses=tuple(turned))
    parts = [opened(text) for text in (first, second)]
    # One character can become many, such as a ligature that stands for a whole phrase.
    if max(len(part.body) for part in parts) > MAX_TEXT:
        return TOO_LONG
    bodies = corrected(*brought_together(*(part.body for part in parts)))
    parts = [part._replace(body=body) for part, body in zip(parts, bodies, strict=True)]
    first_text, second_text = (read_parts(part) for part in parts)
    if any(is_foreign(body, is_name=kind.place) for body in bodies if body.strip()):
        return SAME if bare(first) == bare(second) else UNREAD_TEXT
    whole = corrected(*brought_together(*map(readable, (first, second))))
    pairs = exchanged(*whole, kind.like == "task")
    least = [Finding(Meaning.UNCLEAR, f"{one} is not {other}") for one, other in pairs]
    comparison = _Comparison(kind, (first_text, second_text), likeness, band, elsewhere)
    clauses = tuple(comparison.clauses())
    findings = [*around(first_text, second_text), *least, *comparison.findings]
    findings = [finding for finding in findings if finding.meaning is not Meaning.SAME]
    if comparison.is_unread and all(one.meaning is Meaning.UNCLEAR or one.is_open for one in findings):
        return replace(UNREAD_TEXT, clauses=clauses)
    if reader is not None:
        passages = comparison.passages()
        is_long = max(len(body.split()) for body in bodies) > LONG
        enough = 0.0 if is_long else band.unclear
        value = least_alike((texts for one, *texts in passages if not one.is_same), reader, enough)
        if is_long and value is not None and (whole_value := reader(*bodies)) is not None:
            value = _between(value, whole_value)
            band = replace(band, same=band.same if band.long is None else band.long)
        findings += [
            Finding(Meaning.UNCLEAR, one.findings[0].reason)
            for one, *_ in passages
            if not (one.is_same or one.is_related)
        ]
        is_open = not comparison.is_told_elsewhere and all(finding.is_open for finding in findings)
        if value is not None and value >= band.same and is_open:
            doubt = least_alike((texts for one, *texts in passages if one.is_same), reader, band.unclear)
            if doubt is not None and doubt < band.unclear:
                findings.append(Finding(Meaning.UNCLEAR, _alike(doubt)))
        if findings and value is not None:
            return _read(findings, value, band, clauses)
    for meaning in (Meaning.DIFFERENT, Meaning.UNCLEAR):
        reason = next((finding.reason for finding in findings if finding.meaning is meaning), None)
        if reason is not None:
            return _found(meaning, comparison.least, reason, clauses)
    return TextJudgement(Meaning.SAME, comparison.least, None, clauses)


def _between(first: float, second: float) -> float:
    """Return the likelihood whose log odds lie in the middle between those of two."""
    odds = [max(one, LEAST) / max(1 - one, LEAST) for one in (first, second)]
    middle = math.sqrt(odds[0] * odds[1])
    return middle / (1 + middle)


def _read(
    findings: Sequence[Finding], value: float, band: Band, clauses: tuple[Aligned, ...]
) -> TextJudgement:
    """Return the verdict on texts whose passages say the same with a likelihood of `value`."""
    firm = next((finding for finding in findings if not finding.is_open), None)
    proven = next((one for one in findings if one.meaning is Meaning.DIFFERENT and not one.is_open), None)
    if proven is not None and value < band.doubtful:
        return _found(Meaning.DIFFERENT, value, proven.reason, clauses)
    if value < band.unclear:
        return TextJudgement(Meaning.DIFFERENT, value, None, clauses)
    if firm is None and value >= band.same:
        return TextJudgement(Meaning.SAME, value, None, clauses)
    return _found(Meaning.UNCLEAR, value, (firm or findings[0]).reason, clauses)


def _found(
    meaning: Meaning, likeness: float, reason: str, clauses: tuple[Aligned, ...] = ()
) -> TextJudgement:
    note = reason if meaning is Meaning.DIFFERENT else f"not clear: {reason}"
    return TextJudgement(meaning, likeness, note[:LONGEST_REASON], clauses)


@dataclass
class _Comparison:
    """A comparison of two texts clause by clause. `least` is the least likeness of wording among them."""

    kind: Text
    texts: tuple[ReadText, ReadText]
    likeness: Likeness | None
    band: Band
    elsewhere: Elsewhere
    least: float = 1.0
    rest: tuple[list[Clause], list[Clause]] = ([], [])
    compared: list[tuple[Group, Residue]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    """What each group that was compared means."""
    lists: list[Group] = field(default_factory=list)
    """Groups in which only the items of a list have changed places."""
    heads: set[tuple[str, ...]] = field(default_factory=set)
    is_unread: bool = False
    """Whether a clause in a language that nobody reads has other words."""
    is_told_elsewhere: bool = False
    """Whether other arguments, which no reader sees, say something that only one text says."""

    def clauses(self) -> Iterator[Aligned]:
        """Yield the clauses that only one text has word for word, aligned and judged."""
        first, second = self.texts
        asks = [{clause.asks for clause in text.clauses} for text in self.texts]
        if asks[0] == asks[1] and _flat(first) == _flat(second):
            return
        self.rest = _unshared(first.clauses, second.clauses)
        if max(map(len, self.rest)) > MAX_CLAUSES:
            self.findings.append(different("most of it differs"))
            yield Aligned("", "", ((), ()), Meaning.DIFFERENT, self.findings[0].reason)
            return
        groups = self._listed(align(*self.rest))
        self.compared = [(group, self._residue(group)) for group in groups]
        self.heads = self._opening(0) & self._opening(1)
        for group, remains in self.compared:
            finding = (
                self._judged(group, remains) if group.first and group.second else self._lone(group, remains)
            )
            self.findings.append(finding)
            texts = self._shown(group)
            yield Aligned(texts[0], texts[1], remains.left, finding.meaning, finding.reason)

    def passages(self) -> list[tuple[Passage, str, str]]:
        """Return the passages, with the sentences of both texts that belong to each."""
        groups: list[Passage] = []
        left_over: Passage | None = None
        for (group, remains), finding in zip(self.compared, self.findings, strict=False):
            first, second = (frozenset(clause.sentence for clause in side) for side in self._sides(group))
            passage = Passage(first, second, (finding,), bool(remains.pairs))
            if group.is_left_over:
                left_over = passage
            else:
                groups.append(passage)
        return [
            (passage, self._sentences(0, passage), self._sentences(1, passage))
            for passage in joined(groups, left_over)
        ]

    def _sentences(self, side: int, passage: Passage) -> str:
        """Return a side's sentences in a passage, or all of them if only one side has any, since what has no
        partner may be said anywhere.
        """
        sentences = self.texts[side].sentences
        if not (passage.first and passage.second):
            return " ".join(sentences)
        return " ".join(sentences[number] for number in sorted((passage.first, passage.second)[side]))

    def _sides(self, group: Group) -> tuple[list[Clause], list[Clause]]:
        first, second = self.rest
        return [first[n] for n in sorted(group.first)], [second[n] for n in sorted(group.second)]

    def _shown(self, group: Group) -> list[str]:
        return [" ".join(clause.shown for clause in side) for side in self._sides(group)]

    def _residue(self, group: Group) -> Residue:
        sides = ([atom for clause in side for atom in clause.atoms] for side in self._sides(group))
        return residue(self.kind, *sides)

    def _listed(self, groups: list[Group]) -> list[Group]:
        """Return the groups, joining those of one sentence if only items of a list have changed places."""
        by_sentence: dict[int, list[Group]] = {}
        for group in groups:
            for number in {self.rest[0][n].sentence for n in group.first}:
                by_sentence.setdefault(number, []).append(group)
        for several in by_sentence.values():
            whole = Group(
                sorted(n for group in several for n in group.first),
                sorted(n for group in several for n in group.second),
            )
            one_each = len({self.rest[1][n].sentence for n in whole.second}) == 1
            if len(several) > 1 and one_each and all(group in groups for group in several):
                starts = [
                    list(accumulate(len(clause.content) for clause in side)) for side in self._sides(whole)
                ]
                if checks.is_list_moved(self._residue(whole), *starts):
                    groups = [group for group in groups if group not in several]
                    self.lists.append(whole)
        return [*groups, *self.lists]

    def _opening(self, side: int) -> set[tuple[str, ...]]:
        """Return what introduces lists before items that the other text has elsewhere: "Bring bread, tea"."""
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
        """Return what a group of clauses means: the gravest finding about what remains."""
        if any(is_foreign(text, is_name=self.kind.place) for text in self._shown(group)):
            self.is_unread = self.is_unread or any(remains.left)
            return UNREAD_CLAUSE if any(remains.left) else Finding(Meaning.SAME, "the same words")
        findings = list(self._structure(group, remains))
        if group.is_left_over and len(group.first) != len(group.second):
            # An extra clause says something more, however alike the rest is.
            findings.append(unclear("more clauses on one side, like none on the other"))
        if group in self.lists:
            return next(iter(findings), Finding(Meaning.SAME, "only the order of a list"))
        remains = checks.without_double_negation(remains)
        for side in (0, 1):
            if tuple(atom.key for atom in remains.content[side]) in self.heads:
                remains = remains.without(side, len(remains.content[side]))
        ones, others = remains.content
        remains = replace(remains, content=(self._new(ones, others), self._new(others, ones)))
        findings += chain.from_iterable(check(remains) for check in checks.CHECKS.values())
        is_proven = any(finding.meaning is Meaning.DIFFERENT for finding in findings)
        words = [[atom for atom in side if atom.fact is None] for side in remains.content]
        is_worded_otherwise = not is_proven and words[0] and words[1]
        if is_worded_otherwise and self.likeness is None:
            findings.append(unclear("worded otherwise"))
        elif is_worded_otherwise and self.likeness is not None:
            value = self.likeness(remains)
            self.least = min(self.least, value)
            reason = _alike(value)
            if value < self.band.unclear:
                return different(reason)
            if value < self.band.same:
                findings.append(unclear(reason))
        if remains.is_least:
            findings = [finding._replace(is_open=False) for finding in findings]
        return min(findings, key=_weight, default=Finding(Meaning.SAME, "nothing that matters remains"))

    def _new(self, atoms: Sequence[Atom], others: Sequence[Atom] = ()) -> tuple[Atom, ...]:
        """Return the atoms that the other arguments of the call do not have. What `others`, the other text's
        atoms, say otherwise stays: of "daily" and "weekly" neither is told by a date.
        """
        sorts = {atom.fact.sort for atom in others if atom.fact is not None}
        new = tuple(
            atom
            for atom in atoms
            if (atom.fact is not None and atom.fact.sort in sorts) or not self._stands(atom)
        )
        self.is_told_elsewhere |= len(new) < len(atoms)
        return new

    def _stands(self, atom: Atom) -> bool:
        if atom.fact is None:
            return atom.sort is AtomKind.NAME and atom.key in self.elsewhere.stems
        fact, others = atom.fact, self.elsewhere.facts
        if fact.sort is Sort.PART:
            return any(is_in_part(other, fact) for other in others)
        dated = any(other.sort is Sort.DAY for other in others)
        is_day = fact.sort is Sort.RELATIVE or (fact.sort is Sort.WHICH and fact.values <= DAYS_TO_COME)
        return (is_day and dated) or any(fact.agrees(other) for other in others)

    def _structure(self, group: Group, found: Residue) -> Iterator[Finding]:
        """Compare the kind of sentence, and what joins the clauses."""
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
            yield missing(only) if sure else unclear(f"only one says: {only}")

    def _lone(self, group: Group, found: Residue) -> Finding:
        """Return what it means that only one text has a clause."""
        side = 0 if group.first else 1
        clauses = self._sides(group)[side]
        content = self._new([atom for clause in clauses for atom in clause.content])
        words = " ".join(clause.shown for clause in clauses)
        reason = f"only one says: {words}"
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
        return missing(words) if sure and new * 2 >= len(content) else unclear(reason)


def _alike(value: float) -> str:
    return f"the wording is alike by {value:.2f}"


def _weight(finding: Finding) -> tuple[bool, bool]:
    """Return a sort key: first what no reader can decide, and differences before what is unclear."""
    return finding.is_open, finding.meaning is not Meaning.DIFFERENT


def _flat(text: ReadText) -> list[tuple[str, object]]:
    return [
        (atom.key, (atom.fact.values, atom.fact.dates)) if atom.fact is not None else (atom.shown, None)
        for clause in text.clauses
        for atom in clause.joined
        if atom.key != "a"
    ]


def _unshared(first: Sequence[Clause], second: Sequence[Clause]) -> tuple[list[Clause], list[Clause]]:
    """Return each text's clauses whose sentences the other text does not have word for word."""
    texts: list[dict[int, list[Clause]]] = [defaultdict(list), defaultdict(list)]
    for by_number, clauses in zip(texts, (first, second), strict=True):
        for clause in clauses:
            by_number[clause.sentence].append(clause)
    keys = [[_key(sentence) for sentence in text.values()] for text in texts]
    shared = Counter(keys[0]) & Counter(keys[1])
    rest: tuple[list[Clause], list[Clause]] = ([], [])
    for side, text in enumerate(texts):
        left = Counter(shared)
        for key, sentence in zip(keys[side], text.values(), strict=True):
            if left[key] > 0:
                left[key] -= 1
            else:
                rest[side].extend(sentence)
    return rest


def _key(sentence: Sequence[Clause]) -> tuple[object, ...]:
    return tuple((c.link, c.asks, tuple(atom.shown for atom in c.atoms)) for c in sentence)
