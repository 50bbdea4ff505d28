"""Reading scores, and how fast scored turns were.

Several graders can score a conversation; a run stands by one of them, its own.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from sys import intern
from typing import Any, NamedTuple

from sqlite_utils import Database

from rig.errors import RigError
from rig.events import Speed
from rig.metrics import Counts
from rig.models import Usage
from rig.store.records import GraderInfo, StoredScore
from rig.store.rows import fault_from_row
from rig.verdicts import Fault

_GRADER = [field.name for field in fields(GraderInfo)]

OWN_SCORES = f"SELECT id, arm, conversation, repeat, {', '.join(_GRADER)} FROM scores WHERE own"

OWN = "own"
"""What `graded_by` calls the scores that a run made itself."""

_GRADERS = f"""
    SELECT {", ".join(_GRADER)}, total(own), count(*), min(id) FROM scores WHERE arm = ?
    GROUP BY {", ".join(_GRADER)} ORDER BY min(id)
"""

BY_GRADER = "(grader, grader_version, similarity) = (:grader, :grader_version, :similarity)"
"""Whether a score is a grader's, whose names are asked as `GraderInfo.as_json` has them."""

OF_IDS = "(SELECT value FROM json_each(?))"
"""The ids of a JSON list."""

# SQLite rounds numbers that are not whole where it writes them as text, so these are read as they are.
_COUNTS = f"""
    SELECT score, json_group_object(name, value) FILTER (WHERE typeof(value) <> 'real')
    FROM counts WHERE score IN {OF_IDS} GROUP BY 1
"""
_REALS = f"""
    SELECT score, name, value FROM counts
    WHERE score IN {OF_IDS} AND typeof(value) = 'real' ORDER BY score, name
"""
_TOTALS = f"""
    SELECT name, total(value), total(typeof(value) <> 'integer')
    FROM counts WHERE score IN {OF_IDS} GROUP BY 1
"""
_ONE = f"SELECT value FROM counts WHERE name = ? AND score IN {OF_IDS} ORDER BY score"
_KINDS = f"WHERE score IN {OF_IDS} GROUP BY 1 ORDER BY 1"
_ERROR_TYPES = f"SELECT error_type, sum(errors) FROM error_types {_KINDS}"
_FAULTS = f"SELECT kind, count(*) FROM faults {_KINDS}"

_EXACT = 2**53
"""Below this, sums of whole numbers are exact as floating-point numbers."""


def counts_of(
    scores: Collection[int], database: Database, known: dict[Any, Counts] | None = None
) -> dict[int, Counts]:
    """The counts that go with scores, by their ids. Those that are alike, or `known`, are one object."""
    asked = [json.dumps(list(scores))]
    reals: dict[int, list[tuple[str, float]]] = {}
    for score, name, value in database.execute(_REALS, asked):
        reals.setdefault(score, []).append((name, value))
    counts_by_score: dict[int, Counts] = {score: {} for score in scores}
    known = {} if known is None else known
    for score, text in database.execute(_COUNTS, asked):
        key = text, *reals.get(score, ())
        if key not in known:
            counts = json.loads(text) | dict(key[1:])
            known[key] = {intern(name): counts[name] for name in sorted(counts)}
        counts_by_score[score] = known[key]
    return counts_by_score


def _total_of(ids: str, database: Database) -> dict[str, float]:
    """The sums of the counts of scores. Whole numbers are added in SQL, others as Python adds them."""
    sums: dict[str, float] = {}
    for name, value, others in database.execute(_TOTALS, [ids]).fetchall():
        is_exact = not others and abs(value) < _EXACT
        sums[name] = int(value) if is_exact else sum(row[0] for row in database.execute(_ONE, [name, ids]))
    return sums


