"""Read stored runs. `rig show`, `rig runs` and the live views get their numbers here."""

import json
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from sqlite_utils import Database

from rig import methods
from rig.calls import JsonObject
from rig.episodes import PlayedTurn
from rig.errors import MACHINE, RigError
from rig.events import Speed, Where
from rig.meters import Costs
from rig.metrics import Declaration
from rig.store.attempts import ATTEMPTS, FAILED_TURNS
from rig.store.cells import ScoredCell, errors_of, scored_cells
from rig.store.connect import connect_for_reading, faults, intact, understood
from rig.store.holder import Holder
from rig.store.records import (
    ArmSums,
    Cell,
    FailedTurn,
    GraderInfo,
    StoredArm,
    StoredRun,
    StoredScore,
    Transcript,
)
from rig.store.rows import step_from_row
from rig.store.scores import (
    CLOCK,
    USAGE,
    Standing,
    TurnSpeed,
    counts_of,
    faults_of,
    graders_of,
    scores_of,
    speed_from,
    standing_of,
    standing_score,
    standing_scores,
    suite_scores_of,
    summed,
    turn_speed,
)
from rig.store.tasks import StoredTask
from rig.store.views import EXPORTED, create_temporary_views
from rig.tasks import Task
from rig.words import did_you_mean

LATEST = "latest"

_JUDGED = "match, bad_action, ground_truth_turn, ground_truth_call, reason, differences"
"""What a score says of a call."""

Row: TypeAlias = dict[str, Any]

_COSTS = [field.name for field in fields(Costs)]

_NO_ERRORS: Mapping[str, int] = {}

_NAMES = 1000
"""How many runs are looked at for one that was meant."""

_PLANNED = {
    "arm": "(SELECT position FROM arms WHERE arms.run = seen.run AND arms.name = seen.arm)",
    "repeat": "seen.repeat",
    "conversation": "(SELECT position FROM conversations"
    " WHERE conversations.run = seen.run AND conversations.name = seen.conversation)",
    "turn": "seen.turn",
    "step": "seen.step",
    "setting": "seen.setting",
}
"""How the rows of a view are put into the order in which the run was planned, by the columns it has."""

_ENDS = """
    SELECT role, predictions.error, count(*) AS n
    FROM predictions JOIN turns ON turns.id = predictions.turn WHERE arm = ? GROUP BY 1, 2 ORDER BY 2
"""
_TASK = "name, suite, source, known_turns, ground_truths"
_TURNS_DONE = "SELECT conversation, repeat, count(*) FROM turns WHERE arm = ? GROUP BY 1, 2"


