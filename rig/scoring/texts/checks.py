"""What remains of two clauses, and what it means: proven different, or unclear."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from rig.reading.clauses import Atom, Sort, conflicting
from rig.reading.facts import IMPLIED, TIMES
from rig.reading.lexicon import contrasting, is_common, opposites, pasts, stem, vocabulary
from rig.reading.typos import distance
from rig.reading.words import Word
from rig.scoring.texts.residue import PASSIVE, Residue


class Meaning(StrEnum):
    """What is said about two texts."""

    SAME = "same"
    DIFFERENT = "different"
    UNCLEAR = "unclear"


class Finding(NamedTuple):
    """What a difference between two clauses means, and why."""

    meaning: Meaning
    reason: str


FREE = vocabulary(
    "a the one also it that this there let do then too very really just even quite simply own now"
)
"""Closed-class words that may be left out; one of them in place of another is unclear."""
LASTING = vocabulary("yet ever still already")
"""These add nothing to what is denied in both clauses."""
COPULAS = vocabulary("is be")
LIGHT = vocabulary("of for with on at in about from by to")
"""Prepositions that a title may do without, in another order: "board minutes", "minutes of the board"."""
MUTUAL = frozenset(map(stem, ("meet", "marry", "kiss", "hug", "match")))
"""Who does one of these to whom makes no difference."""
OWN = vocabulary("my our your we i")
DENYING = vocabulary("not never nobody nothing none nowhere neither hardly without except unless if only")
"""Of a clause that is the same otherwise, one of these turns or limits what it says."""
CARRYING = frozenset(("negation", "modal"))
HELPERS = frozenset(("helper", "copula"))
INTENSIFIERS = vocabulary(
    "quick quickly good great nice brief short little bit bite friendly kind kindly please dear"
)


Check = Callable[[Residue], Iterator[Finding]]


def different(reason: str) -> Finding:
    """What proves a difference."""
    return Finding(Meaning.DIFFERENT, reason)


def unclear(reason: str) -> Finding:
    """What may be one."""
    return Finding(Meaning.UNCLEAR, reason)


def facts(found: Residue) -> Iterator[Finding]:
    """Days, times, amounts: another one proves a difference, and so does one that only one text states."""
    ones, others = ([atom.fact for atom in side if atom.fact is not None] for side in found.content)
    words = [[atom for atom in side if atom.fact is None] for side in found.content]
    for one in ones:
        other = next((fact for fact in others if fact.sort is one.sort), None)
        if other is not None:
            yield different(f"{one.sort}: {one.shown} is not {other.shown}")
            return
    if ones and others:
        yield different(f"{ones[0].sort}: {ones[0].shown} is not {others[0].shown}")
        return
    for fact, own in ((ones, words[1]), (others, words[0])):
        for one in fact:
            if one.values == {1.0} and any(s.atom.key in ("one", "a") for side in found.small for s in side):
                continue
            if one.sort in IMPLIED or own:
                yield unclear(f"only one says: {one.shown}")
            else:
                yield different(f"only one says: {one.shown}")


def names(found: Residue) -> Iterator[Finding]:
    """Names of people and places."""
    ones, others = ([atom for atom in side if atom.sort is Sort.NAME] for side in found.content)
    words = [[atom for atom in side if atom.sort is Sort.WORD] for side in found.content]
    if ones and others:
        yield different(f"name: {ones[0].shown.capitalize()} is not {others[0].shown.capitalize()}")
    for name, own in ((ones, words[1]), (others, words[0])):
        if name and not (ones and others):
            shown = name[0].shown.capitalize()
            vague = own or _has_surname(found, name[0])
            yield unclear(f"name: {shown}") if vague else different(f"only one says: {shown}")


def _has_surname(found: Residue, name: Atom) -> bool:
    """Whether a name stands beside one that both clauses have: Maria, Maria Lopez."""
    for side, matched in ((found.first, found.pairs.keys()), (found.second, found.pairs.values())):
        near = [n + step for n, atom in enumerate(side) if atom is name for step in (-1, 1)]
        if any(n in matched and side[n].sort is Sort.NAME for n in near):
            return True
    return False


def things(found: Residue) -> Iterator[Finding]:
    """Opposites and things of one sort. A denied opposite may say the same, and so may one of a deed that is
    told from the other side.
    """
    denied = any(small.atom.family in CARRYING for side in found.small for small in side)
    people = all(any(small.atom.family == "person" for small in side) for side in found.small)
    turned = denied or people or found.rows != sorted(found.rows)
    for one in found.content[0]:
        for other in found.content[1]:
            if one.fact is None and other.fact is None and (reason := _apart(one, other)):
                yield unclear(f"said otherwise: {one.shown}, {other.shown}") if turned else different(reason)


def _apart(one: Atom, other: Atom) -> str | None:
    pairs = [(a, b) for a in _bases(one.key) for b in _bases(other.key)]
    if any(opposites(a, (b,)) or opposites(b, (a,)) for a, b in pairs):
        return f"opposites: {one.shown} against {other.shown}"
    if contrasting(one.key, other.key) and not (set(one.key.split()) & set(other.key.split())):
        return f"other thing: {one.shown} is not {other.shown}"
    return None


def _bases(key: str) -> set[str]:
    """A word, and what a comparative is made of: shorter, short."""
    ends = {
        key[: -len(end)] for end in ("er", "est", "r", "st") if key.endswith(end) and len(key) > len(end) + 2
    }
    return (
        {key}
        | ends
        | {stem(end) for end in ends}
        | {stem(end[:-1]) for end in ends if end[-2:-1] == end[-1:]}
    )


def alike_words(found: Residue) -> Iterator[Finding]:
    """Words that differ by a letter or two, or only in degree: no likeness proves them the same."""
    for one in found.content[0]:
        for other in found.content[1]:
            if one.fact is None and other.fact is None:
                if _both_capital(one, other) and found.kind.like == "body":
                    yield unclear(f"name: {one.shown} is not {other.shown}")
                if one.key.split()[0] == other.key.split()[0]:
                    yield unclear(f"other word: {one.shown} is not {other.shown}")
                elif all(word.shown.endswith(("er", "est")) and len(word.shown) > 4 for word in (one, other)):
                    yield unclear(f"degree: {one.shown} is not {other.shown}")
                elif _bases(one.key) & _bases(other.key):
                    yield different(f"degree: {one.shown} is not {other.shown}")
                elif distance(one.shown, other.shown) <= 2 and min(len(one.shown), len(other.shown)) > 2:
                    known = is_common(one.shown) and is_common(other.shown)
                    reason = f"other word: {one.shown} is not {other.shown}"
                    yield different(reason) if known and _alone(found) else unclear(reason)


def _both_capital(one: Atom, other: Atom) -> bool:
    return all(atom.word.capital and not atom.word.first for atom in (one, other))


def _alone(found: Residue) -> bool:
    return max(map(len, found.content)) <= 1 and not any(found.small)


def small_words(found: Residue) -> Iterator[Finding]:
    """Closed-class words: what is not proven harmless is at least unclear."""
    plain = found.only_small or max(map(len, found.content)) <= 1
    for anchor in dict.fromkeys(small.anchor for side in found.small for small in side):
        ones, others = ([s.atom for s in side if s.anchor == anchor] for side in found.small)
        firm = [[atom for atom in side if atom.key not in FREE] for side in (ones, others)]
        if bool(firm[0]) != bool(firm[1]):
            ones, others = firm
        clash = next(((a, b) for a in ones for b in others if conflicting(a.key, b.key)), None)
        if clash and {atom.key for atom in clash} == {"my", "your"} and not found.kind.personal:
            clash = None
        if clash and plain:
            yield different(f"{clash[0].shown} is not {clash[1].shown}")
        elif ones and others:
            keys = {atom.key for atom in (*ones, *others)}
            if keys != {"a", "one"} and not (keys == {"my", "your"} and not found.kind.personal):
                yield unclear(f"{ones[0].shown} is not {others[0].shown}")
        else:
            yield from _one_sided([*ones, *others], found, bool(ones))


def _one_sided(atoms: Sequence[Atom], found: Residue, first: bool) -> Iterator[Finding]:
    elsewhere = [small.atom.key for small in found.small[first]]
    if found.only_small and {"to", "be"} <= {atom.key for atom in atoms}:
        yield different("only one says: to be")
    for atom in atoms:
        if _is_harmless(atom, found):
            continue
        sure = found.only_small and atom.key in DENYING and not elsewhere
        yield different(f"only one says: {atom.shown}") if sure else unclear(f"only one says: {atom.shown}")


def _is_harmless(atom: Atom, found: Residue) -> bool:
    """Whether a closed-class word may be left out of such a clause."""
    if atom.key in FREE or atom.family == "courtesy":
        return True
    if found.passive is not None and (atom.key in PASSIVE or atom.key == "by"):
        return True
    if atom.key == "have" and not helped_by(found, "have"):
        return True
    if atom.key in LASTING and found.denied:
        return True
    helped = any(s.atom.family in CARRYING for side in found.small for s in side)
    if atom.key in COPULAS and not helped and not _unequal_forms(found):
        return not any(s.atom.key == "to" for side in found.small for s in side)
    title = found.kind.like != "body" and not helped
    if title and atom.key in LIGHT and found.only_small:
        return not any(found.small[0]) or not any(found.small[1])
    if atom.key in ("on", "at", "in", "from", "to") and _before_time(atom, found):
        return True
    return not found.kind.personal and atom.key in OWN and found.only_small


def helped_by(found: Residue, helper: str) -> bool:
    """Whether leaving out a helper changes what is said: "I have paid" is "I paid", but "I have it" ..."""
    for side, content in ((0, found.first), (1, found.second)):
        for small in found.small[side]:
            if small.atom.key == helper and (
                small.at >= len(content)
                or not _is_past(content[small.at].word)
                or small.anchor < 0
                or not _is_past(found.second[found.rows[small.anchor]].word)
            ):
                return True
    return _unequal_forms(found)


def _before_time(atom: Atom, found: Residue) -> bool:
    for side, content in ((0, found.first), (1, found.second)):
        for small in found.small[side]:
            if small.atom is atom and small.anchor >= 0:
                at = list(found.pairs if side == 0 else found.pairs.values())[small.anchor]
                fact = content[at].fact
                return fact is not None and fact.sort in TIMES
    return False


def tense(found: Residue) -> Iterator[Finding]:
    """What is done in one and only coming, or wanted, in the other."""
    helped = any(small.atom.family in HELPERS for side in found.small for small in side)
    for m, n in found.pairs.items():
        one, other = found.first[m], found.second[n]
        if one.fact is not None or one.shown == other.shown or one.sort is Sort.NAME:
            continue
        if _is_past(one.word) is not _is_past(other.word):
            if found.passive is not None:
                continue
            passive = any(small.atom.key in PASSIVE for side in found.small for small in side)
            sure = found.only_small and not passive and one.key == other.key
            reason = f"tense: {one.shown} is not {other.shown}"
            yield different(reason) if sure else unclear(reason)
        elif one.key == other.key and one.shown.endswith("ing") is not other.shown.endswith("ing") and helped:
            yield unclear(f"tense: {one.shown} is not {other.shown}")


def _unequal_forms(found: Residue) -> bool:
    return any(
        found.first[m].shown.endswith("ing") is not found.second[n].shown.endswith("ing")
        or _is_past(found.first[m].word) is not _is_past(found.second[n].word)
        for m, n in found.pairs.items()
    )


def _is_past(word: Word) -> bool:
    """Whether it has the form of the past: booked, paid. "Feed" and "garage" do not."""
    text = word.text.partition(" ")[0]
    return text in pasts() or (text.endswith("ed") and text != word.stem.partition(" ")[0] and text.isalpha())


def order(found: Residue) -> Iterator[Finding]:
    """Who does what to whom. Only what a preposition opens, a time and a list's item may stand elsewhere; the
    passive turns subject and object.
    """
    rows = found.rows
    turned = [
        k
        for k in range(1, len(rows))
        if rows[k] != rows[k - 1] + 1 and not _skips(found, rows[k - 1], rows[k])
    ]
    blocks = [0, *turned]
    mutual = any(found.first[m].key in MUTUAL for m in found.pairs)
    if rows == sorted(rows) or found.passive is not None or mutual:
        return
    firm = [k for k in blocks if not _opens(found, k)]
    if len(firm) <= 1:
        return
    moved = [found.named(k) for k in firm]
    if found.kind.like not in ("body", "task") and found.only_small and len(_named(moved)) < 2:
        return
    alike = Counter(small.atom.key for small in found.small[0]) == Counter(s.atom.key for s in found.small[1])
    names = _named(moved) if len(_named(moved)) > 1 else _transposed(found)
    shown = " and ".join(atom.shown for atom in (names or moved)[:2])
    sure = names and found.only_small and alike
    yield different(f"{shown} have changed places") if sure else unclear(f"order: {shown}")


def _transposed(found: Residue) -> list[Atom]:
    """Two words that stand in each other's place, all else being where it was."""
    rows = found.rows
    wrong = [k for k, row in enumerate(sorted(rows)) if rows[k] != row]
    return [found.named(k) for k in wrong] if len(wrong) == 2 else []


