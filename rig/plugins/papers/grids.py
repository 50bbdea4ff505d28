"""The scores of arms, and the tables that are made of them."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from rig.core.calls import JsonObject
from rig.core.metrics import Counts


class ArmScore(NamedTuple):
    """The score of an arm on one suite. `grader` names the grader in words, `graded_by` as JSON.

    `by_task` has the counts of each task, repeat by repeat.
    """

    arm: str
    fingerprint: JsonObject
    suite: str
    counts: Counts
    error_types: Mapping[str, int]
    grader: str
    graded_by: JsonObject
    by_task: Mapping[str, Sequence[Counts]] = MappingProxyType({})


Row: TypeAlias = tuple[Sequence[str | int | float | None], JsonObject]
"""A row of a table: its cells (texts, counts as int, shares as float), and the whole row by name."""


class Table(NamedTuple):
    """A table of a paper, with measured rows. `cited` says what the paper's own rows in it are, and what
    else a reader must know.
    """

    subject: str
    grader: str
    graded_by: JsonObject
    header: Sequence[str]
    rows: Sequence[Row]
    cited: str = ""
    number: int = 0

    @property
    def title(self) -> str:
        """The title above the table, with its number in the paper if it has one."""
        return f"Table {self.number}. {self.subject}" if self.number else self.subject

    @property
    def cells(self) -> list[Sequence[str | int | float | None]]:
        """The cells of each row."""
        return [cells for cells, _ in self.rows]

    def as_json(self) -> JsonObject:
        """Return number, subject, grader and rows as JSON, with unrounded values."""
        numbered = {"table": self.number} if self.number else {}
        rows = [row for _, row in self.rows]
        return {**numbered, "title": self.subject, "grader": self.graded_by, "rows": rows}


class Standing(NamedTuple):
    """A row of a leaderboard: the win rate over all queries with its standard error, and both by test set."""

    method: str
    win_rate: float
    std_error: float
    by_set: Mapping[str, tuple[float, float]]

    @property
    def is_consistent(self) -> bool:
        """Whether the win rate is close to the mean over test sets. Both shares and percentages work."""
        if not self.by_set:
            return True
        mean = fmean(rate for rate, _ in self.by_set.values())
        return abs(self.win_rate - mean) <= 0.02 * (100 if max(self.win_rate, mean) > 1 else 1)
