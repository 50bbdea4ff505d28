"""What a report is made of: the comparison, and what every arm did in every conversation."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count, islice, product
from string import ascii_uppercase
from typing import Literal, get_args

from rig.compare import Comparison, Noise, Question, compare, published
from rig.compare.board.groups import WAYS, Groups, groups
from rig.errors import RigError
from rig.methods.offers import Table
from rig.store import Runs, StoredRun, Transcript

Format = Literal["html", "md", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)


@dataclass(frozen=True, slots=True)
class Material:
    """A comparison with its runs by id and, by conversation and arm, the transcripts of the first repeat.

    `letters` stand for the arms if there is no room for names. `tables` are those of the method's paper, if
    they are asked for.
    """

    comparison: Comparison
    runs: dict[str, StoredRun]
    transcripts: tuple[tuple[Transcript, ...], ...]
    tables: Sequence[Table] = ()

    @property
    def groups(self) -> Iterator[Groups]:
        """What was right by tool, tag and suite, where there is more than one to tell apart."""
        arms = [arm.label for arm in self.comparison.arms]
        by_arm = list(zip(*self.transcripts, strict=True))
        for by in WAYS:
            with suppress(RigError):
                found = groups(by, arms, by_arm)
                if len(found.rows) > 1:
                    yield found

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
