"""What a report is made of: the comparison, and what every arm did in every conversation."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count, islice, product
from string import ascii_uppercase
from typing import Literal, get_args

from rig.compare import Comparison, ComparisonOptions, Noise, choose, compare_chosen, published
from rig.compare.groups import WAYS, Groups, groups
from rig.errors import RigError
from rig.methods.paper import Table
from rig.store import Runs, StoredRun, Transcript

Format = Literal["html", "md", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)


MOST = 5_000
"""Transcripts that a report has, one for each conversation and arm. No browser shows many more."""


@dataclass(frozen=True, slots=True)
class Material:
    """A comparison with its runs by id and, by conversation and arm, the transcripts of the first repeat.

    The transcripts are of the conversations with the numbers `shown`: of all, unless those are too many.
    `letters` stand for the arms where there is no room for names. `tables` are those of the method's paper,
    where they are asked for.
    """

    comparison: Comparison
    runs: dict[str, StoredRun]
    transcripts: tuple[tuple[Transcript, ...], ...]
    shown: Sequence[int]
    tables: Sequence[Table] = ()

    @property
    def groups(self) -> Iterator[Groups]:
        """What was right by tool, tag and suite, where there is more than one, and all are shown."""
        if self.left_out:
            return
        arms = [arm.label for arm in self.comparison.arms]
        by_arm = list(zip(*self.transcripts, strict=True))
        for by in WAYS:
            with suppress(RigError):
                grouped = groups(by, arms, by_arm)
                if len(grouped.rows) > 1:
                    yield grouped

    @property
    def left_out(self) -> int:
        """How many conversations are not shown."""
        return len(self.comparison.conversations) - len(self.shown)

    @property
    def flipped(self) -> dict[tuple[str, str], str]:
        """Whether an arm won or lost against the baseline, by its label and the conversation that flipped."""
        pairs = self.comparison.pairs
        return {(pair.arm, flip.conversation): flip.outcome for pair in pairs for flip in pair.flips}

    @property
    def letters(self) -> tuple[str, ...]:
        """A to Z, then AA and on."""
        names = ("".join(letters) for size in count(1) for letters in product(ascii_uppercase, repeat=size))
        return tuple(islice(names, len(self.comparison.arms)))


def gather(
    runs: Runs,
    addresses: Sequence[str],
    question: ComparisonOptions | None = None,
    noise: Noise | None = None,
    *,
    with_tables: bool = False,
) -> Material:
    """Read what a report of these arms needs. One arm will do. Raises RigError as `compare` does."""
    chosen = choose(runs, addresses)
    comparison = compare_chosen(
        runs, chosen, replace(question or ComparisonOptions(), one_will_do=True), noise
    )
    read = {arm.run.id: arm.run for arm in chosen}
    stored = {arm.run: read[arm.run] for arm in comparison.arms}
    numbers = _shown(comparison)
    transcripts = tuple(
        tuple(
            runs.transcript(stored[arm.run], comparison.conversations[number][0], arm.position, 0)
            for arm in comparison.arms
        )
        for number in numbers
    )
    tables = published(runs, addresses) if with_tables else ()
    return Material(comparison, stored, transcripts, numbers, tables)


def _shown(comparison: Comparison) -> Sequence[int]:
    """Which conversations there is room for, in order: those that flipped before others."""
    numbers = range(len(comparison.conversations))
    most = max(MOST // len(comparison.arms), 1)
    if len(numbers) <= most:
        return numbers
    flipped = {flip.conversation for pair in comparison.pairs for flip in pair.flips}
    first = sorted(numbers, key=lambda number: comparison.conversations[number][0] not in flipped)
    return sorted(first[:most])
