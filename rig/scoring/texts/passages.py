"""Find the sentences of two texts that belong together, to be read side by side."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from rig.scoring.texts.checks import Finding, Meaning

Reader = Callable[[str, str], float | None]
"""Returns how likely two passages say the same, from 0 to 1; None if it cannot read them whole."""


@dataclass(frozen=True, slots=True)
class Passage:
    """The numbers of sentences of both texts, what their clauses mean, and whether any share a word."""

    first: frozenset[int]
    second: frozenset[int]
    findings: tuple[Finding, ...]
    is_related: bool

    @property
    def is_same(self) -> bool:
        """Whether the rules find that all of its clauses mean the same."""
        return all(finding.meaning is Meaning.SAME for finding in self.findings)

    def meets(self, other: "Passage") -> bool:
        """Return whether both passages have a sentence in common."""
        return bool(self.first & other.first or self.second & other.second)

    def __add__(self, other: "Passage") -> "Passage":
        return Passage(
            self.first | other.first,
            self.second | other.second,
            self.findings + other.findings,
            self.is_related or other.is_related,
        )


def joined(groups: Iterable[Passage], left_over: Passage | None) -> list[Passage]:
    """Join groups of clauses that share a sentence into passages. The clauses in `left_over` stay with their
    own sentences, so that they join no passages that have nothing else in common.
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
    """Return the likelihood of the least alike passage, 1 without passages, stopping at the first one below
    `enough`. None if a passage cannot be read whole.
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
