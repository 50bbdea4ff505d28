"""Reading scores, and how fast scored turns were.

Several graders can score a conversation; a run stands by one of them, its own.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple

from sqlite_utils import Database

from rig.errors import RigError
from rig.events import Speed
from rig.metrics import Counts
from rig.models import Usage
from rig.store.connect import intact
from rig.store.records import GraderInfo, StoredRun, StoredScore

_GRADER = "grader, grader_version, similarity"

OWN = "own"
"""What `graded_by` calls the scores that a run made itself."""

BY_GRADER = "(grader, grader_version, similarity) = (:grader, :grader_version, :similarity)"
"""Whether a score is a grader's, whose names are asked as `GraderInfo.as_json` has them."""

_OF_IDS = "score IN (SELECT value FROM json_each(?))"
"""Whether a row is of a score whose id is in a JSON list."""

# SQLite rounds numbers that are not whole where it writes them as text, so these are read as they are.
_COUNTS = f"""
    SELECT score, json_group_object(name, value) FILTER (WHERE typeof(value) <> 'real')
    FROM counts WHERE {_OF_IDS} GROUP BY 1
"""
_REALS = f"""
    SELECT score, name, value FROM counts WHERE {_OF_IDS} AND typeof(value) = 'real' ORDER BY score, name
"""
_TOTALS = f"""
    SELECT name, total(value), total(typeof(value) <> 'integer') FROM counts WHERE {_OF_IDS} GROUP BY 1
"""
_ONE = f"SELECT value FROM counts WHERE name = ? AND {_OF_IDS} ORDER BY score"

_KINDS = {"error_types": "error_type, sum(errors)", "faults": "kind, count(*)"}
"""What went wrong by kind, by the table that says it."""

_EXACT = 2**53
"""Below this, sums of whole numbers are exact as floating-point numbers."""

USAGE = ", ".join(f"total(predictions.{field.name}) AS {field.name}" for field in fields(Usage))
"""What steps add up to, in SQL."""

CLOCK = """
    total(turns.wall_s) AS wall_s, total(turns.tools_s) AS tools_s, total(turns.scoring_s) AS scoring_s,
    CASE WHEN count(turns.cpu_s) = count(*) THEN total(turns.cpu_s) END AS cpu_s
"""
"""What turns add up to; their CPU time is not known where that of one is not."""

# From the scores to their turns: the other way round takes twice as long.
_OF_TURNS = f"""
    FROM scores CROSS JOIN turns
        ON (turns.arm, turns.conversation, turns.repeat) = (scores.arm, scores.conversation, scores.repeat)
        {{join}}
    WHERE scores.arm = :arm AND {BY_GRADER}
        AND (:names IS NULL OR scores.conversation IN (
            SELECT conversations.id FROM conversations JOIN json_each(:names) ON name = value
            WHERE run = (SELECT run FROM arms WHERE id = :arm)
        ))
"""


class TurnSpeed(NamedTuple):
    """The sums over turns, without the time of storing them and without costs; the seconds of each turn."""

    speed: Speed
    walls: Sequence[float]


class ShownGrader(NamedTuple):
    """Whose scores of an arm are shown, and whether they are those that the run made itself."""

    grader: GraderInfo
    is_own: bool


