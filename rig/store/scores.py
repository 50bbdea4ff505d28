"""Reading scores. Several graders can score a conversation; a run stands by one of them, its own."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from sys import intern
from typing import Any

from sqlite_utils import Database

from rig.store.records import GraderInfo, StoredScore
from rig.store.rows import fault_from_row
from rig.verdicts import Fault

_GRADER = [field.name for field in fields(GraderInfo)]

OWN_SCORES = f"SELECT id, arm, conversation, repeat, {', '.join(_GRADER)} FROM scores WHERE own"

_COUNTS = "SELECT score, name, value FROM counts WHERE score IN (SELECT value FROM json_each(?))"
_ERROR_TYPES = "SELECT error_type AS kind, sum(errors) AS n FROM error_types"
_FAULTS = "SELECT kind, count(*) AS n FROM faults"


def counts_of(scores: Iterable[Mapping[str, Any]], database: Database) -> dict[int, dict[str, float]]:
    """The counts that go with rows of `scores`, by the id of each."""
    found: dict[int, dict[str, float]] = {row["id"]: {} for row in scores}
    for score, name, value in database.execute(_COUNTS, [json.dumps(list(found))]):
        found[score][intern(name)] = value
    return found


def _total_of(scores: Iterable[int], database: Database) -> dict[str, float]:
    """The sums of the counts of all these scores. Only one score is in memory at a time."""
    sums: dict[str, float] = {}
    for _, name, value in database.execute(_COUNTS, [json.dumps(list(scores))]):
        sums[name] = sums.get(name, 0) + value
    return sums


def summed(position: int, rows: Iterable[Mapping[str, Any]], database: Database) -> StoredScore | None:
    """The scores of one arm by one grader taken together; None if there are none."""
    scores = list(rows)
    if not scores:
        return None
    own_ids = [row["id"] for row in scores]
    ids = json.dumps(own_ids)
    error_types, faults = (
        database.query(
            f"{query} WHERE score IN (SELECT value FROM json_each(?)) GROUP BY 1 ORDER BY 1", [ids]
        )
        for query in (_ERROR_TYPES, _FAULTS)
    )
    return StoredScore(
        arm=position,
        grader=GraderInfo(**{name: scores[0][name] for name in _GRADER}),
        counts=_total_of(own_ids, database),
        error_types={row["kind"]: row["n"] for row in error_types},
        faults={row["kind"]: row["n"] for row in faults},
    )


def scores_of(run: str, database: Database) -> list[StoredScore]:
    """What each grader makes of each arm of a run, arm by arm, the run's own grader first."""
    rows = database.query(
        "SELECT scores.*, arms.position FROM scores JOIN arms ON arms.id = arm WHERE run = ?"
        " ORDER BY arms.position, own DESC, scores.id",
        [run],
    )
    found = (summed(key[0], group, database) for key, group in _grouped(rows, "position", *_GRADER))
    return [score for score in found if score]


def suite_scores_of(run: str, database: Database) -> list[StoredScore]:
    """The scores of each suite by itself: arm by arm, suite by suite, the run's own grader first."""
    rows = database.query(
        "SELECT scores.*, arms.position, suite FROM scores JOIN arms ON arms.id = arm"
        " JOIN conversations ON conversations.id = conversation WHERE arms.run = ?"
        " ORDER BY arms.position, conversations.position, own DESC, scores.id",
        [run],
    )
    groups = _grouped(rows, "position", "suite", *_GRADER)
    found = ((key[1], summed(key[0], group, database)) for key, group in groups)
    return [replace(score, suite=suite) for suite, score in found if score]


def _grouped(
    rows: Iterable[Mapping[str, Any]], *names: str
) -> Iterable[tuple[tuple[Any, ...], list[Mapping[str, Any]]]]:
    """Rows that are equal in the columns named, in the order of their first."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups.items()


def faults_of(score: int, database: Database) -> tuple[Fault, ...]:
    """The faults that go with a score, in order."""
    rows = database.query("SELECT * FROM faults WHERE score = ? ORDER BY id", [score])
    return tuple(fault_from_row(row) for row in rows)
