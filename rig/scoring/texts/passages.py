"""The sentences of two texts that belong together, to be read side by side."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from rig.scoring.texts.checks import Finding, Meaning

Reader = Callable[[str, str], float | None]
"""How likely two passages say the same, from 0 to 1; None of passages that it cannot read whole."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Numbers of sentences of both texts, what their clauses mean, and whether any have a word in common."""

    first: frozenset[int]
    second: frozenset[int]
    findings: tuple[Finding, ...]
    is_related: bool

    @property
    def is_same(self) -> bool:
        """Whether rules find that all of its clauses mean the same."""
        return all(finding.meaning is Meaning.SAME for finding in self.findings)

    def meets(self, other: "Passage") -> bool:
        """Whether both have a sentence in common."""
        return bool(self.first & other.first or self.second & other.second)

    def __add__(self, other: "Passage") -> "Passage":
        return Passage(
            self.first | other.first,
            self.second | other.second,
            self.findings + other.findings,
            self.is_related or other.is_related,
        )


def joined(groups: Iterable[Passage], left_over: Passage | None) -> list[Passage]:
    """Groups of clauses as passages: those that share a sentence are one. Clauses that are `left_over` belong
    to their own sentences, so that they tie nothing together that has nothing else in common.
    """
    passages: list[Passage] = []
    for group in groups:
        whole = sum((one for one in passages if one.meets(group)), group)
        passages = [one for one in passages if not one.meets(group)] + [whole]
    if left_over is None:
        return passages
    first = left_over.first.difference(*(one.first for one in passages))
    second = left_over.second.difference(*(one.second for one in passages))
    passages = [
        replace(one, findings=one.findings + left_over.findings) if one.meets(left_over) else one
        for one in passages
    ]
    rest = replace(left_over, first=first, second=second)
    return [*passages, rest] if first or second else passages


def least_alike(passages: Iterable[Sequence[str]], reader: Reader, enough: float) -> float | None:
    """The likelihood of the passage that is least alike, 1 of none; the first one below `enough` will do.
    None if a passage cannot be read whole.
    """
    least = 1.0
    for first, second in passages:
        likelihood = reader(first, second)
        if likelihood is None:
            return None
        least = min(least, likelihood)
        if least < enough:
            break
    return least
