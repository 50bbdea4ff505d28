"""Trends: what several arms of a comparison show together, such as where success breaks over levels.

A plugin registers a `TrendFinder` under the name that its trends have in --json (`registry.trends`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rig.compare.arms import ChosenArm, ComparisonOptions, ScoredArm
from rig.core import registry
from rig.core.calls import ByName, JsonObject
from rig.core.metrics import Declaration


@dataclass(frozen=True, slots=True)
class Trend(ByName):
    """What arms show that differ in an `option`; `name` is what else tells them apart."""

    name: str
    option: str

    @property
    def text(self) -> str:
        """The trend in one sentence."""
        raise NotImplementedError

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the arms."""
        return ()

    @property
    def points(self) -> list[JsonObject]:
        """The points to draw: a `level`, its `success`, and the ends of its interval, `low` and `high`.

        All but levels are fractions, None where there is none. A trend without points is a note.
        """
        return []

    def as_json(self) -> JsonObject:
        """Return all fields by name, with the sentence."""
        return {**ByName.as_json(self), "text": self.text}


class TrendFinder(Protocol):
    """A function that finds trends of one kind."""

    def __call__(
        self,
        arms: Sequence[ChosenArm],
        scored: Sequence[ScoredArm],
        declaration: Declaration,
        question: ComparisonOptions,
    ) -> tuple[Trend, ...]:
        """Return the trends of these arms. `scored` are those that finished something."""
        ...


def trends(
    arms: Sequence[ChosenArm],
    scored: Sequence[ScoredArm],
    declaration: Declaration,
    question: ComparisonOptions,
) -> dict[str, tuple[Trend, ...]]:
    """Return what these arms show together, by the name of what finds it."""
    finders = registry.registered().trends
    return {name: finders[name](arms, scored, declaration, question) for name in finders}
