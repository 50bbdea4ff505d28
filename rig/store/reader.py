"""Read stored runs: `rig show`, `rig runs` and the live views get their numbers here."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from warnings import warn

from rig.config.limits import by_option, cut_answers
from rig.core.budget import parse_json
from rig.core.calls import Json, JsonObject
from rig.core.errors import MACHINE, PASSING, RigError, RigWarning, did_you_mean
from rig.core.meters import Costs
from rig.core.metrics import Declaration
from rig.core.sqlite_import import Database
from rig.core.tasks import PlayedTurn, Task
from rig.store.connect import connect_for_reading, faults, intact, understood
from rig.store.holder import held_by
from rig.store.records import ArmSums, Cell, FailedTurn, StoredArm, StoredRun, Transcript
from rig.store.rows import StoredTask, fault_from_row, step_from_row
from rig.store.scores import ANSWERS, CLOCK, NOTHING, USAGE, ScoreReader, speed_from
from rig.store.views import EXPORTED, create_temporary_views

if TYPE_CHECKING:
    from rig.core.events import Where

LATEST = "latest"

Row: TypeAlias = dict[str, Any]

_ID = re.compile(r"[\w-]{1,40}", re.ASCII)
MOST_CELLS = 5_000_000
"""The most conversations times arms times repeats of a run."""

_NAMES = 1000
"""The most recent runs whose names are compared with one that was not found."""

_PLANNED = {
    "arm": "(SELECT position FROM arms WHERE arms.run = seen.run AND arms.name = seen.arm)",
    "repeat": "seen.repeat",
    "conversation": "(SELECT position FROM conversations"
    " WHERE conversations.run = seen.run AND conversations.name = seen.conversation)",
    "turn": "seen.turn",
    "step": "seen.step",
    "setting": "seen.setting",
}
"""SQL terms, by column, that put the rows of a view into the order in which the run was planned."""

_ENDS = """
    SELECT role, predictions.error, count(*) AS n
    FROM predictions JOIN turns ON turns.id = predictions.turn WHERE arm = ? GROUP BY 1, 2 ORDER BY 2
"""
_ATTEMPTS = (
    "SELECT error, count(*) AS n FROM attempts WHERE arm = ? AND error IS NOT NULL GROUP BY 1 ORDER BY 1"
)
_CONVERSATIONS = "SELECT id, name, turns FROM conversations WHERE run = ? ORDER BY position"
_TASK = "id, name, suite, source, known_turns, ground_truths"
_TURNS_DONE = "SELECT conversation, repeat, count(*) FROM turns WHERE arm = ? GROUP BY 1, 2"

_PASSING = tuple(sorted(map(str, PASSING)))
_FAILED_TURNS = f"""
    WITH failed AS (
        SELECT arm, conversation, repeat, min(turns.turn) AS first
        FROM predictions JOIN turns ON turns.id = predictions.turn
        WHERE predictions.error IN {_PASSING} AND arm IN (SELECT id FROM arms WHERE run = ?1)
        GROUP BY 1, 2, 3
    )
    SELECT arm, conversation, repeat, first AS turn, count(*) AS n
    FROM failed JOIN turns USING (arm, conversation, repeat) WHERE turns.turn >= first GROUP BY 1, 2, 3
"""
"""Selects a run's first such turn of each conversation, and how many turns are replayed from there."""


