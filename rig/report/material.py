"""What a report is made of: the comparison, and what every arm did in every conversation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count, islice, product
from string import ascii_uppercase
from typing import Literal, get_args

from rig.compare import Comparison, Noise, Question, compare, published
from rig.methods.base import Table
from rig.store import Runs, StoredRun, Transcript

Format = Literal["html", "md", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)


@dataclass(frozen=True, slots=True)
class Material:
    """A comparison with its runs by id and, by conversation and arm, the transcripts of the first repeat.

    `letters` stand for the arms where there is no room for names. `tables` are those of the method's paper,
    where they are asked for.
    """

    comparison: Comparison
    runs: dict[str, StoredRun]
    transcripts: tuple[tuple[Transcript, ...], ...]
    tables: Sequence[Table] = ()

    @property
    def letters(self) -> tuple[str, ...]:
        """A to Z, then AA and on."""
        names = ("".join(each) for size in count(1) for each in product(ascii_uppercase, repeat=size))
        return tuple(islice(names, len(self.comparison.arms)))


def gather(
    runs: Runs,
    addresses: Sequence[str],
    question: Question | None = None,
    noise: Noise | None = None,
    *,
    with_tables: bool = False,
) -> Material:
    """Read what a report of these arms needs. One arm will do. Raises RigError as `compare` does."""
    comparison = compare(runs, addresses, replace(question or Question(), one_will_do=True), noise)
    stored = {arm.run: runs.get(arm.run) for arm in comparison.arms}
    transcripts = tuple(
        tuple(runs.transcript(stored[arm.run], name, arm.position, 0) for arm in comparison.arms)
        for name, _ in comparison.conversations
    )
    tables = published(runs, addresses) if with_tables else ()
    return Material(comparison, stored, transcripts, tables)
