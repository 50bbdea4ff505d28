"""Write a run. Only one process writes a run at a time, in one transaction for each turn."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from rig import __version__
from rig.core.budget import parse_json
from rig.core.calls import JsonObject, Verdict
from rig.core.errors import PASSING
from rig.core.meters import Costs
from rig.core.metrics import Counts, Declaration, Remark, Score, in_other_forms
from rig.core.sqlite_import import Database
from rig.core.tasks import PlayedTurn
from rig.store.connect import connect_for_writing, deleted, faults, intact, transaction
from rig.store.holder import Holder, RunLock, check_unheld
from rig.store.reader import Runs
from rig.store.records import FAILED_ARM, GraderInfo, NewRun
from rig.store.rows import fault_row, step_row, storable, to_json, verdict_columns, view_of
from rig.store.views import refresh_views

if TYPE_CHECKING:
    from rig.core.events import Where


class RunWriter(AbstractContextManager["RunWriter"]):
    """Holds a run for writing until closed. Every method is one transaction; all raise StoreError.

    Scores are stored under a `grader`, which anyone who stores any has to name.
    """

    def __init__(
        self, database: Database, path: Path, run: str, lock: RunLock, grader: GraderInfo | None
    ) -> None:
        self._database = database
        self._path = path
        self._lock = lock
        self._by = asdict(grader) if grader else {}
        self.run = run
        arms = self._of_run("arms")
        self._arms: dict[int, int] = {row["position"]: row["id"] for row in arms}
        self._store_s: dict[int, float] = {row["id"]: row["store_s"] for row in arms}
        self._conversations = {row["name"]: row["id"] for row in self._of_run("conversations")}
        self._forms: set[str] = set()

    def reading(self, graded_by: str = "") -> Runs:
        """Return the runs of this store, wherever its file has been moved to since it was opened."""
        return Runs(self._database, self._path, graded_by)

    @classmethod
    def create(cls, path: Path, new: NewRun, grader: GraderInfo | None = None) -> RunWriter:
        """Store a new run, in a file that is created if there is none."""
        return cls._holding(path, new.id, grader, new)

    @classmethod
    def claim(cls, path: Path, run: str, grader: GraderInfo | None = None) -> RunWriter:
        """Take over a run that nobody is writing. Raises RigError if somebody is."""
        return cls._holding(path, run, grader)

    @classmethod
    def _holding(
        cls, path: Path, run: str, grader: GraderInfo | None, new: NewRun | None = None
    ) -> RunWriter:
        database = connect_for_writing(path)
        lock = None
        try:
            with faults(path), transaction(database):
                if new is None:
                    check_unheld(database, run, path)
                else:
                    _insert_run(database, new)
                claim = {"writer": Holder.current().as_text(), "heartbeat": _now()}
                database.table("runs").update(run, claim)
                lock = RunLock(path, run)
            return cls(database, path, run, lock, grader)
        except BaseException:
            database.close()
            if lock is not None:
                lock.release()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def arm_ready(self, arm: int, fingerprint: JsonObject, load_s: float) -> None:
        """Note that an arm's model is loaded, and its fingerprint."""
        with self._transaction():
            self._set_fingerprint(arm, fingerprint)
            # Why it failed before is about to be forgotten.
            self._database.execute(
                "INSERT INTO attempts (arm, error, detail, given_up)"
                f" SELECT id, '{FAILED_ARM}', failure, ? FROM arms WHERE id = ? AND failure IS NOT NULL",
                [_now(), self._arms[arm]],
            )
            self._set("arms", self._arms[arm], load_s=load_s, failure=None)

    def note(self, arm: int, column: Literal["failure", "decided"], text: str) -> None:
        """Note why an arm could not go on (`failure`), or the verdict of the strategy that ended it."""
        with self._transaction():
            self._set("arms", self._arms[arm], **{column: text})

    def add_note(self, arm: int, name: str, note: JsonObject) -> None:
        """Keep a plugin's note on an arm, instead of an earlier one of the same name."""
        with self._transaction():
            self._database.execute(
                "UPDATE arms SET notes = json_set(coalesce(notes, '{}'), ?, json(?)) WHERE id = ?",
                (f'$."{name}"', to_json(note), self._arms[arm]),
            )

    def set_aside(self, turns: Mapping[Where, int]) -> None:
        """Have conversations replayed from these turns on; the old turns are kept among the attempts."""
        with self._transaction():
            for where, first in turns.items():
                cell = self._cell(where)
                played = f"SELECT * FROM turns WHERE {_same(cell)} AND turn >= :first ORDER BY turn"
                for turn in list(self._database.query(played, {**cell, "first": first})):
                    self._give_up(cell, turn)
                self._database.execute(f"DELETE FROM scores WHERE {_same(cell)}", cell)
            self._set("runs", self.run, finished=None)

    def commit_turn(
        self,
        where: Where,
        played: PlayedTurn,
        score: Score | None = None,
        costs: Costs | None = None,
        wanted: int | None = None,
    ) -> float:
        """Store a turn, its predictions and, with the last turn, the conversation's score: all or nothing.

        `costs` are the arm's so far; `wanted` is how many calls were due in the turn, None if unknown.
        Returns the seconds that this took.
        """
        clock = perf_counter()
        arm = self._arms[where.arm]
        with self._transaction():
            self._insert_turn(where, played, wanted)
            if score is not None:
                self._insert_score(where, score)
            # The seconds of this very transaction are known, and stored, only with the next one.
            spent = asdict(costs) if costs else {}
            self._set("arms", arm, store_s=self._store_s[arm], **spent)
        seconds = perf_counter() - clock
        self._store_s[arm] += seconds
        return seconds

    def commit_episode(self, where: Where, turns: Sequence[PlayedTurn], score: Score) -> None:
        """Store a finished conversation with those of its turns that are not stored yet: all or nothing."""
        with self._transaction():
            for played in turns:
                self._insert_turn(where, played, None)
            self._insert_score(where, score)

    def set_remark(self, remark: Remark) -> None:
        """Replace the remark that is printed beside the run's rates."""
        with self._transaction():
            self._set("runs", self.run, declaration=to_json(self._declaration().cautioned(remark).to_json()))

    def _declaration(self) -> Declaration:
        """Return the run's declaration as it is stored."""
        [row] = self._database.query("SELECT declaration FROM runs WHERE id = ?", [self.run])
        return Declaration.from_json(parse_json(row["declaration"]))

    def _declare(self, counts: Counts) -> None:
        """Declare the forms of calls that these counts have and no earlier score had."""
        if self._forms >= (forms := in_other_forms(counts).keys()):
            return
        declaration = self._declaration()
        if (declared := declaration.with_forms(counts)) is not declaration:
            self._set("runs", self.run, declaration=to_json(declared.to_json()))
            refresh_views(self._database)
        self._forms |= forms

    def finish(self) -> None:
        """Note that every turn of every arm is done."""
        with self._transaction():
            self._set("runs", self.run, finished=_now())

    def close(self) -> None:
        """Release the run, so that another process may continue it."""
        try:
            with self._transaction():
                for arm, seconds in self._store_s.items():
                    self._set("arms", arm, store_s=seconds)
                self._set("runs", self.run, writer=None)
            # A watcher keeps the log in place, but the file should be whole without it.
            with faults(self._path):
                self._database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        finally:
            self._database.close()
            self._lock.release()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with faults(self._path, self.run), transaction(self._database):
            yield
            if not self._set("runs", self.run, heartbeat=_now()):
                raise deleted(self._path, self.run)

    def _set_fingerprint(self, arm: int, fingerprint: JsonObject) -> None:
        text = json.dumps(fingerprint, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()
        self._set("arms", self._arms[arm], fingerprint=text, fingerprint_sha256=digest)

    def _set(self, table: str, row: int | str, **values: Any) -> int:
        """Change columns of a row. Returns how many rows changed: none if another program deleted the run."""
        sets = ", ".join(f"{name} = :{name}" for name in values)
        return self._database.execute(
            f"UPDATE {table} SET {sets} WHERE id = :id", {**values, "id": row}
        ).rowcount

    def _add(self, table: str, **values: Any) -> int:
        """Insert a row and return its id. Not by sqlite-utils, which would inspect the table each time."""
        names = ", ".join(values)
        holders = ", ".join(f":{name}" for name in values)
        row = self._database.execute(f"INSERT INTO {table} ({names}) VALUES ({holders})", values).lastrowid
        assert row is not None
        return row

    def add_score(self, where: Where, score: Score) -> None:
        """Store a later score beside the run's own, replacing an older one by the same grader.

        The run's own score never changes, but if there are later ones, it is made the newest again.
        """
        cell = self._cell(where)
        by = {**cell, **self._by}
        with self._transaction():
            self._forget(by)
            own = next(self._database.query(f"SELECT id FROM scores WHERE {_same(by)}", by), None)
            if own is not None:
                newest = f"SELECT max(id) AS id FROM scores WHERE {_same(cell)}"
                if next(self._database.query(newest, cell))["id"] > own["id"]:
                    self._database.table("scores").delete(own["id"])
                    self._insert_score(where, score)
                return
            score_id = self._insert_counts({**by, "own": False}, score)
            for prediction, verdict in self._judged(cell, score):
                self._add("verdicts", score=score_id, prediction=prediction, **verdict_columns(verdict))

    def rescore(self, arm: int, fingerprint: JsonObject, scores: Mapping[Where, Score]) -> None:
        """Let an arm stand by other scores of its finished conversations, all or none; the old ones stay.

        `fingerprint` becomes the arm's: it names the grader.
        """
        with self._transaction():
            for where, score in scores.items():
                cell = self._cell(where)
                self._forget({**cell, **self._by})
                self._database.execute(_SET_ASIDE, cell)
                self._database.execute(f"UPDATE scores SET own = 0 WHERE {_same(cell)}", cell)
                self._insert_score(where, score)
            self._set_fingerprint(arm, fingerprint)

    def _forget(self, by: dict[str, Any]) -> None:
        """Delete the score that a grader made of a conversation after its run."""
        self._database.table("scores").delete_where(f"{_same(by)} AND NOT own", by)

    def _give_up(self, cell: dict[str, int], turn: dict[str, Any]) -> None:
        """Remove a turn from a run, and keep it among the attempts."""
        query = "SELECT * FROM predictions WHERE turn = ? ORDER BY step"
        steps = list(self._database.query(query, [turn["id"]]))
        failed = next((step for step in steps if step["error"] in PASSING), None)
        # The columns that say something without the row's place.
        played, *predictions = (
            {name: value for name, value in row.items() if name not in ("id", "arm", "conversation")}
            for row in (turn, *steps)
        )
        self._add(
            "attempts",
            **cell,
            turn=turn["turn"],
            error=failed["error"] if failed else None,
            detail=storable(failed["error_detail"]) if failed else "follows a turn that failed",
            given_up=_now(),
            played=to_json({**played, "predictions": predictions}),
        )
        self._database.execute("DELETE FROM turns WHERE id = ?", [turn["id"]])

    def _insert_turn(self, where: Where, played: PlayedTurn, wanted: int | None) -> None:
        columns = {name: getattr(played, name) for name in _OF_TURN}
        turn = self._add("turns", **self._cell(where), **columns, wanted=wanted, finished=_now())
        for number, step in enumerate(played.steps):
            self._add("predictions", **step_row(turn, number, step))

    def _insert_score(self, where: Where, score: Score) -> None:
        cell = self._cell(where)
        self._insert_counts({**cell, **self._by, "own": True}, score)
        # A later turn can move the ground truth that an earlier call holds, though not whether it holds one.
        for prediction, verdict in self._judged(cell, score):
            self._set("predictions", prediction, **verdict_columns(verdict))

    def _insert_counts(self, by: dict[str, Any], score: Score) -> int:
        """Insert a score with its counts, error types and faults, but no verdicts. Returns its id."""
        self._declare(score.counts)
        score_id = self._add("scores", **by)
        for name, value in score.counts.items():
            self._add("counts", score=score_id, name=name, value=value)
        for turn, counted in score.error_types.items():
            for kind, count in counted.items():
                self._add("error_types", score=score_id, turn=turn, error_type=kind, errors=count)
        for fault in score.faults:
            self._add("faults", **fault_row(score_id, fault))
        return score_id

    def _judged(self, cell: dict[str, int], score: Score) -> Iterator[tuple[int, Verdict]]:
        """Yield the ids of a conversation's calls with their verdicts, if its method has verdicts."""
        if score.verdicts:
            rows = self._database.execute(
                "SELECT predictions.id FROM predictions JOIN turns ON turns.id = predictions.turn"
                f" WHERE kind = 'call' AND {_same(cell)} ORDER BY turns.turn, step",
                cell,
            )
            yield from zip([row[0] for row in rows], score.verdicts, strict=True)

    def _cell(self, where: Where) -> dict[str, int]:
        with intact(self._path):
            return {
                "arm": self._arms[where.arm],
                "conversation": self._conversations[where.conversation],
                "repeat": where.repeat,
            }

    def _of_run(self, table: str) -> list[dict[str, Any]]:
        with faults(self._path):
            return list(self._database.table(table).rows_where("run = ?", [self.run]))


_OF_TURN = ("turn", "error", "wall_s", "tools_s", "scoring_s", "cpu_s")

_SET_ASIDE = """
INSERT INTO verdicts
    (score, prediction, match, bad_action, ground_truth_turn, ground_truth_call, reason, differences)
SELECT scores.id, predictions.id, match, bad_action, ground_truth_turn, ground_truth_call, reason, differences
FROM predictions JOIN turns ON turns.id = predictions.turn
JOIN scores USING (arm, conversation, repeat)
WHERE own AND kind = 'call' AND arm = :arm AND conversation = :conversation AND repeat = :repeat
"""
"""Keeps the verdicts of a conversation's own score in the table of all other scores' verdicts."""


def _same(values: Mapping[str, Any]) -> str:
    """Return the SQL condition that columns have these values."""
    return " AND ".join(f"{name} = :{name}" for name in values)


def _insert_run(database: Database, new: NewRun) -> None:
    database.table("runs").insert(
        {
            "id": new.id,
            "name": new.name,
            "created": _now(),
            "rig": __version__,
            "settings": to_json(new.settings),
            "repeats": new.repeats,
            "method": new.declaration.method,
            "declaration": to_json(new.declaration.to_json()),
        }
    )
    refresh_views(database)
    database.table("arms").insert_all(
        {"run": new.id, "position": position, "name": name} for position, name in enumerate(new.arms)
    )
    sources = [to_json(conversation.source) for conversation in new.conversations]
    hashes = [hashlib.sha256(source.encode()).hexdigest() for source in sources]
    database.table("sources").insert_all(
        ({"sha256": digest, "json": source} for digest, source in zip(hashes, sources, strict=True)),
        ignore=True,
    )
    method = new.declaration.method
    for digest, task in zip(hashes, new.conversations, strict=True):
        # A task whose method cannot describe it has no view.
        with suppress(LookupError, TypeError, ValueError, AttributeError, RecursionError):
            row = [digest, method, to_json(view_of(task))]
            database.execute("INSERT OR IGNORE INTO task_views VALUES (?, ?, ?)", row)
    database.table("conversations").insert_all(
        {
            "run": new.id,
            "position": position,
            "name": conversation.name,
            "turns": len(conversation.known_turns),
            "known_turns": to_json(list(conversation.known_turns)),
            "ground_truths": conversation.ground_truth_count,
            "suite": conversation.suite,
            "source": digest,
        }
        for position, (conversation, digest) in enumerate(zip(new.conversations, hashes, strict=True))
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