class Runs(ScoreReader):
    """The runs of one store, open for reading."""

    def __init__(self, database: Database, path: Path, graded_by: str = "") -> None:
        super().__init__(database, path, graded_by)
        self._tasks: dict[tuple[str, ...], Task] = {}
        self._has_views = False

    @classmethod
    @contextmanager
    def open(cls, path: Path, graded_by: str = "") -> Iterator[Runs]:
        """Open an existing store. Raises StoreError if it does not exist or cannot be read.

        An arm's scores are those that its run made, or the newest by the same rules with people's answers.
        `graded_by` chooses others: `own`, or a part of a grader's name.
        """
        with connect_for_reading(path) as database, understood(path), faults(path):
            yield cls(database, path, graded_by)

    def all(self) -> list[StoredRun]:
        """Return every run, newest first."""
        return [self._run(row) for row in self._rows("SELECT * FROM runs ORDER BY created DESC, rowid DESC")]

    def ids(self) -> set[str]:
        """Return the ids of all runs."""
        return {row["id"] for row in self._rows("SELECT id FROM runs")}

    def get(self, text: str, *, sums: bool = True) -> StoredRun:
        """Return the run with this id, name or beginning of an id, or the `latest`. RigError unless it is one
        run. Of several with the name it is the newest, and a RigWarning says which.

        Without `sums`, nothing is added up for its arms, which would take seconds for a million turns.
        """
        newest = "ORDER BY created DESC, rowid DESC"
        if text == LATEST:
            rows = self._rows(f"SELECT * FROM runs {newest} LIMIT 1")
        else:
            beginning = f"SELECT * FROM runs WHERE ?1 != '' AND substr(id, 1, length(?1)) = ?1 {newest}"
            rows = self._rows("SELECT * FROM runs WHERE id = ?", text)
            if not rows and (rows := self._rows(f"SELECT * FROM runs WHERE name = ? {newest}", text))[1:]:
                others = "another" if len(rows) == 2 else f"{len(rows) - 1} others"
                told = f"{text} is the name of {others}, too; this is the newest, run {rows[0]['id']}"
                warn(told, RigWarning, stacklevel=2)
                rows = rows[:1]
            rows = rows or self._rows(beginning, text)
        if len(rows) != 1:
            ids = ", ".join(row["id"] for row in rows[:5])
            stored = self._rows(f"SELECT id, name FROM runs {newest} LIMIT {_NAMES}")
            if not stored:
                raise RigError(
                    f"no run {text!r} in {self.path}, which holds none yet; `rig run` adds one,"
                    " --runs chooses another store"
                )
            near = did_you_mean(text, [LATEST, *(name for row in stored for name in row.values() if name)])
            nothing = f"no run {text!r} in {self.path}{near}"
            fault = f"{text!r} could be any of {ids}" if rows else nothing
            raise RigError(f"{fault}; `rig runs` lists them")
        return self._run(rows[0], sums)

    def cells(self, run: StoredRun) -> list[Cell]:
        """Return every conversation of every arm and repeat, in the order in which they are run."""
        return list(self.each_cell(run))

    def each_cell(self, run: StoredRun) -> Iterator[Cell]:
        """Yield what `cells` returns, with one arm in memory at a time. The store has to stay open."""
        conversations = self._rows(_CONVERSATIONS, run.id)
        for arm in run.arms:
            arm_id = self._arm_id(run, arm.position)
            done = {tuple(key): n for *key, n in self._database.execute(_TURNS_DONE, [arm_id])}
            scores = self._shown(arm_id)
            counts = self._counts(scores.values())
            errors = self._errors(arm_id)
            for repeat in range(run.repeats):
                for conversation in conversations:
                    key = conversation["id"], repeat
                    yield Cell(
                        arm.position,
                        conversation["name"],
                        repeat,
                        turns=conversation["turns"],
                        turns_done=done.get(key, 0),
                        counts=counts[scores[key]] if key in scores else None,
                        errors=errors.get(key, NOTHING),
                    )

    def failed_turns(self, run: StoredRun) -> dict[Where, FailedTurn]:
        """Return each conversation's first turn that the machine failed, in a way that may have passed."""
        from rig.core.events import Where

        rows = self._rows(
            "SELECT failed.*, arms.position, conversations.name"
            f" FROM ({_FAILED_TURNS}) AS failed JOIN arms ON arms.id = failed.arm"
            " JOIN conversations ON conversations.id = failed.conversation WHERE arms.run = ?1",
            run.id,
        )
        return {
            Where(row["position"], row["name"], row["repeat"]): FailedTurn(row["turn"], row["n"])
            for row in rows
        }

    def conversations(self, run: StoredRun) -> list[Task]:
        """Return the conversations of a run, as they were when it began."""
        rows = self._rows(f"SELECT {_TASK} FROM conversations WHERE run = ? ORDER BY position", run.id)
        return [self._task(run, row) for row in rows]

    def transcript(self, run: StoredRun, conversation: str, arm: int = 0, repeat: int = 0) -> Transcript:
        """Return what an arm did in a conversation. Raises RigError if the run has no such conversation."""
        query = f"SELECT {_TASK} FROM conversations WHERE run = ? AND name = ?"
        conversations = self._rows(query, run.id, conversation)
        if not conversations:
            near = did_you_mean(conversation, run.conversations)
            raise RigError(
                f"run {run.id} has no conversation {conversation!r}{near}; `rig show {run.id}` lists them"
            )
        arm_id, cell = self._arm_id(run, arm), (conversations[0]["id"], repeat)
        of_cell = "WHERE arm = ? AND conversation = ? AND repeat = ?"
        rows = self._rows(f"SELECT * FROM turns {of_cell} ORDER BY turn", arm_id, *cell)
        steps: dict[int, list[Row]] = {row["id"]: [] for row in rows}
        for step in self._rows(
            "SELECT predictions.* FROM predictions JOIN turns ON turns.id = predictions.turn"
            f" {of_cell} ORDER BY step",
            arm_id,
            *cell,
        ):
            steps.setdefault(step["turn"], []).append(step)
        standing, score = self._standing(arm_id), self._shown(arm_id, cell).get(cell)
        if standing is not None and not standing.is_own:
            judged = {
                row.pop("prediction"): row
                for row in self._rows("SELECT * FROM verdicts WHERE score = ?", score)
            }
            for of_turn in steps.values():
                for step in of_turn:
                    step.update(judged.get(step["id"], {}))
        of_score = self._rows("SELECT * FROM faults WHERE score = ? ORDER BY id", score)
        return Transcript(
            arm=run.arms[arm].name,
            repeat=repeat,
            conversation=self._task(run, conversations[0]),
            turns={row["turn"]: self._turn(row, steps[row["id"]]) for row in rows},
            counts=None if score is None else self._counts([score])[score],
            declaration=run.declaration,
            faults=tuple(map(fault_from_row, of_score)),
        )

    def transcripts(
        self, run: StoredRun, states: Collection[str] = ("finished",), arm: int | None = None
    ) -> Iterator[tuple[Where, Transcript]]:
        """Yield what all arms of a run, or the one at a position, did in conversations in these states."""
        from rig.core.events import Where

        for cell in self.each_cell(run):
            if cell.state in states and arm in (None, cell.arm):
                transcript = self.transcript(run, cell.conversation, cell.arm, cell.repeat)
                yield Where(cell.arm, cell.conversation, cell.repeat), transcript

    def view(self, name: str, run: StoredRun) -> Iterator[dict[str, Any]]:
        """Yield the rows of a run in one of the `EXPORTED_VIEWS`, in the order of the run."""
        columns = self.view_columns(name)
        order = [term for column, term in _PLANNED.items() if column in columns]
        planned = f" ORDER BY {', '.join(order)}" if order else ""
        yield from self._database.query(f"SELECT * FROM {name} AS seen WHERE run = ?{planned}", [run.id])

    def view_columns(self, name: str) -> list[str]:
        """Return the names of a view's columns. Raises RigError unless it is an exported view."""
        if name not in EXPORTED:
            views = ", ".join(EXPORTED)
            raise RigError(f"no view {name!r}{did_you_mean(name, EXPORTED)}; choose from: {views}")
        if not self._has_views:
            # What stands in the store under these names may be somebody else's.
            with intact(self.path):
                self._database.execute("PRAGMA query_only = OFF")
                create_temporary_views(self._database)
                self._database.execute("PRAGMA query_only = ON")
            self._has_views = True
        return [row["name"] for row in self._rows("SELECT name FROM pragma_table_info(?)", name)]

    def _task(self, run: StoredRun, row: Row) -> Task:
        """Return a conversation as its method reads it, or its stored view if the method is not available."""
        from rig import methods

        method = run.declaration.method
        key = method, row["source"], row["name"], row["suite"]
        if key not in self._tasks:
            sources = self._rows("SELECT json FROM sources WHERE sha256 = ?", row["source"])
            with intact(self.path):
                if not sources:
                    raise ValueError(f"the file of {row['name']} is not there")
                source = parse_json(sources[0]["json"])
                try:
                    self._tasks[key] = methods.get(method).parse(source, row["name"], row["suite"])
                except RigError:
                    query = "SELECT json FROM task_views WHERE source = ? AND method = ?"
                    views = self._rows(query, row["source"], method)
                    known_turns = parse_json(row["known_turns"])
                    view = parse_json(views[0]["json"]) if views else {}
                    self._tasks[key] = StoredTask.of({**row, "known_turns": known_turns}, source, view)
        return self._tasks[key]

    def _turn(self, row: Row, steps: Iterable[Row]) -> PlayedTurn:
        with intact(self.path):
            played = tuple(map(step_from_row, steps))
        return PlayedTurn(row["turn"], played, row["wall_s"], row["tools_s"], row["scoring_s"], row["cpu_s"])

    def _run(self, row: Row, sums: bool = True) -> StoredRun:
        run = row["id"]
        conversations = self._rows(_CONVERSATIONS, run)
        arms = self._rows("SELECT * FROM arms WHERE run = ? ORDER BY position", run)
        done = self._rows("SELECT count(*) AS n FROM turns JOIN arms ON arms.id = arm WHERE run = ?", run)
        turns = [conversation["turns"] for conversation in conversations]
        with intact(self.path):
            declaration = Declaration.from_json(parse_json(row["declaration"]))
            if not _ID.fullmatch(run):  # it becomes part of names of files
                raise ValueError("a run's id is of other characters than rig's")
            if [arm["position"] for arm in arms] != [*range(len(arms))]:
                raise ValueError("the arms of a run are not numbered from 0")
            if row["repeats"] * len(arms) * len(conversations) > MOST_CELLS:
                raise ValueError("a run of more conversations, arms and repeats than rig reads")
            return StoredRun(
                id=run,
                name=row["name"],
                created=datetime.fromisoformat(row["created"]),
                finished=datetime.fromisoformat(row["finished"]) if row["finished"] else None,
                rig=row["rig"],
                settings=parse_json(row["settings"]),
                repeats=row["repeats"],
                conversations=tuple(conversation["name"] for conversation in conversations),
                # 0 as soon as the number of one conversation is not known.
                turns=(sum(turns) if all(turns) else 0) * len(arms) * row["repeats"],
                turns_done=done[0]["n"],
                is_running=held_by(row, self.path) is not None,
                arms=tuple(self._arm(arm, declaration, sums) for arm in arms),
                declaration=declaration,
            )

    def _arm(self, row: Row, declaration: Declaration, sums: bool) -> StoredArm:
        added = f", {ANSWERS} AS answers, {USAGE}" if sums else ""
        [work] = self._rows(
            "SELECT count(*) AS steps, count(predictions.error) AS failed, min(role) AS role,"
            f" max(role) AS other{added}"
            " FROM predictions JOIN turns ON turns.id = predictions.turn WHERE arm = ?",
            row["id"],
        )
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
        costs = Costs(**{field.name: row[field.name] for field in fields(Costs)})
        return StoredArm(
            position=row["position"],
            name=row["name"],
            fingerprint=parse_json(row["fingerprint"]) if row["fingerprint"] else None,
            failure=row["failure"],
            decided=row["decided"],
            notes=_notes(row["notes"]),
            load_s=row["load_s"],
            costs=costs,
            errors=errors,
            sums=self._sums(row, declaration, work, costs, errors) if sums else None,
            grader=standing.grader if standing else None,
            not_evaluated=_never_answered(ends),
            attempts={end["error"]: end["n"] for end in self._rows(_ATTEMPTS, row["id"])},
        )

    def _sums(
        self, arm: Row, declaration: Declaration, work: Row, costs: Costs, errors: Mapping[str, int]
    ) -> ArmSums:
        """Return the sums of an arm's scores, turns and steps."""
        [clock] = self._rows(f"SELECT {CLOCK} FROM turns WHERE arm = ?", arm["id"])
        clock["wall_s"] += arm["store_s"]
        answers = int(work.pop("answers"))
        speed = replace(speed_from(work, clock), **asdict(costs), store_s=arm["store_s"])
        fingerprint = parse_json(arm["fingerprint"]) if arm["fingerprint"] else {}
        cuts = self._cuts(arm["id"], fingerprint, self._errors(arm["id"]) if by_option(errors) else {})
        scores = self._shown(arm["id"])
        counts = self._counts([scores[cell] for cell in cuts if cell in scores])
        limits = cut_answers(
            fingerprint,
            answers,
            (
                (of_cell, cell in scores and not declaration.succeeded(counts[scores[cell]]))
                for cell, of_cell in cuts.items()
            ),
        )
        standing = self._standing(arm["id"])
        if standing is None:
            return ArmSums({}, speed, limits=limits)
        own = self._summed(arm["run"], arm["position"], None, standing.grader, list(scores.values()))
        return ArmSums(own.counts, speed, own.error_types, own.faults, limits)

    def _rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        return list(self._database.query(query, values))


def _never_answered(ends: Iterable[dict[str, Any]]) -> str | None:
    """Return, from how steps ended, which failures of the machine kept a role from ever answering."""
    by_role: dict[str, dict[str | None, int]] = {}
    for end in ends:
        by_role.setdefault(end["role"], {})[end["error"]] = end["n"]
    for role, kinds in by_role.items():
        if kinds.keys() <= MACHINE:
            failures = ", ".join(f"{kind} {count}" for kind, count in kinds.items())
            return f"the {role} could never answer: {failures}"
    return None


def _notes(text: str | None) -> dict[str, JsonObject]:
    """Return the notes on an arm that have words, by name; a store of others may hold anything there."""
    notes = parse_json(text) if text else {}
    return {
        name: {**note, "lines": [line for line in _list(note.get("lines")) if isinstance(line, str)]}
        for name, note in (notes.items() if isinstance(notes, dict) else ())
        if isinstance(note, dict) and isinstance(note.get("text"), str)
    }


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