def summed(position: int, grader: GraderInfo, scores: Sequence[int], database: Database) -> StoredScore:
    """Scores of one arm by one grader, by their ids, taken together."""
    ids = json.dumps(scores)
    return StoredScore(
        arm=position,
        grader=grader,
        counts=_total_of(ids, database),
        error_types=dict(database.execute(_ERROR_TYPES, [ids])),
        faults=dict(database.execute(_FAULTS, [ids])),
    )


class Standing(NamedTuple):
    """Whose scores of an arm are shown, and whether they are those that the run made itself."""

    grader: GraderInfo
    is_own: bool


def standing_of(arm: int, graded_by: str, database: Database) -> Standing | None:
    """Whose scores of an arm are shown; None if there are none.

    Those that the run made, unless all of it was scored again later with people's answers, by the same rules
    or a later version of them: then the newest of these. `graded_by` chooses others: `own`, or a part of a
    grader's name. Raises RigError where it is no grader's.
    """
    rows = database.execute(_GRADERS, [arm]).fetchall()
    graders = [(GraderInfo(*row[: len(_GRADER)]), *row[len(_GRADER) :]) for row in rows]
    own = next((row for row in graders if row[1]), None)
    if own is None:
        return None
    if graded_by and graded_by != OWN:
        named = [row for row in graders if graded_by in str(row[0])]
        if not named:
            names = "; ".join(str(row[0]) for row in graders)
            raise RigError(f"no score is graded by {graded_by!r}; there are: {OWN}; {names}")
        grader = max(named, key=lambda row: row[3])[0]
        return Standing(grader, grader == own[0])
    newest = own
    finished = sum(row[1] for row in graders)
    for row in graders:
        is_whole = (
            row[2] >= finished and row[0].has_answers and _of_any_version(row[0]) == _of_any_version(own[0])
        )
        if is_whole and row[3] > newest[3] and graded_by != OWN:
            newest = row
    return Standing(newest[0], newest is own)


def _of_any_version(grader: GraderInfo) -> GraderInfo:
    """The rules of a grader, whichever version of them."""
    return replace(grader.rules, grader_version="")


def standing_score(cell: tuple[int, int, int], standing: Standing, database: Database) -> int | None:
    """The id of the score that is shown of an arm, a conversation and a repeat; None until it is finished."""
    of = "own" if standing.is_own else BY_GRADER
    place = dict(zip(("arm", "conversation", "repeat"), cell, strict=True))
    where = "arm = :arm AND conversation = :conversation AND repeat = :repeat"
    query = f"SELECT id FROM scores WHERE {where} AND {of}"
    row = next(database.execute(query, {**place, **standing.grader.as_json()}), None)
    return row and row[0]


def standing_scores(arm: int, standing: Standing, database: Database) -> dict[tuple[int, int], int]:
    """The ids of these scores, by the conversation's id and the repeat, oldest first."""
    of = "own" if standing.is_own else BY_GRADER
    query = f"SELECT conversation, repeat, id FROM scores WHERE arm = :arm AND {of} ORDER BY id"
    rows = database.execute(query, {"arm": arm, **standing.grader.as_json()})
    return {(conversation, repeat): score for conversation, repeat, score in rows}


def graders_of(run: str, database: Database) -> list[tuple[int, GraderInfo]]:
    """Which graders scored each arm of a run, by its position: arm by arm, the run's own grader first."""
    rows = database.execute(
        f"SELECT position, {', '.join(_GRADER)} FROM scores JOIN arms ON arms.id = arm WHERE run = ?"
        " GROUP BY position, grader, grader_version, similarity"
        " ORDER BY position, max(own) DESC, min(CASE WHEN own THEN scores.id END), min(scores.id)",
        [run],
    )
    return [(position, GraderInfo(*grader)) for position, *grader in rows]


