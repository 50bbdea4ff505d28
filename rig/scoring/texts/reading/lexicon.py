"""What the lexicon knows about words: which agree, and which exclude one another."""

import re
from collections.abc import Iterable, Mapping
from functools import cache

from rig.scoring.texts.reading.stems import UNCHANGED, folded, lines, stem

LONGEST_PHRASE = 4
PREFIXES = (
    ("in", "de"), ("in", "ex"), ("im", "ex"), ("at", "de"), ("en", "de"), ("en", "dis"), ("up", "down"),
    ("over", "under"), ("pre", "post"), ("in", "out"), ("on", "off"), ("a", "de"), ("as", "dis"),
    ("un", ""), ("dis", ""), ("non", ""), ("in", ""), ("im", ""), ("ir", ""), ("il", ""), ("de", ""),
    ("mis", ""),
)  # fmt: skip
"""Beginnings that turn the rest of a word into its opposite: inflate and deflate, pack and unpack."""
SHORTEST_ROOT = 4

Numbers = frozenset[int]


def key(expression: str) -> str:
    """An expression of one word or several, as it is looked up."""
    return " ".join(stem(part) for part in expression.replace("'", "").split())


def _members(line: str) -> list[str]:
    return [key(part) for part in line.split(",") if part.strip()]


@cache
def synonym_sets() -> Mapping[str, Numbers]:
    """For each expression, the numbers of the sets it is in."""
    return _index(_members(line) for line in lines("synonyms"))


@cache
def contrast_sets() -> Mapping[str, Numbers]:
    """For each thing, the numbers of the sorts it is of."""
    return _index(_members(line) for line in lines("contrasts"))


@cache
def opposite_sides() -> Mapping[str, frozenset[tuple[int, int]]]:
    """For each expression, the (number of opposition, side) it is on."""
    found: dict[str, set[tuple[int, int]]] = {}
    for number, line in enumerate(lines("opposites")):
        for side, members in enumerate(line.split("|")):
            for member in _members(members):
                found.setdefault(member, set()).add((number, side))
    return {member: frozenset(sides) for member, sides in found.items()}


@cache
def abbreviations() -> Mapping[str, tuple[str, ...]]:
    """The words that a short form stands for."""
    table = {}
    for line in lines("abbreviations"):
        short, _, long = line.partition(": ")
        table[short] = tuple(long.split())
    return table


@cache
def given_names() -> Mapping[str, Numbers]:
    """For each form of a name, the numbers of the names it can be a form of."""
    return _index((folded(form) for form in line.split()) for line in lines("given_names"))


@cache
def places() -> frozenset[str]:
    """Places that rig recognizes even without a capital."""
    return frozenset(folded(line) for line in lines("places"))


@cache
def fillers() -> re.Pattern[str]:
    """Phrases that say nothing, the longest first."""
    known = sorted(lines("fillers"), key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(re.escape(each) for each in known)})\b,?", re.I)


@cache
def phrases() -> frozenset[str]:
    """Every known expression of several words."""
    known = {*synonym_sets(), *opposite_sides(), *contrast_sets()}
    return frozenset(each for each in known if " " in each)


@cache
def common_words() -> frozenset[str]:
    """Words that are known to be no names, as they are written."""
    known = {
        word
        for name in ("synonyms", "opposites", "contrasts")
        for line in lines(name)
        for word in _bare(line)
    }
    long = {word for words in abbreviations().values() for word in words if " ".join(words) not in places()}
    plain = {word for line in lines("common") for word in line.split()}
    return frozenset(known | long | plain | UNCHANGED)


def _bare(line: str) -> list[str]:
    return folded(line.replace(",", " ").replace("|", " ").replace("'s", " ")).split()


@cache
def _common_stems() -> frozenset[str]:
    return frozenset(stem(word) for word in common_words())


def is_common(word: str) -> bool:
    """Whether this, or what it is a form of, is known to be no name. The stem of "change" is not a word."""
    return word in common_words() or (word != stem(word) and stem(word) in _common_stems())


def synonymous(first: str, second: str) -> bool:
    """Whether one expression can stand for the other."""
    if first == second:
        return True
    sets = synonym_sets()
    return not sets.get(first, frozenset()).isdisjoint(sets.get(second, frozenset()))


def meanings(expressions: Iterable[str]) -> frozenset[int]:
    """The numbers of all synonym sets that any of the expressions is in."""
    sets = synonym_sets()
    return frozenset(number for each in expressions for number in sets.get(each, ()))


def contrasting(first: str, second: str) -> bool:
    """Whether both are things of one sort, and not the same."""
    if synonymous(first, second):
        return False
    sets = contrast_sets()
    return not sets.get(first, frozenset()).isdisjoint(sets.get(second, frozenset()))


def opposites(expression: str, others: Iterable[str]) -> list[str]:
    """Those of the `others` that are on the other side of an opposition."""
    sides = opposite_sides()
    against = {(number, 1 - side) for number, side in sides.get(expression, ())}
    turned = _turned(expression)
    return [other for other in others if other in turned or not against.isdisjoint(sides.get(other, ()))]


def _turned(word: str) -> set[str]:
    """What the word becomes with the opposite beginning."""
    return {
        after + word[len(before) :]
        for pair in PREFIXES
        for before, after in (pair, pair[::-1])
        if word.startswith(before) and len(word) - len(before) >= SHORTEST_ROOT
    }


def _index(groups: Iterable[Iterable[str]]) -> dict[str, Numbers]:
    found: dict[str, set[int]] = {}
    for number, group in enumerate(groups):
        for member in group:
            found.setdefault(member, set()).add(number)
    return {member: frozenset(numbers) for member, numbers in found.items()}