class Runs:
    """The runs of one store, open for reading."""

    def __init__(self, database: Database, path: Path, graded_by: str = "") -> None:
        self._database = database
        self._graded_by = graded_by
        self._standings: dict[int, Standing] = {}
        self._tasks: dict[tuple[str, ...], Task] = {}
        self._has_views = False
        self.path = path

    @classmethod
    @contextmanager
    def open(cls, path: Path, graded_by: str = "") -> "Iterator[Runs]":
        """Open an existing store. Raises StoreError when there is none or it cannot be read.

        An arm's numbers are those that its run made, or the newest of the same rules with people's answers.
        `graded_by` chooses others: `own`, or a part of a grader's name.
        """
        with connect_for_reading(path) as database, understood(path), faults(path):
            yield cls(database, path, graded_by)

    def all(self) -> list[StoredRun]:
        """Every run, newest first."""
        return [self._run(row) for row in self._rows("SELECT * FROM runs ORDER BY created DESC, rowid DESC")]

    def ids(self) -> set[str]:
        """The ids of all runs."""
        return {row["id"] for row in self._rows("SELECT id FROM runs")}

    def get(self, text: str, *, sums: bool = True) -> StoredRun:
        """The run of this id, name or beginning of an id, or the `latest`. RigError unless it is one run.

        Without `sums`, nothing is added up for its arms, which takes seconds of a million turns.
        """
        newest = "ORDER BY created DESC, rowid DESC"
        if text == LATEST:
            rows = self._rows(f"SELECT * FROM runs {newest} LIMIT 1")
        else:
            rows = (
                self._rows("SELECT * FROM runs WHERE id = ?", text)
                or self._rows(f"SELECT * FROM runs WHERE name = ? {newest}", text)
                or self._rows(
                    f"SELECT * FROM runs WHERE ? != '' AND substr(id, 1, ?) = ? {newest}",
                    text,
                    len(text),
                    text,
                )
            )
        if len(rows) != 1:
            ids = ", ".join(row["id"] for row in rows[:5])
            stored = self._rows(f"SELECT id, name FROM runs {newest} LIMIT {_NAMES}")
            near = did_you_mean(text, [LATEST, *(name for row in stored for name in row.values() if name)])
            nothing = f"no run {text!r} in {self.path}{near}"
            fault = f"{text!r} could be any of {ids}" if rows else nothing
            raise RigError(f"{fault}; `rig runs` lists them")
        return self._run(rows[0], sums)

    def cells(self, run: StoredRun) -> list[Cell]:
        """Every conversation of every arm and repeat, in the order in which they are run."""
        return list(self.each_cell(run))

    def each_cell(self, run: StoredRun) -> Iterator[Cell]:
        """The same one by one, with no more than an arm in memory, as long as the store is open."""
        conversations = self._database.execute(
            "SELECT id, name, turns FROM conversations WHERE run = ? ORDER BY position", [run.id]
        ).fetchall()
        for arm in run.arms:
            of_arm = [self._arm_id(run, arm.position)]
            done = {tuple(key): n for *key, n in self._database.execute(_TURNS_DONE, of_arm)}
            scores = self._scores(of_arm[0])
            counts = counts_of(scores.values(), self._database)
            errors = errors_of(of_arm[0], self._database)
            for repeat in range(run.repeats):
                for conversation, name, turns in conversations:
                    key = conversation, repeat
                    yield Cell(
                        arm.position,
                        name,
                        repeat,
                        turns=turns,
                        turns_done=done.get(key, 0),
                        counts=counts[scores[key]] if key in scores else None,
                        errors=errors.get(key, _NO_ERRORS),
                    )

    def failed_turns(self, run: StoredRun) -> dict[Where, FailedTurn]:
        """The first turn of each conversation that failed by the machine, in a way that may have passed."""
        rows = self._rows(
            "SELECT failed.*, arms.position, conversations.name"
            f" FROM ({FAILED_TURNS}) AS failed JOIN arms ON arms.id = failed.arm"
            " JOIN conversations ON conversations.id = failed.conversation WHERE arms.run = ?1",
            run.id,
        )
        return {
            Where(row["position"], row["name"], row["repeat"]): FailedTurn(row["turn"], row["n"])
            for row in rows
        }

    def conversations(self, run: StoredRun) -> list[Task]:
        """The conversations of a run, as they were when it began."""
        rows = self._rows(f"SELECT {_TASK} FROM conversations WHERE run = ? ORDER BY position", run.id)
        return [self._task(run, row) for row in rows]

    def transcript(self, run: StoredRun, conversation: str, arm: int = 0, repeat: int = 0) -> Transcript:
        """What an arm did in a conversation. Raises RigError when the run has no such conversation."""
        conversations = self._rows(
            f"SELECT id, {_TASK} FROM conversations WHERE run = ? AND name = ?",
            run.id,
            conversation,
        )
        if not conversations:
            near = did_you_mean(conversation, run.conversations)
            raise RigError(
                f"run {run.id} has no conversation {conversation!r}{near}; `rig show {run.id}` lists them"
            )
        key = (self._arm_id(run, arm), conversations[0]["id"], repeat)
        rows = self._rows(
            "SELECT * FROM turns WHERE arm = ? AND conversation = ? AND repeat = ? ORDER BY turn", *key
        )
        steps: dict[int, list[Row]] = {row["id"]: [] for row in rows}
        for step in self._database.query(
            "SELECT predictions.* FROM predictions JOIN turns ON turns.id = predictions.turn"
            " WHERE arm = ? AND conversation = ? AND repeat = ? ORDER BY step",
            key,
        ):
            steps.setdefault(step["turn"], []).append(step)
        standing = self._standing(key[0])
        score = standing_score(key, standing, self._database) if standing else None
        if standing is not None and not standing.is_own:
            later = self._rows(f"SELECT prediction, {_JUDGED} FROM verdicts WHERE score = ?", score)
            judged = {row.pop("prediction"): row for row in later}
            for of_turn in steps.values():
                for step in of_turn:
                    step.update(judged.get(step["id"], {}))
        return Transcript(
            arm=run.arms[arm].name,
            repeat=repeat,
            conversation=self._task(run, conversations[0]),
            turns={row["turn"]: self._turn(row, steps[row["id"]]) for row in rows},
            counts=None if score is None else counts_of([score], self._database)[score],
            declaration=run.declaration,
            faults=() if score is None else faults_of(score, self._database),
        )

    def scores(self, run: StoredRun) -> list[StoredScore]:
        """What each grader makes of each arm, arm by arm, the run's own grader first."""
        return scores_of(run.id, self._database)

    def suite_scores(self, run: StoredRun) -> list[StoredScore]:
        """The same, but each suite's conversations by themselves, in the order in which they are run."""
        return suite_scores_of(run.id, self._database)

    def graders(self, run: StoredRun) -> list[tuple[int, GraderInfo]]:
        """Which graders scored each arm, by its position: arm by arm, the run's own grader first."""
        return graders_of(run.id, self._database)

    def scored_cells(
        self, run: StoredRun, grader: GraderInfo, arms: Collection[int] | None = None
    ) -> Iterator[ScoredCell]:
        """Every conversation that this grader has scored, arm by arm, repeat by repeat, in order.

        With `arms`, only those at these positions are read.
        """
        with intact(self.path):
            yield from scored_cells(run.id, grader, self._database, arms)

    def turn_speed(
        self, run: StoredRun, arm: int, grader: GraderInfo, conversations: Collection[str] | None = None
    ) -> TurnSpeed:
        """What the turns of the arm at this position took where this grader scored them.

        With `conversations`, only those of these names count.
        """
        with intact(self.path):
            return turn_speed(self._arm_id(run, arm), grader, conversations, self._database)

    def view(self, name: str, run: StoredRun) -> Iterator[dict[str, Any]]:
        """The rows of a run in one of the `EXPORTED_VIEWS`, in the order of the run, read one by one."""
        columns = self.view_columns(name)
        order = [term for column, term in _PLANNED.items() if column in columns]
        planned = f" ORDER BY {', '.join(order)}" if order else ""
        yield from self._database.query(f"SELECT * FROM {name} AS seen WHERE run = ?{planned}", [run.id])

    def view_columns(self, name: str) -> list[str]:
        """The names of a view's columns. The name must be one of the `EXPORTED_VIEWS`."""
        if name not in EXPORTED:
            raise ValueError(f"{name!r} is not an exported view")
        if not self._has_views:
            # What stands in the store under these names may be somebody else's, or an older rig's.
            with intact(self.path):
                self._database.execute("PRAGMA query_only = OFF")
                create_temporary_views(self._database)
                self._database.execute("PRAGMA query_only = ON")
            self._has_views = True
        return [row["name"] for row in self._rows("SELECT name FROM pragma_table_info(?)", name)]

    def _task(self, run: StoredRun, row: Row) -> Task:
        """A conversation of a run as its method reads it, or its stored view where the method is not here."""
        method = run.declaration.method
        key = method, row["source"], row["name"], row["suite"]
        if key not in self._tasks:
            sources = self._rows("SELECT json FROM sources WHERE sha256 = ?", row["source"])
            with intact(self.path):
                if not sources:
                    raise ValueError(f"the file of {row['name']} is not there")
                source = json.loads(sources[0]["json"])
                try:
                    task = methods.get(method).parse(source, row["name"], row["suite"])
                except RigError:
                    task = self._task_from_view(method, row, source)
                self._tasks[key] = task
        return self._tasks[key]

    def _task_from_view(self, method: str, row: Row, source: JsonObject) -> Task:
        query = "SELECT json FROM task_views WHERE source = ? AND method = ?"
        views = self._rows(query, row["source"], method)
        known_turns = json.loads(row["known_turns"])
        view = json.loads(views[0]["json"]) if views else {}
        return StoredTask.of({**row, "known_turns": known_turns}, source, view)

    def _turn(self, row: Row, steps: Iterable[Row]) -> PlayedTurn:
        with intact(self.path):
            played = tuple(step_from_row(step) for step in steps)
        return PlayedTurn(
            row["turn"],
            played,
            row["wall_s"],
            row["tools_s"],
            row["scoring_s"],
            row["cpu_s"],
        )

    def _run(self, row: Row, sums: bool = True) -> StoredRun:
        conversations = self._rows(
            "SELECT name, turns FROM conversations WHERE run = ? ORDER BY position", row["id"]
        )
        arms = self._rows("SELECT * FROM arms WHERE run = ? ORDER BY position", row["id"])
        done = self._rows(
            "SELECT count(*) AS n FROM turns JOIN arms ON arms.id = arm WHERE run = ?", row["id"]
        )
        with intact(self.path):
            if [arm["position"] for arm in arms] != [*range(len(arms))]:
                raise ValueError("the arms of a run are not numbered from 0")
            return self._stored(row, conversations, [self._arm(arm, sums) for arm in arms], done[0]["n"])

    def _stored(
        self, row: Row, conversations: Sequence[Row], arms: Sequence[StoredArm], turns_done: int
    ) -> StoredRun:
        return StoredRun(
            id=row["id"],
            name=row["name"],
            created=datetime.fromisoformat(row["created"]),
            finished=datetime.fromisoformat(row["finished"]) if row["finished"] else None,
            rig=row["rig"],
            settings=json.loads(row["settings"]),
            repeats=row["repeats"],
            conversations=tuple(conversation["name"] for conversation in conversations),
            turns=_total(conversation["turns"] for conversation in conversations)
            * len(arms)
            * row["repeats"],
            turns_done=turns_done,
            is_running=held_by(row, self.path) is not None,
            arms=tuple(arms),
            declaration=Declaration.from_json(json.loads(row["declaration"])),
        )

    def _arm(self, row: Row, sums: bool) -> StoredArm:
        work = self._work(row["id"], sums)
        failed, role, other = (work.pop(name) for name in ("failed", "role", "other"))
        # Where nothing failed and one role spoke, that is all there is to say of how steps ended.
        ends = (
            self._rows(_ENDS, row["id"])
            if failed or role != other
            else [{"role": role, "error": None, "n": work["steps"]}] * (role is not None)
        )
        errors: dict[str, int] = {}
        for end in ends:
            if end["error"] is not None:
                errors[end["error"]] = errors.get(end["error"], 0) + end["n"]
        standing = self._standing(row["id"])
        grader = standing.grader if standing else None
        costs = Costs(**{name: row[name] for name in _COSTS})
        return StoredArm(
            position=row["position"],
            name=row["name"],
            fingerprint=json.loads(row["fingerprint"]) if row["fingerprint"] else None,
            failure=row["failure"],
            decided=row["decided"],
            load_s=row["load_s"],
            costs=costs,
            errors=errors,
            sums=self._sums(row, grader, self._speed(row, work, costs)) if sums else None,
            grader=grader,
            not_evaluated=_never_answered(ends),
            attempts={row["error"]: row["n"] for row in self._rows(ATTEMPTS, row["id"])},
        )

    def _work(self, arm: int, sums: bool) -> Row:
        """How the steps of an arm ended and, if wanted, what they add up to."""
        added = f", {USAGE}" if sums else ""
        [work] = self._rows(
            "SELECT count(*) AS steps, count(predictions.error) AS failed, min(role) AS role,"
            f" max(role) AS other{added}"
            " FROM predictions JOIN turns ON turns.id = predictions.turn WHERE arm = ?",
            arm,
        )
        return work

    def _sums(self, arm: Row, grader: GraderInfo | None, speed: Speed) -> ArmSums:
        if grader is None:
            return ArmSums({}, speed)
        scores = list(self._scores(arm["id"]).values())
        own = summed(arm["position"], grader, scores, self._database)
        return ArmSums(own.counts, speed, own.error_types, own.faults)

    def _speed(self, arm: Row, work: Row, costs: Costs) -> Speed:
        [clock] = self._rows(f"SELECT {CLOCK} FROM turns WHERE arm = ?", arm["id"])
        clock["wall_s"] += arm["store_s"]
        return replace(speed_from(work, clock), **asdict(costs), store_s=arm["store_s"])

    def _standing(self, arm: int) -> Standing | None:
        if arm not in self._standings:
            standing = standing_of(arm, self._graded_by, self._database)
            if standing is None:
                return None
            self._standings[arm] = standing
        return self._standings[arm]

    def _scores(self, arm: int) -> dict[tuple[int, int], int]:
        """The ids of the scores of an arm that are shown, by the conversation's id and the repeat."""
        standing = self._standing(arm)
        return standing_scores(arm, standing, self._database) if standing else {}

    def _arm_id(self, run: StoredRun, position: int) -> int:
        row = self._rows("SELECT id FROM arms WHERE run = ? AND position = ?", run.id, position)[0]
        arm: int = row["id"]
        return arm

    def _rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        return list(self._database.query(query, values))


