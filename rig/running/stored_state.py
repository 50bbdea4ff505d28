"""What a run store holds of a current run, what exactly its arms are, and all that is written to it."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import reduce

from rig import __version__
from rig.config.options import of_plugins
from rig.core import opening
from rig.core.budget import parse_json
from rig.core.calls import JsonObject
from rig.core.errors import RigError, counted
from rig.core.events import ArmInfo, ConversationInfo, RunStarted, Speed, Where
from rig.core.meters import Costs
from rig.core.metrics import Counts, nothing_played, with_score
from rig.core.models import Model, Usage
from rig.core.tasks import PlayedTurn, Task
from rig.running.plan import Arm, Plan
from rig.store import OWN, Cell, FailedTurn, GraderInfo, Runs, RunWriter, StoredArm, StoredRun

_SPEED = tuple(part.name for part in fields(Speed))
_USAGE = tuple(part.name for part in fields(Usage))


@dataclass(slots=True)
class Totals:
    """What an arm has achieved so far."""

    counts: Counts = field(default_factory=dict)
    speed: Speed = field(default_factory=Speed)
    errors: Counter[str] = field(default_factory=Counter)

    def add(self, played: PlayedTurn, store_s: float, costs: Costs | None = None) -> None:
        """Count a turn's tokens, seconds and errors; `costs` are the arm's so far."""
        sums = {name: getattr(self.speed, name) for name in _SPEED}
        for step in played.steps:
            for name in _USAGE:
                sums[name] += getattr(step.prediction.usage, name)
        sums["steps"] += len(played.steps)
        sums["tools_s"] += played.tools_s
        sums["scoring_s"] += played.scoring_s
        sums["store_s"] += store_s
        sums["wall_s"] += played.wall_s + store_s
        is_measured = sums["cpu_s"] is not None and played.cpu_s is not None
        sums["cpu_s"] = sums["cpu_s"] + played.cpu_s if is_measured else None
        self.speed = Speed(**{**sums, **(asdict(costs) if costs else {})})
        self.errors.update(errors_of(played))

    def add_score(self, counts: Counts) -> None:
        """Count a finished conversation."""
        self.counts = with_score(self.counts, counts)


def errors_of(played: PlayedTurn) -> list[str]:
    """Return the kinds of the errors in a turn, each as often as it occurred."""
    return [str(step.prediction.error) for step in played.steps if step.prediction.error]


_GRADER = "grader."


class Changed(RigError):
    """The resumed run is not what was started."""


def _fingerprint_of(plan: Plan, arm: Arm, models: Mapping[str, Model]) -> JsonObject:
    """Return everything that can change an answer of an arm or its score, by flat names."""
    parts = {
        "model.": models[plan.method.roles[0]].fingerprint,
        **{f"role.{role}.": models[role].fingerprint for role in arm.others},
        "protocol.": arm.settings.fingerprint,
        _GRADER: plan.setup.grader.fingerprint,
    }
    # Models record the options of their engine themselves.
    others = {name: option for name, option in of_plugins().items() if option.reader != "engine"}
    own = ((option, arm.config.values(name)[0]) for name, option in others.items())
    changed = {option.place: value for option, value in own if option.is_recorded(value)}
    named = {f"{part}{name}": value for part, values in parts.items() for name, value in values.items()}
    fingerprint: JsonObject = parse_json(
        json.dumps({"rig": __version__, **plan.setup.fingerprint, **named, **changed})
    )
    return fingerprint


def _regraded(arm: StoredArm, plan: Plan) -> JsonObject | None:
    """Return an arm's fingerprint with the current grader; None if that is the one that scored it.

    Scores never change an answer, so another version may continue the run. Raises Changed for a grader of the
    same name and version that would score differently: nobody could tell their scores apart.
    """
    if arm.fingerprint is None or arm.grader is None:
        return None
    grading = {f"{_GRADER}{name}": value for name, value in plan.setup.grader.fingerprint.items()}
    now = parse_json(json.dumps({**_answering(arm.fingerprint), **grading}))
    if arm.grader == plan.grader:
        _require_equal(arm.name, arm.fingerprint, now)
        return None
    return dict(now)


def _answering(fingerprint: JsonObject) -> JsonObject:
    """Return the part of a fingerprint that can change an answer."""
    return {name: value for name, value in fingerprint.items() if not name.startswith(_GRADER)}


def _require_equal(arm: str, before: JsonObject, now: JsonObject) -> None:
    """Raise Changed if an arm is not what it was, naming what differs."""
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if names:
        changes = "; ".join(f"{name} was {before.get(name)!r}, is {now.get(name)!r}" for name in names)
        raise Changed(f"cannot resume {arm}: {changes}; make them equal or start a new run")


class StoredState:
    """A run as it is stored. It has no writer until there is something to store."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.grader: GraderInfo = plan.grader
        self.writer: RunWriter | None = None
        self.cells: dict[Where, Cell] = {}
        self._run: StoredRun | None = None
        self._again: dict[Where, FailedTurn] = {}
        self._totals: dict[int, Totals] = {}
        self._fingerprints: dict[int, JsonObject] = {}
        self._load_s: dict[int, float] = defaultdict(float)
        self._rescored: set[int] = set()

    def claim(self) -> None:
        """Take over a run begun earlier. Raises StoreError, and RigError if another process writes it."""
        self.writer = RunWriter.claim(self.plan.store, self.plan.run, self.grader)
        self.read()
        # A setup that remembers gets what was played earlier of each task.
        tasks = {task.name: task for task in self.plan.tasks}
        for where in self.cells if self.plan.setup.remembers else ():
            again = self._again.get(where)
            # It must not remember turns that failed and are played again.
            kept = [played for played in self.played(where) if again is None or played.turn < again.turn]
            self.plan.setup.remember(tasks[where.conversation], kept)

    def read(self) -> None:
        """Read what the store holds of the run."""
        with Runs.open(self.plan.store, OWN) as runs:
            self._run = runs.get(self.plan.run)
            self.cells = {
                Where(cell.arm, cell.conversation, cell.repeat): cell for cell in runs.cells(self._run)
            }
            self._again = runs.failed_turns(self._run) if self.plan.retry_failed else {}

    @property
    def started(self) -> RunStarted:
        """The event that the run starts with."""
        plan, run = self.plan, self._run
        fingerprints = [arm.fingerprint or {} for arm in run.arms] if run else [{} for _ in plan.arms]
        anew = sum(failed.turns for failed in self._again.values())
        return RunStarted(
            run=plan.run,
            store=str(plan.store),
            arms=tuple(map(ArmInfo, (arm.name for arm in plan.arms), fingerprints)),
            conversations=tuple(
                ConversationInfo(task.name, len(task.known_turns), task.ground_truth_count, task.known_turns)
                for task in plan.tasks
            ),
            repeats=plan.repeats,
            finished_turns=run.turns_done - anew if run else 0,
            finished_conversations=sum(map(self.is_finished, self.cells)),
            declaration=plan.declaration,
        )

    def is_finished(self, where: Where) -> bool:
        """Return whether nothing of a task is left to be played."""
        is_over = where in self.cells and self.cells[where].state == "finished"
        return is_over and where not in self._again

    def left(self, position: int) -> list[tuple[Where, Task]]:
        """Return what is left to be played of an arm."""
        return [
            (where, task)
            for repeat in range(self.plan.repeats)
            for task in self.plan.tasks
            if not self.is_finished(where := Where(position, task.name, repeat))
        ]

    def played(self, where: Where) -> list[PlayedTurn]:
        """Return the stored turns of a task, in order."""
        if where not in self.cells or not self.cells[where].turns_done:
            return []
        assert self._run is not None
        with Runs.open(self.plan.store, OWN) as runs:
            transcript = runs.transcript(self._run, where.conversation, where.arm, where.repeat)
        return list(transcript.turns.values())

    def failure(self, position: int) -> str | None:
        """Return why an arm failed before, if it is not to be tried again; else None."""
        return self._run.arms[position].failure if self._run and self.plan.retry_failed is False else None

    def totals(self, position: int) -> Totals:
        """Return what an arm has achieved so far."""
        if position not in self._totals:
            self._totals[position] = self._stored_totals(position)
        return self._totals[position]

    def _stored_totals(self, position: int) -> Totals:
        if self._run is None:
            return Totals(self._begun())
        arm = self._run.arms[position]
        return Totals(arm.counts or self._begun(), arm.speed, Counter(arm.errors))

    def _begun(self) -> Counts:
        """Return the counts of an arm before its first task."""
        plan = self.plan
        return (
            nothing_played(len(plan.tasks) * plan.repeats)
            if plan.schedule and plan.schedule.has_bounds
            else {}
        )

    def slots(self) -> int | None:
        """Return how many steps the arms predicted at once before the interruption; None if unknown."""
        stored = [arm.fingerprint or {} for arm in self._run.arms] if self._run else []
        return next((values["model.n_seq"] for values in stored if "model.n_seq" in values), None)

    def model_fingerprint(self, position: int) -> JsonObject | None:
        """Return the fingerprint of an arm's model when it was last loaded; None if it never was."""
        parts = (self._fingerprint(position) or {}).items()
        model = {name.removeprefix("model."): value for name, value in parts if name.startswith("model.")}
        return model or None

    def _fingerprint(self, position: int) -> JsonObject | None:
        stored = self._run.arms[position].fingerprint if self._run else None
        return self._fingerprints.get(position, stored)

    def is_ready(self, position: int) -> bool:
        """Return whether the arm was made ready in this process."""
        return position in self._fingerprints

    def ready(
        self, position: int, models: Mapping[str, Model], seconds: float, failures: Mapping[int, str]
    ) -> tuple[RunWriter, JsonObject]:
        """Store what exactly an arm is, and the run itself with the first arm that can be loaded.

        Raises Changed if a resumed arm is not what it was.
        """
        arm = self.plan.arms[position]
        fingerprint = _fingerprint_of(self.plan, arm, models)
        if (before := self._fingerprint(position)) is not None:
            _require_equal(arm.name, _answering(before), _answering(fingerprint))
        self._fingerprints[position] = fingerprint
        self._load_s[position] += seconds
        if self.writer is None:
            self.writer = RunWriter.create(self.plan.store, self.plan.as_new_run(), self.grader)
            opening.note_started(self.plan.run, self.plan.recipe)
            for failed, failure in failures.items():
                self.writer.note(failed, "failure", failure)
        self.writer.arm_ready(position, fingerprint, self._load_s[position])
        return self.writer, fingerprint

    def set_aside(self, position: int, writer: RunWriter) -> str | None:
        """Remove the turns of an arm that are to be played again, now that its model is loaded.

        Returns a note on that for people.
        """
        failed = {where: turn.turn for where, turn in self._again.items() if where.arm == position}
        if not failed:
            return None
        turns = sum(self._again[where].turns for where in failed)
        writer.set_aside(failed)
        self.read()
        totals, again = self.totals(position), self._stored_totals(position)
        totals.counts, totals.speed, totals.errors = again.counts, again.speed, again.errors
        what = f"{counted(turns, 'turn')} of {counted(len(failed), 'conversation')}"
        return f"{self.plan.arms[position].name}: playing {what} again"

    def rescore(self, position: int) -> str | None:
        """Score an arm's finished tasks again if another version of the grader scored them.

        These are tasks from an earlier start of the run. Returns a note on that for people.
        """
        arm = self._run.arms[position] if self._run else None
        fingerprint = _regraded(arm, self.plan) if arm else None
        if arm is None or arm.grader is None or fingerprint is None or position in self._rescored:
            return None
        self._rescored.add(position)
        settings = self.plan.arms[position].settings
        score, tasks = self.plan.setup.scored, {task.name: task for task in self.plan.tasks}
        scores = {
            where: score(tasks[where.conversation], self.played(where), settings)
            for where in self.cells
            if where.arm == position and self.is_finished(where)
        }
        assert self.writer is not None
        self.writer.rescore(position, fingerprint, scores)
        counts = (score.counts for score in scores.values())
        self.totals(position).counts = reduce(with_score, counts, self._begun())
        return (
            f"{arm.name}: what was finished is scored again by version {self.grader.grader_version} of the"
            f" grader; the scores by version {arm.grader.grader_version} stay beside"
        )

    def close(self) -> None:
        """Release the claim on the run."""
        if self.writer is not None:
            self.writer.close()
