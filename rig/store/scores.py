"""Read scores: which grader made them, their sums, and each conversation's with its turns."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple

from rig.config.limits import THOUGHTS, by_option, thoughts_by_role
from rig.core.budget import parse_json
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.events import Speed
from rig.core.metrics import UNPLAYED, Counts
from rig.core.models import Usage
from rig.core.sqlite_import import Database
from rig.store.connect import intact
from rig.store.records import GraderInfo, ScoredCell, ScoredTurn, StoredRun, StoredScore, TurnSpeed

_GRADER = "grader, grader_version, similarity"

OWN = "own"
"""The value of `graded_by` for the scores that a run made itself."""

_BY_GRADER = "(grader, grader_version, similarity) = (:grader, :grader_version, :similarity)"
"""The condition that a score is of a grader, given by parameters named as in `GraderInfo.as_json`."""

_OF_IDS = "score IN (SELECT value FROM json_each(?))"
"""The condition that a row belongs to a score whose id is in a JSON list."""

# SQLite rounds fractions when it writes them as text, so these are read as numbers.
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

_PLANNED = """
    SELECT count(*) * max(repeats) FROM conversations JOIN runs ON runs.id = conversations.run
    WHERE runs.id = :run AND json_extract(runs.settings, '$.until') IS NOT NULL
        AND (:suite IS NULL OR conversations.suite = :suite)
"""
"""The number of tasks of each arm, null unless the run chose by its results which of them were played."""

_KINDS = {"error_types": "error_type, sum(errors)", "faults": "kind, count(*)"}
"""The kind and number of what went wrong, by the table that holds it."""

_EXACT = 2**53
"""Below this, sums of whole numbers are exact as floating-point numbers."""

USAGE = ", ".join(f"total(predictions.{field.name}) AS {field.name}" for field in fields(Usage))
"""The sums over steps, in SQL."""

CLOCK = """
    total(turns.wall_s) AS wall_s, total(turns.tools_s) AS tools_s, total(turns.scoring_s) AS scoring_s,
    CASE WHEN count(turns.cpu_s) = count(*) THEN total(turns.cpu_s) END AS cpu_s
"""
"""The sums over turns, in SQL; the CPU time is null if that of any turn is unknown."""

# From the scores to their turns: the other way round takes twice as long.
_OF_TURNS = f"""
    FROM scores CROSS JOIN turns
        ON (turns.arm, turns.conversation, turns.repeat) = (scores.arm, scores.conversation, scores.repeat)
        {{join}}
    WHERE scores.arm = :arm AND {_BY_GRADER}
        AND (:names IS NULL OR scores.conversation IN (
            SELECT conversations.id FROM conversations JOIN json_each(:names) ON name = value
            WHERE run = (SELECT run FROM arms WHERE id = :arm)
        ))
"""


class _ShownGrader(NamedTuple):
    """The grader whose scores of an arm are shown, and whether these are the run's own."""

    grader: GraderInfo
    is_own: bool


# Both in the order of an index, so nothing is sorted.
_ENDS = """
    SELECT conversation, repeat, json_group_array(json_array(turn, wanted, error))
    FROM turns WHERE arm = :arm GROUP BY 1, 2
"""
_CALLS = """
    SELECT conversation, repeat,
        group_concat({of}.ground_truth_turn) FILTER (WHERE predictions.kind = 'call' AND {of}.match),
        group_concat(turns.turn) FILTER (WHERE predictions.kind = 'call' AND {of}.bad_action)
    FROM turns JOIN predictions ON predictions.turn = turns.id {join}
    WHERE turns.arm = :arm GROUP BY 1, 2
"""
_CALLS_OF = {
    False: _CALLS.format(
        of="verdicts",
        join="JOIN verdicts ON verdicts.prediction = predictions.id AND verdicts.score IN"
        f" (SELECT id FROM scores WHERE scores.arm = :arm AND {_BY_GRADER})",
    ),
    True: _CALLS.format(of="predictions", join=""),
}
"""Selects the turns that matching calls belong to, and the turns of incorrect actions, joined by commas.

The verdicts of a run's own scores are stored with the calls, those of others in a table.
"""

_ERRORS = """
    SELECT conversation, repeat, predictions.error AS kind, count(*)
    FROM predictions JOIN turns ON turns.id = predictions.turn
    WHERE turns.arm = ? AND predictions.error IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 3
"""

_CUT_THOUGHTS = """
    SELECT conversation, repeat, count(*) FROM predictions JOIN turns ON turns.id = predictions.turn
    WHERE turns.arm = ? AND reasoning_tokens > coalesce(json_extract(?, '$."' || role || '"'), ?)
    GROUP BY 1, 2
"""
"""Counts the answers whose thoughts exceeded their role's limit: limits by role, then that of other roles."""

NOTHING: Mapping[str, int] = {}

ANSWERS = "total(predictions.part = 0)"
"""The number of answers among steps, in SQL: a message with several calls is one answer."""


