"""A leaderboard: the arms of all runs on a suite, by their method's metrics.

Arms are ordered by their share of successes. The differences between their settings and graders are named,
because those can make the difference. Arms that did not play the same tasks are marked.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rig.calls import JsonObject
from rig.compare.settings import Settings, factors
from rig.errors import RigError
from rig.metrics import Counts, Declaration, Metric
from rig.rates import Estimate, estimates
from rig.store import Runs, StoredArm, StoredRun

ALPHA = 0.05


class Place(NamedTuple):
    """One arm on the board. `differs` are settings that the best has otherwise.

    `suites` has its counts by suite and task, one for each repeat.
    """

    run: StoredRun
    arm: StoredArm
    tasks: frozenset[str]
    rates: Mapping[str, Estimate]
    suites: Mapping[str, Mapping[str, Sequence[Counts]]]
    differs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The arm, with its run."""
        return f"{self.run.id}/{self.arm.name}"

    def as_json(self) -> JsonObject:
        """All of it by name."""
        return {
            "run": self.run.id,
            "arm": self.arm.name,
            "tasks": len(self.tasks),
            "rates": {name: each.as_json() for name, each in self.rates.items()},
            "settings": list(self.differs),
            "grader": self.arm.grader.as_json() if self.arm.grader else None,
            "caution": self.run.declaration.caution,
        }


class Board(NamedTuple):
    """A leaderboard of one method on one suite, the best arm first.

    `tasks` are what all have played, `left_out` says which arms have no rates and why.
    """

    method: str
    suite: str
    declaration: Declaration
    places: Sequence[Place]
    tasks: frozenset[str]
    left_out: Sequence[str] = ()

    @property
    def metrics(self) -> Sequence[Metric]:
        """What is shown of an arm."""
        return self.declaration.shown("meters")

    @property
    def graders(self) -> Sequence[str]:
        """Whose scores the rates are made of, the best arm's first. Those of several cannot be compared."""
        return list(dict.fromkeys(str(place.arm.grader) for place in self.places))

    def as_json(self) -> JsonObject:
        """All of it by name."""
        places = [place.as_json() for place in self.places]
        return {
            "method": self.method,
            "suite": self.suite,
            "common_tasks": len(self.tasks),
            "arms": places,
            "left_out": list(self.left_out),
        }


def board(runs: Runs, suite: str | None = None, method: str | None = None) -> Board:
    """The leaderboard of a suite, by default that of the latest run. Raises RigError if there is none."""
    found: list[Place] = []
    for run in runs.all():
        if method is not None and run.declaration.method != method:
            continue
        places = list(_places(runs, run, suite))
        if places and method is None:
            method = run.declaration.method
        if places and suite is None:
            suite = next(iter(places[0].suites))
            places = list(_places(runs, run, suite))
        found += places
    left_out = [
        f"{each.name} is left out: {each.arm.not_evaluated}" for each in found if each.arm.not_evaluated
    ]
    found = [each for each in found if not each.arm.not_evaluated]
    if not found:
        why = f" ({left_out[0]})" if left_out else ""
        raise RigError(f"no run has finished a task of {suite or 'any suite'}{why}; `rig runs` lists them")
    declaration = found[0].run.declaration
    metric = declaration.success_metric or declaration.metrics[0]
    ordered = sorted(found, key=lambda place: -(place.rates[metric.name].value or 0))
    common = frozenset.intersection(*(place.tasks for place in ordered))
    return Board(method or "", suite or "", declaration, _told_apart(ordered), common, left_out)


def _places(runs: Runs, run: StoredRun, suite: str | None) -> list[Place]:
    """The arms of a run that have finished tasks of a suite, or of the first suite that it has."""
    suites = {task.name: task.suite for task in runs.conversations(run)}
    wanted = suite if suite is not None else next(iter(suites.values()), "")
    rows: dict[int, list[tuple[str, Counts]]] = {}
    for cell in runs.each_cell(run):
        if cell.counts is not None and suites.get(cell.conversation) == wanted:
            rows.setdefault(cell.arm, []).append((cell.conversation, cell.counts))
    return [_place(run, run.arms[arm], wanted, counted) for arm, counted in rows.items()]


def _place(run: StoredRun, arm: StoredArm, suite: str, counted: Sequence[tuple[str, Counts]]) -> Place:
    by_task: dict[str, list[Counts]] = {}
    for name, counts in counted:
        by_task.setdefault(name, []).append(counts)
    return Place(run, arm, frozenset(by_task), estimates(counted, run.declaration, ALPHA), {suite: by_task})


def _told_apart(places: Sequence[Place]) -> list[Place]:
    """The arms, each with the settings in which it differs from the best."""
    return [place._replace(differs=tuple(_differences(places[0], place))) for place in places]


def _differences(best: Place, place: Place) -> Iterator[str]:
    was, now = (Settings(each.arm.fingerprint or {}, each.run.settings) for each in (best, place))
    yield from map(str, factors(was, now))
    if place.arm.grader != best.arm.grader:
        yield f"grader ({best.arm.grader} -> {place.arm.grader})"
