"""Success over the levels of a dial, and where it breaks: in a sweep, or in any run with several levels."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from rig.compare.arms import ChosenArm, ComparisonOptions, ScoredArm
from rig.compare.trends import Trend
from rig.config.options import TABLE
from rig.core.calls import ByName, JsonObject
from rig.core.errors import counted
from rig.core.intervals import with_interval
from rig.core.metrics import Declaration
from rig.core.tasks import in_random_order
from rig.plugins.strategies.breaking import Break, BreakTest, Outcomes, differences
from rig.plugins.strategies.levels import curves_of, level_name
from rig.plugins.strategies.sequential import Evidence, LossTest
from rig.stats import Estimate, Tallied
from rig.stats.rates import OutcomeBounds
from rig.store import StoredRun


@dataclass(frozen=True, slots=True)
class LevelResult(ByName):
    """A level of a curve, and the arm that played it: how many conversations it has `finished`, and its rate
    of success in these. `loss` is against the lowest level, over the conversations of both, and `lowest` is
    that one's rate in them; None for the lowest level, and for one that was not played.
    """

    level: str
    arm: str
    finished: int
    success: Estimate
    loss: Evidence | None
    lowest: float | None = None


@dataclass(frozen=True, slots=True)
class Curve(Trend):
    """The levels of an option, the lowest first, for a file and whatever else tells arms apart (`name`).

    `located` says at which level numbers success breaks by `size`, a fraction. Over all curves of a
    comparison together, and however often they are looked at, it is wrong with a chance of at most `alpha`.
    """

    size: float
    alpha: float
    levels: tuple[LevelResult, ...]
    located: Break

    @property
    def rates(self) -> list[float | None]:
        """The success of each level; None where it was not played."""
        return [level.success.value for level in self.levels]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(level.arm for level in self.levels)

    @property
    def points(self) -> list[JsonObject]:
        """The success of each level, and the interval that follows from its difference to the lowest one."""
        points: list[JsonObject] = []
        for level in self.levels:
            low = high = None
            if level.loss is not None and level.lowest is not None:
                low, high = (
                    min(max(level.lowest - end, 0.0), 1.0) for end in (level.loss.high, level.loss.low)
                )
            points.append({"level": level.level, "success": level.success.value, "low": low, "high": high})
        return points

    @property
    def text(self) -> str:
        """The result in one sentence, as in `holds to 8k; loses at least 5 points between 8k and 16k`."""
        names = [level.level for level in self.levels]
        after = counted(min(level.finished for level in self.levels if level.finished), "conversation")
        parts = [self.located.text(names, self.size)]
        highest = max((number for number, level in enumerate(self.levels) if level.finished), default=0)
        if self.located.high is None and (self.located.holds or 0) < highest:
            loss = f"a loss of {counted(100 * self.size, 'point')}"
            above = f" above {names[self.located.holds]}" if self.located.holds else ""
            parts.append(f"cannot tell{above}: {loss} is neither shown nor excluded after {after}")
        if left := [level.level for level in self.levels if not level.finished]:
            parts.append(f"{', '.join(left)} not played")
        return "; ".join(filter(None, parts))


_WORDINGS = {"wording": "wordings of the prompt", "form": "forms of prompt and answer"}
"""Options whose values mean the same in other words, each with a plural noun for its values."""


@dataclass(frozen=True, slots=True)
class WordingSpread(Trend):
    """How far success spreads over an option's wordings of a prompt, which have no order.

    `value` is the highest rate less the lowest, in the conversations that all have finished; `low` and `high`
    are the ends of its interval: the largest ends among the intervals of all pairs, which hold together.
    """

    variants: int
    finished: int
    best: str
    worst: str
    value: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """The spread in one sentence."""
        spread = with_interval(lambda share: f"{100 * share:.1f}", self, " points")
        return (
            f"{self.name}: success spreads over {spread} between"
            f" {self.variants} {_WORDINGS[self.option]}, from {self.worst} to {self.best}, in"
            f" {counted(self.finished, 'conversation')}"
        )


def spreads(
    _: Sequence[ChosenArm],
    scored: Sequence[ScoredArm],
    declaration: Declaration,
    question: ComparisonOptions,
) -> tuple[WordingSpread, ...]:
    """Return the spread of success over wordings, for each file and whatever else tells arms apart."""
    if not declaration.success:
        return ()
    groups: list[tuple[str, str, dict[str, ScoredArm]]] = []
    for run in {arm.chosen.run.id: arm.chosen.run for arm in scored}.values():
        arms = {
            arm.chosen.arm.name: arm for arm in scored if arm.chosen.run.id == run.id and not arm.unplayed
        }
        for option in _WORDINGS:
            parts = (part.partition("=") for name in arms for part in name.split(" "))
            words = list(dict.fromkeys(word for key, _, word in parts if key == option))
            for name, by_level in curves_of(arms, option, words).items():
                if len(by_level) > 1:
                    group = {words[place]: arms[arm] for place, arm in by_level.items()}
                    groups.append((name, option, group))
    return tuple(filter(None, (_spread(*group, question.alpha / len(groups)) for group in groups)))


def _spread(name: str, option: str, group: Mapping[str, ScoredArm], alpha: float) -> WordingSpread | None:
    common = set.intersection(*(set(arm.cells) for arm in group.values()))
    if not common:
        return None
    keys = in_random_order(list(common), 0)
    outcomes: dict[str, Outcomes] = {
        word: [[OutcomeBounds.mean(arm.outcomes(key))] for key in keys] for word, arm in group.items()
    }
    rates = {word: float(np.mean([row[0].least for row in rows])) for word, rows in outcomes.items()}
    test = LossTest(1.0, None, alpha, math.comb(len(group), 2))
    ends = [test.sequence(differences(*pair)) for pair in combinations(outcomes.values(), 2)]
    best, worst = max(rates, key=rates.__getitem__), min(rates, key=rates.__getitem__)
    low = max(0.0, *(max(low, -high) for low, high in ends))
    high = max(max(-low, high) for low, high in ends)
    spread = rates[best] - rates[worst]
    return WordingSpread(name, option, len(group), len(keys), best, worst, spread, low, high)


def curves(
    arms: Sequence[ChosenArm],
    scored: Sequence[ScoredArm],
    declaration: Declaration,
    question: ComparisonOptions,
) -> tuple[Curve, ...]:
    """Return the curves of these arms: one for each option with several levels in a run, and each combination
    of what else tells its arms apart.
    """
    if declaration.success_metric is None:
        return ()
    by_place = {(arm.chosen.run.id, arm.chosen.arm.name): arm for arm in scored}
    begun: list[tuple[StoredRun, str, str, list[tuple[str, ScoredArm | None]]]] = []
    # Of an arm that stopped by its results, no rate would be fair.
    biased = {id(arm.chosen.arm) for arm in scored if arm.unplayed}
    for run in {arm.run.id: arm.run for arm in arms}.values():
        names = [arm.arm.name for arm in arms if arm.run.id == run.id and id(arm.arm) not in biased]
        for option, values in _levels(run.settings):
            for name, by_level in curves_of(names, option, values).items():
                levels = [
                    (level_name(value), by_place.get((run.id, by_level[place])))
                    for place, value in enumerate(values)
                    if place in by_level
                ]
                if sum(arm is not None for _, arm in levels) > 1 and levels[0][1] is not None:
                    begun.append((run, name, option, levels))
    size, alpha = question.loss / 100, question.alpha
    return tuple(
        _curve(*of_curve, declaration, BreakTest(len(of_curve[3]), size, alpha, len(begun)))
        for of_curve in begun
    )


def _levels(settings: JsonObject) -> Iterator[tuple[str, list[Any]]]:
    """Yield each option that a run had several numbers of, by name, with the numbers, the lowest first."""
    for name, option in TABLE.items():
        values = settings.get(name)
        if option.several and option.kind in (int, float) and isinstance(values, list) and len(values) > 1:
            yield name, sorted(values)


def _curve(
    run: StoredRun,
    name: str,
    option: str,
    levels: Sequence[tuple[str, ScoredArm | None]],
    declaration: Declaration,
    test: BreakTest,
) -> Curve:
    finished = [{key.name: arm.outcomes(key) for key in arm.cells} if arm else {} for _, arm in levels]
    order: list[str] = list(run.conversations)
    if not run.settings.get("sweep"):
        # Repeats are averaged, and conversations that all have finished come first, so that a gap in one
        # level does not end another.
        finished = [
            {name: [OutcomeBounds.mean(outcomes)] for name, outcomes in names.items()} for names in finished
        ]
        common = set.intersection(*(set(names) for names in finished if names))
        keys = {key.name: key for _, arm in levels if arm for key in arm.cells}
        shuffled = [key.name for key in in_random_order(list(keys.values()), 0)]
        order = sorted(shuffled, key=lambda name: name not in common)
    by_level: list[Outcomes] = [[names.get(name, []) for name in order] for names in finished]
    metric = declaration.success_metric
    assert metric is not None
    results: list[LevelResult] = []
    for (level, arm), played in zip(levels, by_level, strict=True):
        success, loss, lowest = Estimate(None, None, None), None, None
        if arm is not None:
            success = Tallied.of(arm.rows(list(arm.cells)), declaration).estimate(metric, test.alpha)
            both = differences(by_level[0], played)
            if results and both:
                loss = test.of_pair.evidence(both)
                lowest = float(np.mean([one.least for row in by_level[0][: len(both)] for one in row]))
        label = arm.chosen.label if arm else ""
        results.append(LevelResult(level, label, len(arm.cells) if arm else 0, success, loss, lowest))
    return Curve(name, option, test.size, test.alpha, tuple(results), test.located(by_level))