class ScoreReader:
    """Reads the scores of a store that is open for reading."""

    def __init__(self, database: Database, path: Path, graded_by: str = "") -> None:
        self._database = database
        self._graded_by = graded_by
        self._standings: dict[int, ShownGrader] = {}
        self.path = path

    def scores(self, run: StoredRun) -> list[StoredScore]:
        """What each grader makes of each arm, arm by arm, the run's own grader first."""
        return [self._summed(*group) for group in self._grouped(run)]

    def suite_scores(self, run: StoredRun) -> list[StoredScore]:
        """The same, but each suite's conversations by themselves, in the order in which they are run."""
        return [self._summed(*group) for group in self._grouped(run, "suite", "conversations.position, ")]

    def graders(self, run: StoredRun) -> list[tuple[int, GraderInfo]]:
        """Which graders scored each arm, by its position: arm by arm, the run's own grader first."""
        return [(position, grader) for position, _, grader, _ in self._grouped(run)]

    def turn_speed(
        self, run: StoredRun, arm: int, grader: GraderInfo, conversations: Collection[str] | None = None
    ) -> TurnSpeed:
        """What the turns of the arm at this position took where this grader scored them.

        With `conversations`, only those of these names count.
        """
        names = None if conversations is None else json.dumps(list(conversations))
        values = {"arm": self._arm_id(run, arm), "names": names, **grader.as_json()}
        of_turns = _OF_TURNS.format(join="")
        of_steps = _OF_TURNS.format(join="JOIN predictions ON predictions.turn = turns.id")
        with intact(self.path):
            [steps] = self._database.query(f"SELECT count(*) AS steps, {USAGE} {of_steps}", values)
            [clock] = self._database.query(f"SELECT {CLOCK} {of_turns}", values)
            walls = self._database.execute(f"SELECT turns.wall_s {of_turns}", values).fetchall()
            return TurnSpeed(speed_from(steps, clock), [seconds for (seconds,) in walls])

    def _counts(self, scores: Collection[int]) -> dict[int, Counts]:
        """The counts that go with scores, by their ids. Those that are alike are one object."""
        ids = [json.dumps(list(scores))]
        reals: dict[int, list[tuple[str, float]]] = {}
        for score, name, value in self._database.execute(_REALS, ids):
            reals.setdefault(score, []).append((name, value))
        counts_by_score: dict[int, Counts] = {score: {} for score in scores}
        alike: dict[Any, Counts] = {}
        for score, text in self._database.execute(_COUNTS, ids):
            key = text, *reals.get(score, ())
            if key not in alike:
                counts = json.loads(text) | dict(key[1:])
                alike[key] = {intern(name): counts[name] for name in sorted(counts)}
            counts_by_score[score] = alike[key]
        return counts_by_score

    def _kinds(self, table: str, scores: Sequence[int]) -> dict[int, dict[str, int]]:
        """How many errors or faults of which kind scores have, by their ids."""
        query = f"SELECT score, {_KINDS[table]} FROM {table} WHERE {_OF_IDS} GROUP BY 1, 2"
        return by_kind(self._database.execute(query, [json.dumps(scores)]))

    def _summed(
        self, position: int, suite: str | None, grader: GraderInfo, scores: Sequence[int]
    ) -> StoredScore:
        """Scores of one arm by one grader, by their ids, taken together."""
        ids = json.dumps(scores)
        counts: dict[str, float] = {}
        # Whole numbers are added in SQL, others as Python adds them.
        for name, value, others in self._database.execute(_TOTALS, [ids]).fetchall():
            is_exact = not others and abs(value) < _EXACT
            values = (row[0] for row in self._database.execute(_ONE, [name, ids]))
            counts[name] = int(value) if is_exact else sum(values)
        went_wrong = {
            table: dict(
                self._database.execute(
                    f"SELECT {columns} FROM {table} WHERE {_OF_IDS} GROUP BY 1 ORDER BY 1", [ids]
                )
            )
            for table, columns in _KINDS.items()
        }
        return StoredScore(position, grader, counts, suite=suite, **went_wrong)

    def _grouped(
        self, run: StoredRun, suite: str = "NULL", order: str = ""
    ) -> list[tuple[int, str | None, GraderInfo, list[int]]]:
        """The ids of a run's scores by arm, suite and grader, in the order of the first of each."""
        groups: dict[tuple[Any, ...], list[int]] = {}
        for *group, score in self._database.execute(
            f"SELECT arms.position, {suite}, {_GRADER}, scores.id FROM scores"
            " JOIN arms ON arms.id = arm JOIN conversations ON conversations.id = conversation"
            f" WHERE arms.run = ? ORDER BY arms.position, {order}own DESC, scores.id",
            [run.id],
        ):
            groups.setdefault(tuple(group), []).append(score)
        return [
            (position, name, GraderInfo(*grader), ids) for (position, name, *grader), ids in groups.items()
        ]

    def _standing(self, arm: int) -> ShownGrader | None:
        """Whose scores of an arm are shown; None if there are none.

        Those that the run made, unless all of it was scored again later with people's answers, by the same
        rules or a later version of them: then the newest of these. `graded_by` chooses others: `own`, or a
        part of a grader's name. Raises RigError where it is no grader's.
        """
        if arm in self._standings:
            return self._standings[arm]
        rows = self._database.execute(
            f"SELECT {_GRADER}, total(own), count(*), min(id) FROM scores WHERE arm = ?"
            f" GROUP BY {_GRADER} ORDER BY min(id)",
            [arm],
        ).fetchall()
        graders = [(GraderInfo(*row[:3]), *row[3:]) for row in rows]
        own = next((row for row in graders if row[1]), None)
        if own is None:
            return None
        chosen = own
        if self._graded_by and self._graded_by != OWN:
            named = [row for row in graders if self._graded_by in str(row[0])]
            if not named:
                names = "; ".join(str(row[0]) for row in graders)
                raise RigError(f"no score is graded by {self._graded_by!r}; there are: {OWN}; {names}")
            chosen = max(named, key=lambda row: row[3])
        elif not self._graded_by:
            finished = sum(row[1] for row in graders)
            for row in graders:
                is_whole = row[2] >= finished and row[0].has_answers
                if is_whole and row[3] > chosen[3] and _of_any_version(row[0]) == _of_any_version(own[0]):
                    chosen = row
        self._standings[arm] = ShownGrader(chosen[0], chosen[0] == own[0])
        return self._standings[arm]

    def _shown(self, arm: int, cell: tuple[int, int] | None = None) -> dict[tuple[int, int], int]:
        """The ids of the scores of an arm that are shown, by the conversation's id and the repeat, oldest
        first: all, or that of one such `cell`.
        """
        standing = self._standing(arm)
        if standing is None:
            return {}
        of = "own" if standing.is_own else BY_GRADER
        one = "" if cell is None else " AND conversation = :conversation AND repeat = :repeat"
        place = dict(zip(("conversation", "repeat"), cell or (), strict=False))
        rows = self._database.execute(
            f"SELECT conversation, repeat, id FROM scores WHERE arm = :arm AND {of}{one} ORDER BY id",
            {"arm": arm, **place, **standing.grader.as_json()},
        )
        return {(conversation, repeat): score for conversation, repeat, score in rows}

    def _arm_id(self, run: StoredRun, position: int) -> int:
        [[arm]] = self._database.execute(
            "SELECT id FROM arms WHERE run = ? AND position = ?", [run.id, position]
        )
        return int(arm)


def by_kind(rows: Iterable[Sequence[Any]]) -> dict[Any, dict[str, int]]:
    """How many of which kind, by what has them."""
    counts: dict[Any, dict[str, int]] = {}
    for of, kind, number in rows:
        counts.setdefault(of, {})[intern(kind)] = number
    return counts


def _of_any_version(grader: GraderInfo) -> GraderInfo:
    """The rules of a grader, whichever version of them."""
    return replace(grader.rules, grader_version="")


def speed_from(steps: Mapping[str, Any], clock: Mapping[str, Any]) -> Speed:
    """A speed from such sums. SQLite's total() is a float even of whole numbers."""
    tokens = {name: int(value) for name, value in steps.items() if not name.endswith("_s")}
    return Speed(**{**steps, **tokens, **clock})