def _total(turns: Iterable[int]) -> int:
    """How many there are in all; 0 as soon as one number is not known."""
    numbers = list(turns)
    return sum(numbers) if all(numbers) else 0


def _never_answered(ends: Iterable[dict[str, Any]]) -> str | None:
    """Which failures of the machine kept a role from ever answering, from how its steps ended."""
    by_role: dict[str, dict[str | None, int]] = {}
    for end in ends:
        by_role.setdefault(end["role"], {})[end["error"]] = end["n"]
    for role, kinds in by_role.items():
        if kinds.keys() <= MACHINE:
            failures = ", ".join(f"{kind} {count}" for kind, count in kinds.items())
            return f"the {role} could never answer: {failures}"
    return None


def held_by(run: dict[str, Any], store: Path) -> Holder | None:
    """The live process that is writing a run of a store, from its row."""
    if run["writer"] is None:
        return None
    holder = Holder.from_text(run["writer"])
    heartbeat = datetime.fromisoformat(run["heartbeat"])
    return holder if holder.is_writing(store, run["id"], heartbeat) else None


def check_unheld(database: Database, run: str, store: Path) -> None:
    """Raises RigError if a run is not in its store any more, or a live process is writing it."""
    row = next(database.query("SELECT * FROM runs WHERE id = ?", [run]), None)
    if row is None:
        raise RigError(f"run {run} is not in {store} any more")
    if holder := held_by(row, store):
        raise RigError(
            f"run {run} is being written by process {holder.pid} on {holder.host}; "
            "stop it first, or wait for it"
        )


_LETTERS = "23456789bcdfghjkmnpqrstvwxz"
_LENGTH = 5


def new_run_id(path: Path) -> str:
    """An id that no run in this store has; the store need not exist yet."""
    ids: set[str] = set()
    if path.is_file() and path.stat().st_size:
        with Runs.open(path) as runs:
            ids = runs.ids()
    while True:
        candidate = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
        if candidate not in ids:
            return candidate
