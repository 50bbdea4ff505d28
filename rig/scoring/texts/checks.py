"""Judge what remains of two clauses: proven different, or unclear."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from rig.reading.clauses import Atom, AtomKind, conflicting, is_past
from rig.reading.facts import IMPLIED, TIMES
from rig.reading.lexicon import contrasting, in_order, opposites, stem, vocabulary
from rig.scoring.texts.residue import PASSIVE, Residue


class Meaning(StrEnum):
    """The verdict on two texts."""

    SAME = "same"
    DIFFERENT = "different"
    UNCLEAR = "unclear"


class Finding(NamedTuple):
    """What a difference between two clauses means, and why. If it is open, a reader may overrule it."""

    meaning: Meaning
    reason: str
    is_open: bool = False


FREE = vocabulary(
    "a the one also it that this there let do then too very really just even quite simply own now"
)
"""Closed-class words that may be left out. One of them in place of another is unclear."""
COPULAS = vocabulary("is be")
LIGHT = vocabulary("of for with on at in about from by to")
"""Prepositions that a title can omit by changing the order: "board minutes", "minutes of the board"."""
DETERMINERS = vocabulary("a the one my our your his her their its")
"""Any of these may stand for "the" if the clauses differ in more words."""
_EXCHANGED = """
a one; in at; on at; of for; of from; of in; of with; of about; on about; for to; by via through; any some
not never; until to; can could; will would; if whether
"""
EXCHANGEABLE = tuple(map(vocabulary, re.split(r"[;\n]", _EXCHANGED.strip())))
"""Sets of closed-class words that can stand for one another if the clauses differ in more words."""
LOOSE = LIGHT | vocabulary("i we you my our your have had get")
"""If the clauses differ in more words, only one text need have these."""
MUTUAL = frozenset(map(stem, ("meet", "marry", "kiss", "hug", "match")))
"""Verbs for which it makes no difference who does it to whom."""
OWN = vocabulary("my our your we i")
DUTIES = vocabulary("i must should to try want let")
"""In a task these say nothing, since a task is what one has to do."""
INTENSIFIERS = vocabulary(
    "quick quickly good great nice brief short little bit bite friendly kind kindly please dear"
)
_EMPTY_NOUNS = in_order(
    "class meet session appointment call visit place event reminder lesson time company request note trip"
)
GENERIC = INTENSIFIERS.union(map(stem, _EMPTY_NOUNS))
"""Words that a title may leave out: the dentist appointment, the dentist."""
DENYING = vocabulary("not never nobody nothing none nowhere neither hardly without except unless if only")
"""In a clause that is otherwise the same, one of these reverses or limits what it says."""
CARRYING = frozenset(("negation", "modal"))
_DIGITS = re.compile(r"\d+")
HELPERS = frozenset(("helper", "copula"))


Check = Callable[[Residue], Iterator[Finding]]


different = partial(Finding, Meaning.DIFFERENT)
"""A finding that proves a difference, with the reason."""
unclear = partial(Finding, Meaning.UNCLEAR, is_open=True)
"""A finding that there may be a difference, with the reason."""


def missing(shown: str) -> Finding:
    """Return the finding for what only one clause says: a difference unless the rest says it, too."""
    return different(f"only one says: {shown}", is_open=True)


def facts(found: Residue) -> Iterator[Finding]:
    """Compare days, times and amounts: another one of the same sort proves a difference."""
    ones, others = ([atom.fact for atom in side if atom.fact is not None] for side in found.content)
    words = [[atom for atom in side if atom.fact is None] for side in found.content]
    for one in ones:
        other = next((fact for fact in others if fact.sort is one.sort), None)
        if other is not None:
            yield different(f"{one.sort}: {one.shown} is not {other.shown}")
            return
    if ones and others:
        texts = [ones[0].shown, others[0].shown]
        numbers = [_DIGITS.findall(text) for text in texts]
        are_others = all(numbers) and numbers[0] != numbers[1]
        yield Finding(Meaning.UNCLEAR, " is not ".join(texts)) if are_others else missing(texts[0])
        return
    for fact, own in ((ones, words[1]), (others, words[0])):
        for one in fact:
            if one.values == {1.0} and any(s.atom.key in ("one", "a") for side in found.small for s in side):
                continue
            if one.sort in IMPLIED or own:
                yield unclear(f"only one says: {one.shown}")
            else:
                yield missing(one.shown)


def names(found: Residue) -> Iterator[Finding]:
    """Compare the names of people and places."""
    ones, others = ([atom for atom in side if atom.sort is AtomKind.NAME] for side in found.content)
    words = [[atom for atom in side if atom.sort is AtomKind.WORD] for side in found.content]
    if ones and others:
        yield different(f"name: {ones[0].shown.capitalize()} is not {others[0].shown.capitalize()}")
    for name, own in ((ones, words[1]), (others, words[0])):
        if name and not (ones and others):
            text = name[0].shown.capitalize()
            vague = own or _has_surname(found, name[0])
            yield unclear(f"name: {text}") if vague else missing(text)


def _has_surname(found: Residue, name: Atom) -> bool:
    """Return whether a name stands next to one that both clauses have: Maria, Maria Lopez."""
    for side, matched in ((found.first, found.pairs.keys()), (found.second, found.pairs.values())):
        near = [n + step for n, atom in enumerate(side) if atom is name for step in (-1, 1)]
        if any(n in matched and side[n].sort is AtomKind.NAME for n in near):
            return True
    return False


def things(found: Residue) -> Iterator[Finding]:
    """Compare opposites and things of one sort. A denied opposite may say the same, and so may an opposite if
    a deed is told from the other side.
    """
    denied = any(small.atom.family in CARRYING for side in found.small for small in side)
    people = all(any(small.atom.family == "person" for small in side) for side in found.small)
    turned = denied or people or found.rows != sorted(found.rows)
    for one in found.content[0]:
        for other in found.content[1]:
            if one.fact is None and other.fact is None and (reason := _apart(one, other)):
                yield unclear(f"said otherwise: {one.shown}, {other.shown}") if turned else different(reason)


def _apart(one: Atom, other: Atom) -> str | None:
    if _are_opposites(one.key, other.key):
        return f"opposites: {one.shown} against {other.shown}"
    if contrasting(one.key, other.key) and not (set(one.key.split()) & set(other.key.split())):
        return f"other thing: {one.shown} is not {other.shown}"
    return None


def _are_opposites(one: str, other: str) -> bool:
    pairs = [(a, b) for a in _bases(one) for b in _bases(other)]
    return any(opposites(a, (b,)) or opposites(b, (a,)) for a, b in pairs)


def _bases(key: str) -> set[str]:
    """Return a word and, for a comparative, what it may be formed from: shorter, short."""
    ends = {
        key[: -len(end)] for end in ("er", "est", "r", "st") if key.endswith(end) and len(key) > len(end) + 2
    }
    return (
        {key}
        | ends
        | {stem(end) for end in ends}
        | {stem(end[:-1]) for end in ends if end[-2:-1] == end[-1:]}
    )


def small_words(found: Residue) -> Iterator[Finding]:
    """Compare closed-class words: what is not proven harmless is at least unclear."""
    in_order = found.rows == sorted(found.rows)
    plain = in_order and found.only_small
    for anchor in dict.fromkeys(small.anchor for side in found.small for small in side):
        ones, others = ([s.atom for s in side if s.anchor == anchor] for side in found.small)
        clash = next(((a, b) for a in ones for b in others if conflicting(a.key, b.key)), None)
        if clash and {atom.key for atom in clash} == {"my", "your"} and not found.kind.personal:
            clash = None
        if clash:
            reason = f"{clash[0].shown} is not {clash[1].shown}"
            yield different(reason) if plain else unclear(reason)
            continue
        firm = [[atom for atom in side if not _is_harmless(atom, found)] for side in (ones, others)]
        if all(firm):
            ones, others = _unexchanged(firm[0], firm[1], found.kind.personal)
            if ones and others:
                yield unclear(f"{ones[0].shown} is not {others[0].shown}")
                continue
            firm = [ones, others]
        yield from _one_sided([*firm[0], *firm[1]], found, bool(firm[0]))


def _unexchanged(
    ones: Sequence[Atom], others: Sequence[Atom], personal: bool
) -> tuple[list[Atom], list[Atom]]:
    """Return both lists without the words that stand in place of one another."""
    rest = list(others)
    left = []
    for one in ones:
        other = next((other for other in rest if _exchangeable(one.key, other.key, personal)), None)
        if other is None:
            left.append(one)
        else:
            rest.remove(other)
    return left, rest


def _exchangeable(one: str, other: str, personal: bool) -> bool:
    if {one, other} == {"my", "your"}:
        return not personal
    if "the" in (one, other):
        return bool({one, other} <= DETERMINERS)
    return any(one in group and other in group for group in EXCHANGEABLE)


def _one_sided(atoms: Sequence[Atom], found: Residue, first: bool) -> Iterator[Finding]:
    elsewhere = [small.atom.key for small in found.small[first]]
    if found.only_small and {"to", "be"} <= {atom.key for atom in atoms}:
        yield missing("to be")
    for atom in atoms:
        sure = found.only_small and atom.key in DENYING and not elsewhere
        yield missing(atom.shown) if sure else unclear(f"only one says: {atom.shown}")


def _is_harmless(atom: Atom, found: Residue) -> bool:
    """Return whether a closed-class word may be left out of such a clause."""
    if atom.key in FREE or atom.family == "courtesy":
        return True
    if found.passive is not None and (atom.key in PASSIVE or atom.key == "by"):
        return True
    if atom.key in LOOSE - {"from", "to", "by"} and not found.only_small:
        return True
    if atom.key in LIGHT and found.rows != sorted(found.rows):
        return True
    if found.kind.like == "task" and atom.key in DUTIES:
        return True
    persons = [{s.atom.key for s in side if s.atom.family == "person"} for side in found.small]
    if atom.key in OWN | PASSIVE and not all(persons) and (found.is_impersonal or atom.key in OWN):
        return True
    helped = any(s.atom.family in CARRYING for side in found.small for s in side)
    if atom.key in COPULAS and not helped:
        return not any(s.atom.key == "to" for side in found.small for s in side)
    title = found.kind.like != "body" and not helped
    if title and atom.key in LIGHT and found.only_small:
        return not any(found.small[0]) or not any(found.small[1])
    if atom.key in ("on", "at", "in", "from", "to") and _before_time(atom, found):
        return True
    return not found.kind.personal and atom.key in OWN and found.only_small


def _before_time(atom: Atom, found: Residue) -> bool:
    for side, content in ((0, found.first), (1, found.second)):
        for small in found.small[side]:
            if small.atom is atom and small.anchor >= 0:
                at = list(found.pairs if side == 0 else found.pairs.values())[small.anchor]
                fact = content[at].fact
                return fact is not None and fact.sort in TIMES
    return False


def tense(found: Residue) -> Iterator[Finding]:
    """Yield verbs for what is done in one clause, but only to come or wanted in the other."""
    if not found.only_small or found.passive is not None or found.is_impersonal:
        return
    for m, n in found.pairs.items():
        one, other = found.first[m], found.second[n]
        named = one.fact is not None or AtomKind.NAME in (one.sort, other.sort)
        if m not in found.timed and not named and is_past(one.word) is not is_past(other.word):
            yield unclear(f"tense: {one.shown} is not {other.shown}")


def is_list_moved(found: Residue, first: Sequence[int], second: Sequence[int]) -> bool:
    """Return whether only the order of the items of one list differs. `first` and `second` are the numbers of
    content words up to the end of each clause.
    """
    rows, ones = found.rows, list(found.pairs)
    small = [Counter(word.atom.key for word in side if word.atom.key not in FREE) for side in found.small]
    if ones != list(range(len(found.first))) or len(rows) != len(found.second) or small[0] != small[1]:
        return False
    start, end = 0, len(rows)
    while start < end and rows[start] == start:
        start += 1
    while end > start and rows[end - 1] == end - 1:
        end -= 1
    around = [
        any(found.first[m].fact is None for m in part) for part in (range(start), range(end, len(rows)))
    ]
    if any(_binding(found.contexts[0][m]) != _binding(found.contexts[1][rows[m]]) for m in range(start, end)):
        return False
    items = [_items(cuts, start, end) for cuts in (first, second)]
    moved = [[rows[m] for m in item] for item in items[0]]
    return not all(around) and len(moved) > 1 and sorted(moved) == [list(item) for item in items[1]]


def _binding(context: Sequence[Atom]) -> set[str]:
    """Return the closed-class words before a word that move with it."""
    return {atom.key for atom in context if atom.family in ("negation", "modal", "place", "time", "quantity")}


def _items(cuts: Sequence[int], start: int, end: int) -> list[range]:
    inner = [start, *(cut for cut in cuts if start < cut < end), end]
    return [range(a, b) for a, b in pairwise(inner)]


def without_double_negation(found: Residue) -> Residue:
    """Return what remains without a pair of opposites of which one is denied: not open, closed."""
    denials = [[word for word in side if word.atom.key in ("not", "never")] for side in found.small]
    if sum(map(len, denials)) != 1 or [len(side) for side in found.content] != [1, 1]:
        return found
    one, other = (side[0] for side in found.content)
    if one.fact is not None or other.fact is not None or not _are_opposites(one.key, other.key):
        return found
    small = [
        tuple(word for word in side if word not in denials[n] and word.atom.family not in HELPERS)
        for n, side in enumerate(found.small)
    ]
    return replace(found, content=((), ()), small=(small[0], small[1]))


def order(found: Residue) -> Iterator[Finding]:
    """Check who does what to whom. Only times, items of a list and what follows a preposition may stand
    elsewhere; the passive swaps subject and object.
    """
    rows = found.rows
    blocks = [0, *(k for k in range(1, len(rows)) if rows[k] != rows[k - 1] + 1)]
    mutual = any(found.first[m].key in MUTUAL for m in found.pairs)
    turned_by_voice = found.passive is not None or found.is_impersonal
    if rows == sorted(rows) or turned_by_voice or mutual or _is_compound(found):
        return
    firm = [k for k in blocks if not _opens(found, k)]
    if len(firm) <= 1:
        return
    moved = [found.named(k) for k in firm]
    if found.kind.like != "body" and len(_named(moved)) < 2:
        return
    alike = Counter(small.atom.key for small in found.small[0]) == Counter(s.atom.key for s in found.small[1])
    names = _named(moved) if len(_named(moved)) > 1 else _transposed(found)
    moving = " and ".join(atom.shown for atom in (names or moved)[:2])
    sure = names and found.only_small and alike
    yield different(f"{moving} have changed places") if sure else unclear(f"order: {moving}")


def _is_compound(found: Residue) -> bool:
    """Return whether a noun and its attribute have changed places: the key to the shed, the shed key."""
    rows = found.rows
    k = next(n for n in range(len(rows)) if rows[n] != sorted(rows)[n])
    if k + 1 == len(rows) or sorted(rows) != [*rows[:k], rows[k + 1], rows[k], *rows[k + 2 :]]:
        return False
    m, n = list(found.pairs)[k + 1], rows[k]
    between = [{atom.key for atom in found.contexts[0][m]}, {atom.key for atom in found.contexts[1][n]}]
    return sorted(map(bool, between)) == [False, True] and not LIGHT.isdisjoint(between[0] | between[1])


def _transposed(found: Residue) -> list[Atom]:
    """Return two words that stand in each other's place while all others keep theirs, or an empty list."""
    rows = found.rows
    wrong = [k for k, row in enumerate(sorted(rows)) if rows[k] != row]
    return [found.named(k) for k in wrong] if len(wrong) == 2 else []


def _named(atoms: Sequence[Atom]) -> list[Atom]:
    return [atom for atom in atoms if atom.sort is AtomKind.NAME]


def _opens(found: Residue, number: int) -> bool:
    """Return whether both words of a pair follow a preposition, or they are a fact."""
    m, n = list(found.pairs.items())[number]
    if found.first[m].fact is not None:
        return True
    return all(
        any(word.family in ("place", "time") for word in context)
        for context in (found.contexts[0][m], found.contexts[1][n])
    )


def omitted(found: Residue) -> Iterator[Finding]:
    """Yield content that only one of the clauses has."""
    for own, other in (found.content, found.content[::-1]):
        idle = INTENSIFIERS if found.kind.like == "body" else GENERIC
        words = [atom for atom in own if atom.sort is AtomKind.WORD and atom.key not in idle]
        if words and not other and (len(words) > 1 or found.is_plain):
            text = " ".join(atom.shown for atom in words)
            yield missing(text) if len(words) > 2 else unclear(f"only one says: {text}")


CHECKS: dict[str, Check] = {
    "facts": facts,
    "names": names,
    "things": things,
    "small words": small_words,
    "tense": tense,
    "order": order,
    "omitted": omitted,
}
"""All checks of what remains, by name."""
