"""Metrics: what a method counts, and the rates that are made of the counts.

A method declares its metrics once. The store keeps the counts; tables, meters, comparisons, reports and views
read the declaration. So this file is the one place where a rate is computed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from rig.calls import JsonObject
from rig.verdicts import Fault, Verdict

Counts: TypeAlias = Mapping[str, float]
"""How many of what, by name: of one task, or summed over many."""

TASKS = "tasks"
"""The count that is 1 for every task. A metric over it is a mean over tasks."""


class Metric(NamedTuple):
    """A rate: one count over another, both by name. `noun` is what sentences call it.

    Over `TASKS` it is a mean over tasks (a macro average), over any other count a micro average.
    """

    name: str
    noun: str
    numerator: str
    denominator: str = TASKS
    better: Literal["higher", "lower"] = "higher"
    format: Literal["percent", "number"] = "percent"

    def rate(self, counts: Counts) -> float | None:
        """The rate of these counts; None where there is nothing to divide by."""
        whole = counts.get(self.denominator, 0)
        return counts.get(self.numerator, 0) / whole if whole else None

    def worsening(self, difference: float) -> float:
        """By how much an arm is worse whose rate differs by this much from the baseline's."""
        return -difference if self.better == "higher" else difference

    def as_json(self) -> JsonObject:
        """All of it by name."""
        return self._asdict()


def total(parts: Iterable[Counts]) -> dict[str, float]:
    """The sum of many, count by count. A count that a part lacks is 0 there."""
    sums: dict[str, float] = {}
    for part in parts:
        for name, value in part.items():
            sums[name] = sums.get(name, 0) + value
    return sums


@dataclass(frozen=True, slots=True)
class Score:
    """What a method makes of one finished task.

    `verdicts` are those on its calls, in the order in which they were made. `error_types` are counted by
    turn, `faults` say what went wrong; a method may have neither.
    """

    counts: Counts
    verdicts: tuple[Verdict, ...] = ()
    error_types: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
