"""Arms of many runs: ranked on a suite, the history of a model file, and the tables of a paper."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import combinations
from math import sqrt
from statistics import fmean
from typing import NamedTuple

from rig.compare.arms import ChosenArm, ConversationKey, common_declaration
from rig.compare.leaks import leaks_of
from rig.compare.settings import ArmSettings, factors
from rig.core.calls import JsonObject
from rig.core.errors import RigError, counted
from rig.core.metrics import UNCLEAR, UNPLAYED, Counts, Declaration, Metric, if_right, total
from rig.plugins.papers.grids import Standing
from rig.stats import Estimate, estimates
from rig.store import GraderInfo, Runs, StoredArm, StoredRun

PARTS = ("only", "limit", "without")
"""The options that choose a part of a suite."""


class RankedArm(NamedTuple):
    """One arm on the leaderboard of a suite. `differs` are the settings in which it differs from the best.

    `tasks` are all that it has finished, `planned` is how many its run has, and `leaks` are those that its
    model's file was calibrated on. `counts` are by task, one for each repeat, and `rates` follow from them.
    """

    run: StoredRun
    arm: StoredArm
    suite: str
    tasks: frozenset[ConversationKey]
    counts: Mapping[ConversationKey, Sequence[Counts]]
    planned: int
    leaks: Sequence[str]
    rates: Mapping[str, Estimate] = {}
    differs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The address of the arm, RUN/ARM."""
        return f"{self.run.id}/{self.arm.name}"

    @property
    def obstacle(self) -> str:
        """Why its rates say nothing about the model; empty if they do."""
        if self.arm.not_evaluated:
            return self.arm.not_evaluated
        return "results chose what it played" if UNPLAYED in self.arm.counts else ""

    @property
    def is_whole(self) -> bool:
        """Whether it is a model that has played all of the suite."""
        settings = self.run.settings
        is_part = any(settings.get(name) for name in PARTS) or len(self.tasks) < self.planned
        return not is_part and (self.arm.fingerprint or {}).get("model.engine") != "oracle"

    def as_json(self) -> JsonObject:
        """Return everything by name."""
        return {
            "run": self.run.id,
            "arm": self.arm.name,
            "tasks": len(self.tasks),
            "planned": self.planned,
            "rates": {name: estimate.as_json() for name, estimate in self.rates.items()},
            "settings": list(self.differs),
            "leaks": list(self.leaks),
            "grader": self.arm.grader.as_json() if self.arm.grader else None,
            "caution": self.run.declaration.caution,
        }


class Leaderboard(NamedTuple):
    """A leaderboard of one method on one suite, the best arm first.

    `tasks` are those that all arms have played, `left_out` says which arms have no rates and why.
    """

    method: str
    suite: str
    declaration: Declaration
    places: Sequence[RankedArm]
    tasks: frozenset[ConversationKey]
    left_out: Sequence[str] = ()

    @property
    def metrics(self) -> Sequence[Metric]:
        """The metrics in the columns of the leaderboard."""
        return self.declaration.shown("meters")

    @property
    def deciding_texts(self) -> int:
        """The number of unclear texts if the order of two arms depends on them, else 0."""
        metric = deciding_metric(self.declaration)
        cells = [cell for place in self.places for cell in place.counts.values()]
        texts = sum(counts.get(UNCLEAR, 0) for cell in cells for counts in cell)
        # As in the rates, a task weighs the same however often it was played.
        sums = [
            total(
                {name: count / len(cell) for name, count in counts.items()}
                for cell in place.counts.values()
                for counts in cell
            )
            for place in self.places
        ]
        ends = [
            sorted(
                round(metric.worsening(metric.rate(side) or 0.0), 9) for side in (counts, if_right(counts))
            )
            for counts in sums
        ]
        is_open = any(
            below[0] <= above[1] and len({*above, *below}) > 1 for above, below in combinations(ends, 2)
        )
        return int(texts) if is_open else 0

    @property
    def graders(self) -> Sequence[GraderInfo]:
        """The graders of the rates, the best arm's first. Only rates by the same rules can be compared."""
        return list(dict.fromkeys(place.arm.grader for place in self.places if place.arm.grader))

    def as_json(self) -> JsonObject:
        """Return everything by name."""
        return {
            "method": self.method,
            "suite": self.suite,
            "common_tasks": len(self.tasks),
            "arms": [place.as_json() for place in self.places],
            "left_out": list(self.left_out),
        }


def deciding_metric(declaration: Declaration) -> Metric:
    """Return the metric that ranks arms: success, or the first metric if none is declared."""
    return declaration.success_metric or declaration.metrics[0]