def _named(atoms: Sequence[Atom]) -> list[Atom]:
    return [atom for atom in atoms if atom.sort is Sort.NAME]


def _skips(found: Residue, before: int, after: int) -> bool:
    """Whether only what the other text lacks stands between."""
    return before < after and not set(range(before + 1, after)) & set(found.pairs.values())


def _opens(found: Residue, number: int) -> bool:
    """Whether a preposition opens a pair of content words in both texts, or it states a time."""
    m, n = list(found.pairs.items())[number]
    if found.first[m].fact is not None:
        return True
    return all(
        any(word.family in ("place", "time") for word in context)
        for context in (found.contexts[0][m], found.contexts[1][n])
    )


def omitted(found: Residue) -> Iterator[Finding]:
    """Content that only one of the clauses has."""
    for own, other in (found.content, found.content[::-1]):
        words = [atom for atom in own if atom.sort is Sort.WORD and atom.key not in INTENSIFIERS]
        if words and not other:
            shown = " ".join(atom.shown for atom in words)
            yield (
                different(f"only one says: {shown}") if len(words) > 2 else unclear(f"only one says: {shown}")
            )


CHECKS: dict[str, Check] = {
    "facts": facts,
    "names": names,
    "things": things,
    "words alike": alike_words,
    "small words": small_words,
    "tense": tense,
    "order": order,
    "omitted": omitted,
}
"""All that is asked of what remains."""