def scores_of(run: str, database: Database) -> list[StoredScore]:
    """What each grader makes of each arm of a run, arm by arm, the run's own grader first."""
    scores = []
    for position, grader in graders_of(run, database):
        ids = database.execute(
            "SELECT scores.id FROM scores JOIN arms ON arms.id = arm"
            " WHERE run = :run AND position = :position"
            f" AND {BY_GRADER}"
            " ORDER BY own DESC, scores.id",
            {"run": run, "position": position, **grader.as_json()},
        )
        scores.append(summed(position, grader, [row[0] for row in ids], database))
    return scores


def suite_scores_of(run: str, database: Database) -> list[StoredScore]:
    """The scores of each suite by itself: arm by arm, suite by suite, the run's own grader first."""
    rows = database.execute(
        f"SELECT arms.position, suite, {', '.join(_GRADER)}, scores.id"
        " FROM scores JOIN arms ON arms.id = arm"
        " JOIN conversations ON conversations.id = conversation WHERE arms.run = ?"
        " ORDER BY arms.position, conversations.position, own DESC, scores.id",
        [run],
    )
    groups: dict[tuple[Any, ...], list[int]] = {}
    for *group, score in rows:
        groups.setdefault(tuple(group), []).append(score)
    return [
        replace(summed(position, GraderInfo(*grader), ids, database), suite=suite)
        for (position, suite, *grader), ids in groups.items()
    ]


def faults_of(score: int, database: Database) -> tuple[Fault, ...]:
    """The faults that go with a score, in order."""
    rows = database.query("SELECT * FROM faults WHERE score = ? ORDER BY id", [score])
    return tuple(fault_from_row(row) for row in rows)


USAGE = ", ".join(f"total(predictions.{field.name}) AS {field.name}" for field in fields(Usage))
"""What steps add up to, in SQL."""

CLOCK = """
    total(turns.wall_s) AS wall_s, total(turns.tools_s) AS tools_s, total(turns.scoring_s) AS scoring_s,
    CASE WHEN count(turns.cpu_s) = count(*) THEN total(turns.cpu_s) END AS cpu_s
"""
"""What turns add up to; their CPU time is not known where that of one is not."""

# From the scores to their turns: the other way round takes twice as long.
_OF = """
    FROM scores CROSS JOIN turns
        ON (turns.arm, turns.conversation, turns.repeat) = (scores.arm, scores.conversation, scores.repeat)
        {join}
    WHERE scores.arm = :arm AND {grader}
        AND (:names IS NULL OR scores.conversation IN (
            SELECT conversations.id FROM conversations JOIN json_each(:names) ON name = value
            WHERE run = (SELECT run FROM arms WHERE id = :arm)
        ))
"""
_OF_TURNS = _OF.format(join="", grader=BY_GRADER)
_OF_STEPS = _OF.format(join="JOIN predictions ON predictions.turn = turns.id", grader=BY_GRADER)


class TurnSpeed(NamedTuple):
    """The sums over turns, without the time of storing them and without costs; the seconds of each turn."""

    speed: Speed
    walls: Sequence[float]


def turn_speed(
    arm: int, grader: GraderInfo, conversations: Collection[str] | None, database: Database
) -> TurnSpeed:
    """What an arm's turns took where this grader scored them: in these conversations, by name, or in all."""
    names = None if conversations is None else json.dumps(list(conversations))
    asked = {"arm": arm, "names": names, **grader.as_json()}
    [steps] = database.query(f"SELECT count(*) AS steps, {USAGE} {_OF_STEPS}", asked)
    [clock] = database.query(f"SELECT {CLOCK} {_OF_TURNS}", asked)
    walls = database.execute(f"SELECT turns.wall_s {_OF_TURNS}", asked).fetchall()
    return TurnSpeed(speed_from(steps, clock), [seconds for (seconds,) in walls])


def speed_from(steps: Mapping[str, Any], clock: Mapping[str, Any]) -> Speed:
    """A speed from such sums. SQLite's total() is a float even of whole numbers."""
    tokens = {name: int(value) for name, value in steps.items() if not name.endswith("_s")}
    return Speed(**{**steps, **tokens, **clock})