def leaderboard(
    runs: Runs, suite: str | None = None, method: str | None = None, *, every: bool = False
) -> Leaderboard:
    """Return the leaderboard of a suite, by default of the latest run. Raises RigError if there is none.

    Arms that are no model, or that played only a part of their suite, would reduce everyone's rates to what
    all have in common. They are ranked only with `every`, or if there are no others. Arms that stopped by
    their results are never ranked.
    """
    arms: list[RankedArm] = []
    for run in runs.all():
        if method is not None and run.declaration.method != method:
            continue
        places = list(_places(runs, run, suite))
        if places:
            method, suite = run.declaration.method, places[0].suite
        arms += places
    reasons = {arm.name: arm.obstacle for arm in arms if arm.obstacle}
    left_out = [f"{name} is left out: {why}" for name, why in reasons.items()]
    arms = [arm for arm in arms if arm.name not in reasons]
    whole = [arm for arm in arms if arm.is_whole]
    if whole and not every and len(whole) < len(arms):
        left = counted(len(arms) - len(whole), "arm")
        left_out.append(f"{left} left out: oracles, and parts of suites; --all ranks them, too")
        arms = whole
    if not arms:
        which = f"{suite or 'any suite'}{f' by the method {method}' if method else ''}"
        why = f" ({left_out[0]})" if left_out else ""
        raise RigError(f"no run has finished a task of {which}{why}; `rig runs` lists them")
    declaration = common_declaration([ChosenArm(arm.name, arm.run, arm.arm) for arm in arms])
    metric = deciding_metric(declaration)
    kept: list[RankedArm] = []
    common: frozenset[ConversationKey] = frozenset()
    for place in sorted(arms, key=lambda place: -len(place.tasks)):
        if kept and not common & place.tasks:
            left_out.append(f"{place.name} is left out: it has no task in common with the others")
            continue
        common = common & place.tasks if kept else place.tasks
        kept.append(place)
    ranked = [_over(place, common) for place in arms if place in kept]
    ordered = sorted(ranked, key=lambda place: metric.worsening(place.rates[metric.name].value or 0.0))
    told_apart = []
    for place in ordered:
        was, now = (
            ArmSettings(side.arm.fingerprint or {}, side.run.settings) for side in (ordered[0], place)
        )
        differs = [*map(str, factors(was, now))]
        if place.arm.grader != ordered[0].arm.grader:
            differs.append(f"grader ({ordered[0].arm.grader} -> {place.arm.grader})")
        told_apart.append(place._replace(differs=tuple(differs)))
    return Leaderboard(method or "", suite or "", declaration, told_apart, common, left_out)


def _places(runs: Runs, run: StoredRun, suite: str | None) -> list[RankedArm]:
    """Return the arms of a run that have finished tasks of a suite, by default of the run's first suite."""
    tasks = runs.conversations(run)
    name = suite if suite is not None else next((task.suite for task in tasks), "")
    keys = {
        task.name: ConversationKey(
            task.name, sha256(json.dumps(task.source, sort_keys=True).encode()).hexdigest()
        )
        for task in tasks
        if task.suite == name
    }
    by_arm: dict[int, dict[ConversationKey, list[Counts]]] = {}
    for cell in runs.each_cell(run):
        if cell.counts is not None and cell.conversation in keys:
            by_task = by_arm.setdefault(cell.arm, {})
            by_task.setdefault(keys[cell.conversation], []).append(cell.counts)
    places = []
    for position, by_task in by_arm.items():
        arm = run.arms[position]
        leaks = leaks_of(arm.fingerprint, [task for task in tasks if keys.get(task.name) in by_task])
        places.append(RankedArm(run, arm, name, frozenset(by_task), by_task, len(keys), leaks))
    return places


def _over(place: RankedArm, common: frozenset[ConversationKey]) -> RankedArm:
    """Return the arm with its results on these tasks alone; `tasks` stay all that it has finished."""
    by_task = {key: cell for key, cell in place.counts.items() if key in common}
    rows = [(key.name, counts) for key, cell in by_task.items() for counts in cell]
    leaks = [name for name in place.leaks if any(key.name == name for key in common)]
    return place._replace(rates=estimates(rows, place.run.declaration), counts=by_task, leaks=leaks)


def standing(name: str, scores: Mapping[str, Sequence[float]]) -> Standing:
    """Return a row from the score of each query, by test set; overall, all queries weigh the same."""
    pooled = [score for of_set in scores.values() for score in of_set]
    by_set = {}
    for test_set, of_set in [*scores.items(), ("", pooled)]:
        # The mean, and the population's standard deviation divided by the root of the number.
        mean = sum(of_set) / len(of_set)
        variance = sum((score - mean) ** 2 for score in of_set) / len(of_set)
        by_set[test_set] = mean, sqrt(variance / len(of_set))
    return Standing(name, *by_set.pop(""), by_set)


def standings(board: Leaderboard) -> list[Standing]:
    """Return the rows of a board: by wins and half the ties if there are ties, else by successes.

    A query that was answered several times scores the mean.
    """
    names = {metric.name: metric for metric in board.declaration.metrics}
    name = (names.get("win_half") or deciding_metric(board.declaration)).numerator
    rows = []
    for place in board.places:
        scores = [fmean(count.get(name, 0) for count in counts) for counts in place.counts.values()]
        rows.append(standing(place.arm.name, {place.suite: scores}))
    return rows