class ScoreReader:
    """Reads the scores of a store that is open for reading."""

    def __init__(self, database: Database, path: Path, graded_by: str = "") -> None:
        self._database = database
        self._graded_by = graded_by
        self._standings: dict[int, _ShownGrader] = {}
        self.path = path

    def scores(self, run: StoredRun) -> list[StoredScore]:
        """Return what each grader makes of each arm, arm by arm, the run's own grader first."""
        return [self._summed(run.id, *group) for group in self._grouped(run)]

    def suite_scores(self, run: StoredRun) -> list[StoredScore]:
        """Return the same for each suite by itself, in the order in which conversations are run."""
        groups = self._grouped(run, "suite", "conversations.position, ")
        return [self._summed(run.id, *group) for group in groups]

    def graders(self, run: StoredRun) -> list[tuple[int, GraderInfo]]:
        """Return the graders that scored each arm, by its position; the run's own grader comes first."""
        return [(position, grader) for position, _, grader, _ in self._grouped(run)]

    def turn_speed(
        self, run: StoredRun, arm: int, grader: GraderInfo, conversations: Collection[str] | None = None
    ) -> TurnSpeed:
        """Return what the turns took that this grader scored, for the arm at this position.

        With `conversations`, only those with these names count.
        """
        names = None if conversations is None else json.dumps(list(conversations))
        values = {"arm": self._arm_id(run, arm), "names": names, **grader.as_json()}
        of_turns = _OF_TURNS.format(join="")
        of_steps = _OF_TURNS.format(join="JOIN predictions ON predictions.turn = turns.id")
        with intact(self.path):
            [steps] = self._database.query(
                f"SELECT count(*) AS steps, {ANSWERS} AS answers, {USAGE} {of_steps}", values
            )
            answers = int(steps.pop("answers"))
            [clock] = self._database.query(f"SELECT {CLOCK} {of_turns}", values)
            walls = self._database.execute(f"SELECT turns.wall_s {of_turns}", values).fetchall()
            return TurnSpeed(speed_from(steps, clock), [seconds for (seconds,) in walls], answers)

    def scored_cells(
        self, run: StoredRun, grader: GraderInfo, arms: Collection[int] | None = None
    ) -> Iterator[ScoredCell]:
        """Yield every conversation that this grader has scored, arm by arm, repeat by repeat, in order.

        With `arms`, only those at these positions are read.
        """
        turns = cache(_turns)
        with intact(self.path):
            conversations = {
                row: (place, intern(name), intern(source), intern(suite), intern(known_turns))
                for place, (row, name, source, suite, known_turns) in enumerate(
                    self._database.execute(
                        "SELECT id, name, source, suite, known_turns FROM conversations WHERE run = ?"
                        " ORDER BY position",
                        [run.id],
                    )
                )
            }
            for arm in run.arms if arms is None else (run.arms[arm] for arm in sorted(arms)):
                values = {"arm": self._arm_id(run, arm.position), **grader.as_json()}
                scores = self._database.execute(
                    f"SELECT id, conversation, repeat, own FROM scores WHERE arm = :arm AND {_BY_GRADER}",
                    values,
                ).fetchall()
                scores.sort(key=lambda row: (row[2], conversations[row[1]][0]))
                ids = [row[0] for row in scores]
                counts = self._counts(ids)
                ends = {row[:2]: row[2] for row in self._database.execute(_ENDS, values)}
                calls = {
                    is_own: {row[:2]: row[2:] for row in self._database.execute(_CALLS_OF[is_own], values)}
                    for is_own in {bool(row[3]) for row in scores}
                }
                errors = self._errors(values["arm"])
                cuts = self._cuts(values["arm"], arm.fingerprint or {}, errors)
                types, faults = (self._kinds(table, ids) for table in ("error_types", "faults"))
                for score, conversation, repeat, is_own in scores:
                    _, name, source, suite, known_turns = conversations[conversation]
                    place = conversation, repeat
                    matched, bad = calls[bool(is_own)].get(place, (None, None))
                    yield ScoredCell(
                        arm.position,
                        name,
                        source,
                        suite,
                        repeat,
                        counts[score],
                        turns(known_turns, ends.get(place, "[]"), matched, bad),
                        errors.get(place, NOTHING),
                        types.get(score, NOTHING),
                        faults.get(score, NOTHING),
                        cuts.get(place, NOTHING),
                    )

    def _errors(self, arm: int) -> dict[tuple[int, int], dict[str, int]]:
        """Return how many steps of an arm failed in each way, by the conversation's id and the repeat."""
        return _by_kind((row[:2], *row[2:]) for row in self._database.execute(_ERRORS, [arm]))

    def _cuts(
        self, arm: int, fingerprint: JsonObject, errors: Mapping[tuple[int, int], Mapping[str, int]]
    ) -> dict[tuple[int, int], dict[str, int]]:
        """Return how many answers limits cut off, by the conversation's id and the repeat, then by option.

        `errors` are those of the arm's steps.
        """
        cuts = {cell: of_cell for cell, kinds in errors.items() if (of_cell := by_option(kinds))}
        if thoughts := thoughts_by_role(fingerprint):
            most = arm, json.dumps(thoughts), thoughts.get("")
            for conversation, repeat, number in self._database.execute(_CUT_THOUGHTS, most):
                cuts.setdefault((conversation, repeat), {})[THOUGHTS] = number
        return cuts

    def _counts(self, scores: Collection[int]) -> dict[int, Counts]:
        """Return the counts of scores, by their ids. Equal counts are one object."""
        ids = [json.dumps(list(scores))]
        reals: dict[int, list[tuple[str, float]]] = {}
        for score, name, value in self._database.execute(_REALS, ids):
            reals.setdefault(score, []).append((name, value))
        counts_by_score: dict[int, Counts] = {score: {} for score in scores}
        alike: dict[Any, Counts] = {}
        for score, text in self._database.execute(_COUNTS, ids):
            key = text, *reals.get(score, ())
            if key not in alike:
                counts = parse_json(text) | dict(key[1:])
                alike[key] = {intern(name): counts[name] for name in sorted(counts)}
            counts_by_score[score] = alike[key]
        return counts_by_score

    def _kinds(self, table: str, scores: Sequence[int]) -> dict[int, dict[str, int]]:
        """Return how many errors or faults of each kind scores have, by their ids."""
        query = f"SELECT score, {_KINDS[table]} FROM {table} WHERE {_OF_IDS} GROUP BY 1, 2"
        return _by_kind(self._database.execute(query, [json.dumps(scores)]))

    def _summed(
        self, run: str, position: int, suite: str | None, grader: GraderInfo, scores: Sequence[int]
    ) -> StoredScore:
        """Return the sum of one arm's scores by one grader, given by their ids.

        Every reader of an arm's counts gets them from here, with the tasks that are `UNPLAYED`.
        """
        ids = json.dumps(scores)
        counts: dict[str, float] = {}
        # Whole numbers are added in SQL, others as Python adds them.
        for name, value, others in self._database.execute(_TOTALS, [ids]).fetchall():
            is_exact = not others and abs(value) < _EXACT
            values = (row[0] for row in self._database.execute(_ONE, [name, ids]))
            counts[name] = int(value) if is_exact else sum(values)
        [[planned]] = self._database.execute(_PLANNED, {"run": run, "suite": suite})
        if (planned or 0) > len(scores):
            counts[UNPLAYED] = planned - len(scores)
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
        """Return the ids of a run's scores by arm, suite and grader, in the order of the first of each."""
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

    def _standing(self, arm: int) -> _ShownGrader | None:
        """Return the grader whose scores of an arm are shown; None if there are none.

        These are the run's own, unless all of it was scored again later with people's answers, by the same
        rules or another version of them: the newest of those is shown then. `graded_by` chooses others:
        `own`, or a part of a grader's name. Raises RigError if no grader has that.
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
        self._standings[arm] = _ShownGrader(chosen[0], chosen[0] == own[0])
        return self._standings[arm]

    def _shown(self, arm: int, cell: tuple[int, int] | None = None) -> dict[tuple[int, int], int]:
        """Return the ids of the scores of an arm that are shown, oldest first, or only that of one `cell`.

        Cells, their keys, are pairs of the conversation's id and the repeat.
        """
        standing = self._standing(arm)
        if standing is None:
            return {}
        of = "own" if standing.is_own else _BY_GRADER
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


def _by_kind(rows: Iterable[Sequence[Any]]) -> dict[Any, dict[str, int]]:
    """Return how many of each kind every owner has, from rows of (owner, kind, number)."""
    counts: dict[Any, dict[str, int]] = {}
    for of, kind, number in rows:
        counts.setdefault(of, {})[intern(kind)] = number
    return counts


def _of_any_version(grader: GraderInfo) -> GraderInfo:
    """Return the rules of a grader, regardless of their version."""
    return replace(grader.rules, grader_version="")


def speed_from(steps: Mapping[str, Any], clock: Mapping[str, Any]) -> Speed:
    """Return the speed of turns from the sums over their steps, and from the times that only turns have.

    SQLite's total() gives a float even for whole numbers, so tokens are made integers again.
    """
    tokens = {name: int(value) for name, value in steps.items() if not name.endswith("_s")}
    return Speed(**{**steps, **tokens, **clock})


def _turns(known_turns: str, ends: str, *called: str | None) -> tuple[ScoredTurn, ...]:
    """Return the turns of a conversation, from `known_turns` and how they ended, both in JSON, and from the
    turns of matching calls and of incorrect actions, each once for each call.
    """
    numbers = {turn: number for number, turn in enumerate(parse_json(known_turns), 1)}
    matched, bad = (Counter(map(int, text.split(",")) if text else ()) for text in called)
    return tuple(
        ScoredTurn(turn, numbers.get(turn, turn + 1), due, matched[turn], bad[turn], error)
        for turn, due, error in sorted(parse_json(ends))
    )
