"""What no model may overlook: facts and names that only one of two passages has, words that belong to
others, and words that have changed places. All of it speaks against their being the same.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import chain, pairwise

from rig.plugins.text.judge.around import Elsewhere
from rig.plugins.text.judge.findings import Finding, different, unclear
from rig.plugins.text.judge.passages import BORDER, Sentence, matching, token
from rig.plugins.text.reading.clauses import Atom, AtomKind
from rig.plugins.text.reading.facts import IMPLIED, TIMES, Fact, Sort
from rig.plugins.text.reading.lexicon import stem, vocabulary
from rig.plugins.text.reading.times import is_in_part
from rig.world.spec import Text

FREE = vocabulary(
    "a the one also it that this there let do then too very really just even quite simply own now is be have"
)
"""Small words that may be left out. One of them in place of another is unclear."""
ARTICLES = vocabulary("a the")
LIGHT = vocabulary("of for with on at in about from by to")
"""Prepositions that may be left out in a title, or before a time."""
OWN = vocabulary("my our your we i")
DUTIES = vocabulary("i must should to try want let")
"""In a task these say nothing, since a task is what one has to do."""
_TITLES = vocabulary(
    "quick quickly good great nice brief short little bit bite friendly kind kindly please dear class meet "
    "session appointment call visit place event reminder lesson time company request note trip"
)
GENERIC = frozenset(map(stem, _TITLES))
"""Words that a title may leave out: the dentist appointment, the dentist."""
OWNERS = vocabulary("my your his her our their")
REACHING = OWNERS | vocabulary("before after if unless when because except without only until")
"""Words that say something else if they stand before another word."""
BEING = vocabulary("is was been be get got")
_DIGITS = re.compile(r"\d+")
LONGEST = 200
"""The most atoms of a passage whose words are compared one by one."""
DAYS_TO_COME = frozenset((which, unit) for which in ("this", "next") for unit in ("weekday", "week", "day"))
"""What a date elsewhere tells, too: this Friday. It tells neither how often nor which quarter."""


class Passages:
    """Two passages, which of their words belong together, and what only one of them has.

    What other arguments of the call say is not missing, so it counts for neither.
    """

    def __init__(self, kind: Text, first: Sentence, second: Sentence, elsewhere: Elsewhere) -> None:
        self.kind = kind
        self.sentences = first, second
        pairs = matching(first.content, second.content)
        self.pairs: Mapping[int, int] = pairs
        matched = pairs.keys(), set(pairs.values())
        alone = [
            [atom for n, atom in enumerate(side.content) if n not in numbers]
            for side, numbers in zip(self.sentences, matched, strict=True)
        ]
        self.left = [
            [atom for atom in side if not _stands(atom, other, elsewhere)]
            for side, other in zip(alone, alone[::-1], strict=True)
        ]
        self.is_told_elsewhere = sum(map(len, self.left)) < sum(map(len, alone))

    @property
    def is_same_but_for_what_is_told_elsewhere(self) -> bool:
        return self.is_told_elsewhere and not any(self.left)

    def findings(self) -> Iterator[Finding]:
        """Yield what keeps the passages from being the same."""
        yield from self._facts()
        yield from self._names()
        first, second = self.sentences
        sorts = [{atom.sort for atom in side.content} for side in self.sentences]
        if not self.pairs and {AtomKind.NAME} in sorts:
            yield unclear(f"only one says: {max(first.text, second.text, key=len)}")
        if self.is_told_elsewhere:
            return
        yield from self._more()
        yield from self._reach()
        if not any(self.left):
            words = [
                Counter(atom.key for atom in side.atoms if atom is not BORDER) for side in self.sentences
            ]
            if first.asks != second.asks and words[0] == words[1]:
                yield unclear("only one asks")
            denials = [sum(atom.family == "negation" for atom in side.atoms) for side in self.sentences]
            if denials[0] != denials[1]:
                yield unclear("only one says: not")
            yield from self._order()

    def _facts(self) -> Iterator[Finding]:
        ones, others = ([atom for atom in side if atom.fact is not None] for side in self.left)
        for one in ones:
            other = next((other for other in others if _sort(one) is _sort(other)), None)
            if other is not None:
                yield different(f"{_sort(one)}: {one.shown} is not {other.shown}")
                return
        for own, against in ((ones, others), (others, ones)):
            for atom in own:
                fact = atom.fact
                assert fact is not None
                is_told = any(_is_one_number(atom, other) for other in against)
                if fact.sort not in IMPLIED and not (is_told or self._is_silent(fact)):
                    yield unclear(f"only one says: {atom.shown}")

    def _is_silent(self, fact: Fact) -> bool:
        """Return whether a fact says nothing new: the evening beside 19:00, the month of a shared day."""
        first, second = self.sentences
        both = [first.content[m].fact for m in self.pairs]
        both += [second.content[n].fact for n in self.pairs.values()]
        if fact.sort is Sort.PART:
            return any(other is not None and other.sort is Sort.CLOCK for other in both)
        if fact.sort is Sort.MONTH:
            return any(
                other is not None and other.sort is Sort.DAY and other.said == fact.said for other in both
            )
        return fact.values == {1.0}

    def _names(self) -> Iterator[Finding]:
        names = [[atom for atom in side if atom.sort is AtomKind.NAME] for side in self.left]
        if all(names):
            yield different(f"name: {names[0][0].shown.capitalize()} is not {names[1][0].shown.capitalize()}")

    def _more(self) -> Iterator[Finding]:
        """Yield what only one side says if all else is the same."""
        sides = [[atom for atom in side.atoms if atom is not BORDER] for side in self.sentences]
        if max(map(len, sides)) > LONGEST:
            return
        tokens = [[token(atom) for atom in side] for side in sides]
        matcher = SequenceMatcher(None, tokens[0], tokens[1], autojunk=False)
        changes = [change for change in matcher.get_opcodes() if change[0] != "equal"]
        gone = [atom for _, start, end, _, _ in changes for atom in sides[0][start:end]]
        new = [atom for _, _, _, start, end in changes for atom in sides[1][start:end]]
        if not any(ARTICLES.issuperset(atom.key for atom in side) for side in (gone, new)):
            return
        more = [
            atom
            for atoms, side in zip((gone, new), sides, strict=True)
            for atom in atoms
            if not self._is_idle(atom, side)
        ]
        # Delivered is not to be delivered.
        if not (gone and new) and {"to", "be"} <= {atom.key for atom in gone + new}:
            more = gone + new
        if more:
            yield unclear(f"only one says: {' '.join(atom.shown for atom in more)}")

    def _is_idle(self, atom: Atom, atoms: Sequence[Atom]) -> bool:
        """Return whether a word says nothing of its own: most facts are compared on their own."""
        if atom.fact is not None:
            return atom.fact.sort not in IMPLIED or self._is_silent(atom.fact)
        if atom.key in FREE or atom.family == "courtesy":
            return True
        at = next(n for n, other in enumerate(atoms) if other is atom)
        if atom.sort is AtomKind.NAME:  # Maria, Maria Lopez
            near = atoms[max(at - 1, 0) : at + 2]
            return any(other.sort is AtomKind.NAME and other is not atom for other in near)
        following = next((other.fact for other in atoms[at + 1 :] if other.key not in FREE), None)
        if atom.key in LIGHT and following is not None and following.sort in TIMES:
            return True
        is_title = self.kind.like != "body" and atom.key in LIGHT | GENERIC
        is_owner = not self.kind.personal and atom.key in OWN
        return is_title or is_owner or (self.kind.like == "task" and atom.key in DUTIES)

    def _reach(self) -> Iterator[Finding]:
        """Yield a negation, condition, time or owner that belongs to another word."""
        first, second = self.sentences
        ones = _reached(first, {m: m for m in self.pairs})
        others = _reached(second, {n: m for m, n in self.pairs.items()})
        for word in sorted(ones.keys() & others.keys()):
            one, other = ones[word], others[word]
            if (
                len(one) == len(other)
                and None not in one + other
                and sorted(map(str, one)) != sorted(map(str, other))
            ):
                yield unclear(f"{word}: it belongs to other words")

    def _order(self) -> Iterator[Finding]:
        """Yield two words that have changed places, unless they are items of a list, the deed is told in the
        passive, or a noun and its attribute are exchanged: the key to the shed, the shed key.
        """
        first, second = self.sentences
        rows, firsts = list(self.pairs.values()), list(self.pairs)
        wrong = [at for at, row in enumerate(sorted(rows)) if rows[at] != row]
        turned = _is_passive(first) != _is_passive(second)
        if turned and not wrong and len(rows) > 1:
            yield unclear("only one is in the passive")
        if turned or len(wrong) != 2:
            return
        start, end = wrong
        one, other = first.content[firsts[start]], first.content[firsts[end]]
        turned_one, turned_other = second.content[rows[start]], second.content[rows[end]]
        items = first.content[firsts[start] : firsts[end] + 1]
        listed = all(any(_is_border(atom) for atom in _between(first, a, b)) for a, b in pairwise(items))
        if one.fact is None and other.fact is None:
            alike = (one.shown, other.shown) == (turned_one.shown, turned_other.shown)
        else:
            alike = _sort(one) is _sort(other) or _sort(one) is not _sort(turned_one)
            if one.fact is not None and other.fact is not None and one.fact.said == other.fact.said:
                return  # 3 to 7 August
            if alike and one.fact is not None and other.fact is not None and not listed:
                yield different(f"{_sort(one)}: {one.shown} and {other.shown} have changed places")
                return
        light = [
            not LIGHT.isdisjoint(atom.key for atom in _between(side, a, b))
            for side, a, b in ((first, one, other), (second, turned_other, turned_one))
        ]
        is_compound = end == start + 1 and light[0] != light[1]
        if alike and not (listed or is_compound):
            yield unclear(f"{one.shown} and {other.shown} have changed places")


def _stands(atom: Atom, others: Sequence[Atom], elsewhere: Elsewhere) -> bool:
    """Return whether other arguments say what only one text says. What the other text says otherwise stays:
    of "daily" and "weekly" neither is told by a date.
    """
    fact = atom.fact
    if fact is None:
        return atom.sort is AtomKind.NAME and atom.key in elsewhere.stems
    if any(_sort(other) is fact.sort for other in others):
        return False
    if fact.sort is Sort.PART:
        return any(is_in_part(other, fact) for other in elsewhere.facts)
    is_day = fact.sort is Sort.RELATIVE or (fact.sort is Sort.WHICH and fact.values <= DAYS_TO_COME)
    dated = is_day and any(other.sort is Sort.DAY for other in elsewhere.facts)
    return dated or any(fact.agrees(other) for other in elsewhere.facts)


def _is_one_number(one: Atom, other: Atom) -> bool:
    """Return whether a fact is the bare number of another: he is 84, he is 84 years old."""
    numbers = _DIGITS.findall(one.shown)
    return (
        Sort.NUMBER in (_sort(one), _sort(other))
        and numbers != []
        and numbers == _DIGITS.findall(other.shown)
    )


def _sort(atom: Atom) -> Sort | None:
    return None if atom.fact is None else atom.fact.sort


def _is_border(atom: Atom) -> bool:
    return atom is BORDER or atom.key in ("and", "or")


def _between(sentence: Sentence, one: Atom, other: Atom) -> Sequence[Atom]:
    places = [n for n, atom in enumerate(sentence.atoms) if atom is one or atom is other]
    return sentence.atoms[places[0] + 1 : places[-1]]


def _is_passive(sentence: Sentence) -> bool:
    """Return whether somebody's deed is told from the other side: was paid by Nora."""
    keys = {atom.key for atom in sentence.atoms}
    after = chain.from_iterable(
        [atom for atom in sentence.atoms[n + 1 :] if atom.is_content][:1]
        for n, atom in enumerate(sentence.atoms)
        if atom.key == "by"
    )
    return any(atom.fact is None for atom in after) and not BEING.isdisjoint(keys)


def _reached(sentence: Sentence, numbers: Mapping[int, int]) -> dict[str, list[int | None]]:
    """Return for each word that reaches others the numbers of the content words that it stands before."""
    reached: dict[str, list[int | None]] = {}
    waiting: list[str] = []
    number = 0
    for atom in sentence.atoms:
        if atom.is_content:
            # Whose it is, is said of a thing: your 14 August booking.
            kept = OWNERS.intersection(waiting) if atom.fact is not None else frozenset()
            for word in waiting:
                if word not in kept:
                    reached.setdefault(word, []).append(numbers.get(number))
            waiting, number = [word for word in waiting if word in kept], number + 1
        elif atom.key in REACHING:
            waiting.append(atom.key)
        elif atom.family == "negation":
            waiting.append("not")
    return reached
