"""Which atoms of two clauses say the same."""

from collections.abc import Sequence

from rig.reading.clauses import Atom, AtomKind
from rig.reading.lexicon import given_names, roots, synonymous
from rig.reading.typos import distance

NEAR_NAMES = 2
"""Letters by which names differ that are never taken for one another: Jon is not John."""


def matching(first: Sequence[Atom], second: Sequence[Atom]) -> dict[int, int]:
    """Which atom of the second says what one of the first does, each once; equal ones before synonyms."""
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
    if one.fact is not None or other.fact is not None:
        return False
    if AtomKind.NAME in (one.sort, other.sort):
        return same_name(one.shown, other.shown)
    return synonymous(one.key, other.key) or not roots(one.key).isdisjoint(roots(other.key))


def same_name(first: str, second: str) -> bool:
    """Whether two words can be one name: its forms (Tom, Thomas), or its plural."""
    if first.removesuffix("s") == second.removesuffix("s"):
        return True
    if distance(first, second) <= NEAR_NAMES and not (first.startswith(second) or second.startswith(first)):
        return False
    names = given_names()
    return not names.get(first, frozenset()).isdisjoint(names.get(second, frozenset()))
