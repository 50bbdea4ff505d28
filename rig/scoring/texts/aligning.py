"""Find which words and clauses of two texts belong together: likeness proposes, an assignment decides."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rig.reading.clauses import Atom, AtomKind, Clause
from rig.reading.lexicon import given_names, roots, synonymous
from rig.reading.typos import distance

POSITION = 0.05
"""How much standing at the same place counts, compared with the words that clauses share."""
CLOSED_WORDS = 0.2
"""How much shared closed-class words count, which say little about where a clause belongs."""

NEAR_NAMES = 2
"""Names that differ by at most this many letters are different: Jon is not John."""


@dataclass(slots=True)
class Group:
    """Clauses of two texts that belong together, in the order of their texts; either side may be empty."""

    first: list[int] = field(default_factory=list)
    second: list[int] = field(default_factory=list)
    is_left_over: bool = False
    """Whether the group merely collects the clauses that are like no other."""


Texts = tuple[Sequence[Clause], Sequence[Clause]]


def align(first: Sequence[Clause], second: Sequence[Clause]) -> list[Group]:
    """Group the clauses that belong together. Every clause of both texts is in exactly one group."""
    texts = (first, second)
    if not first or not second:
        return [Group([n], []) for n in range(len(first))] + [Group([], [n]) for n in range(len(second))]
    groups = _assigned(texts)
    groups = _joined(groups, texts)
    lone = [group for group in groups if not all(_sides(group))]
    if any(group.first for group in lone) and any(group.second for group in lone):
        groups = [group for group in groups if group not in lone]
        groups.append(
            Group(
                [n for group in lone for n in group.first], [n for group in lone for n in group.second], True
            )
        )
    return sorted(groups, key=lambda group: (group.first or [len(first)], group.second))


def _assigned(texts: Texts) -> list[Group]:
    from scipy.optimize import linear_sum_assignment

    first, second = texts
    values = [
        [_overlap(one, other, m / len(first), n / len(second)) for n, other in enumerate(second)]
        for m, one in enumerate(first)
    ]
    rows, columns = linear_sum_assignment(values, maximize=True)
    pairs = {int(m): int(n) for m, n in zip(rows, columns, strict=True) if values[m][n] >= 2 * POSITION}
    alone = [Group([m], []) for m in range(len(first)) if m not in pairs]
    alone += [Group([], [n]) for n in range(len(second)) if n not in pairs.values()]
    return [Group([m], [n]) for m, n in pairs.items()] + alone


def _overlap(one: Clause, other: Clause, here: float, there: float) -> float:
    if one.atoms == other.atoms:
        return 1.5 - POSITION * abs(here - there)
    content = [clause.content for clause in (one, other)]
    total = len(content[0]) + len(content[1])
    shared = 2 * len(matching(*content)) / total if total else 0.0
    small = [{atom.key for atom in clause.atoms if not atom.is_content} for clause in (one, other)]
    closed = len(small[0] & small[1]) / max(1, len(small[0] | small[1]))
    return shared + CLOSED_WORDS * closed * (shared > 0 or not total) - POSITION * abs(here - there)


def _joined(groups: list[Group], texts: Texts) -> list[Group]:
    """Return the groups, with each lone clause added to the group that gains most words by it, if any."""
    for side in (0, 1):
        for lone in [group for group in groups if not _sides(group)[1 - side]]:
            best, gain = None, 0
            for group in groups:
                if group is lone or not all(_sides(group)):
                    continue
                more = Group([*group.first, *lone.first], [*group.second, *lone.second])
                won = _matched(more, texts) - _matched(group, texts)
                if won > gain:
                    best, gain = group, won
            if best is not None:
                best.first += lone.first
                best.second += lone.second
                groups = [group for group in groups if group is not lone]
    return groups


def _matched(group: Group, texts: Texts) -> int:
    content = [
        [atom for n in sorted(indices) for atom in clauses[n].content]
        for indices, clauses in zip(_sides(group), texts, strict=True)
    ]
    return len(matching(*content))


def _sides(group: Group) -> tuple[list[int], list[int]]:
    return group.first, group.second


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
    if one.fact is not None or other.fact is not None:
        return False
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
