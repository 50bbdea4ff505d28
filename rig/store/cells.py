"""Conversations as one grader scores them, with what went wrong in each turn and what it took."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from sys import intern
from typing import Any, NamedTuple

from sqlite_utils import Database

from rig.events import Speed
from rig.metrics import Counts
from rig.store.records import GraderInfo
from rig.store.scores import counts_of
from rig.store.views import number


@dataclass(frozen=True, slots=True)
class ScoredTurn:
    """An assistant turn: how many calls it should have made and how many of those were made, in any turn.

    `turn` is its position in the task, `number` counts assistant turns from 1. `wanted` is None where nobody
    knows beforehand what is due in which turn. `bad_actions` are the incorrect
    actions of the turn itself, `error` is why it ended without a reply.
    """

    turn: int
    number: int
    wanted: int | None
    matched: int
    bad_actions: int
    error: str | None
    wall_s: float

    @property
    def right(self) -> bool | None:
        """Whether all that was due was done, nothing wrong, and no generation failed; None where nobody knows
        what was due.
        """
        if self.wanted is None:
            return None
        return self.matched == self.wanted and not self.bad_actions and self.error is None


@dataclass(frozen=True, slots=True)
class ScoredCell:
    """A finished conversation of an arm. `source` is the SHA-256 of its file, `errors` count failed steps.

    Of `speed`, the time spent storing and the costs of the arm are not known by conversation.
    """

    arm: int
    conversation: str
    source: str
    suite: str
    repeat: int
    counts: Counts
    turns: tuple[ScoredTurn, ...]
    speed: Speed
    errors: Mapping[str, int] = field(default_factory=dict)
    error_types: Mapping[str, int] = field(default_factory=dict)
    faults: Mapping[str, int] = field(default_factory=dict)

    @property
    def rights(self) -> dict[int, bool]:
        """Whether each turn is right of which that can be said, by its number from 1."""
        return {turn.number: turn.right for turn in self.turns if turn.right is not None}


_SCORES = """
    SELECT scores.*, arms.position AS arm_position, conversations.name, conversations.source,
        conversations.suite
    FROM scores JOIN arms ON arms.id = scores.arm
    JOIN conversations ON conversations.id = scores.conversation
    WHERE arms.run = :run AND (grader, grader_version, similarity) = (:grader, :grader_version, :similarity)
    ORDER BY arms.position, scores.repeat, conversations.position
"""

_TURNS = f"""
    SELECT turns.id, arm, conversation, repeat, turns.turn, {number("turns.turn")} AS number, turns.wanted,
        turns.error, wall_s, tools_s, scoring_s, cpu_s,
        count(predictions.id) AS steps, total(prompt_tokens) AS prompt_tokens,
        total(cached_tokens) AS cached_tokens, total(completion_tokens) AS completion_tokens,
        total(forced_tokens) AS forced_tokens, total(prefill_s) AS prefill_s, total(decode_s) AS decode_s,
        total(mask_s) AS mask_s, total(first_token_s) AS first_token_s
    FROM turns JOIN arms ON arms.id = arm JOIN conversations ON conversations.id = conversation
    LEFT JOIN predictions ON predictions.turn = turns.id
    WHERE arms.run = :run GROUP BY arm, conversation, repeat, turns.turn
    ORDER BY arm, conversation, repeat, turns.turn
"""

_ERRORS = """
    SELECT arm, conversation, repeat, predictions.error AS kind, count(*) AS n
    FROM predictions JOIN turns ON turns.id = predictions.turn JOIN arms ON arms.id = arm
    WHERE arms.run = :run AND predictions.error IS NOT NULL GROUP BY 1, 2, 3, 4 ORDER BY 4
"""

_CALLS = """
    FROM predictions JOIN turns ON turns.id = predictions.turn JOIN arms ON arms.id = turns.arm
    {join} WHERE arms.run = :run AND predictions.kind = 'call' AND
"""
_MATCHED = """
    SELECT turns.arm, turns.conversation, turns.repeat, {of}.ground_truth_turn AS turn, count(*) AS n
    {calls} {of}.match AND {of}.ground_truth_turn IS NOT NULL GROUP BY 1, 2, 3, 4
"""
_BAD = """
    SELECT turns.arm, turns.conversation, turns.repeat, turns.turn, count(*) AS n
    {calls} {of}.bad_action GROUP BY 1, 2, 3, 4
"""
_OWN = "predictions", _CALLS.format(join="")
_LATER = (
    "verdicts",
    _CALLS.format(
        join="JOIN verdicts ON verdicts.prediction = predictions.id JOIN scores ON scores.id = verdicts.score"
        " AND (grader, grader_version, similarity) = (:grader, :grader_version, :similarity)"
    ),
)
"""Where the verdicts on calls are: of a run's own score beside them, of others in a table."""

_KINDS = {
    "error_types": "SELECT score, error_type AS kind, sum(errors) AS n FROM error_types",
    "faults": "SELECT score, kind, count(*) AS n FROM faults",
}

_TOKENS = ("prompt_tokens", "cached_tokens", "completion_tokens", "forced_tokens", "steps")
_SECONDS = ("prefill_s", "decode_s", "mask_s", "first_token_s", "tools_s", "scoring_s", "wall_s")


class _Place(NamedTuple):
    """A conversation as an arm played it, by ids."""

    arm: int
    conversation: int
    repeat: int


def scored_cells(run: str, grader: GraderInfo, database: Database) -> list[ScoredCell]:
    """Every conversation of a run that this grader has scored: arm by arm, repeat by repeat, in order."""
    given = {"run": run, **grader.as_json()}
    scores = list(database.query(_SCORES, given))
    counts = counts_of(scores, database)
    own = {_place(row): bool(row["own"]) for row in scores}
    errors: dict[_Place, dict[str, int]] = {}
    for row in database.query(_ERRORS, given):
        errors.setdefault(_place(row), {})[row["kind"]] = row["n"]
    matched, bad = (_counted(query, given, own, database) for query in (_MATCHED, _BAD))
    turns: dict[_Place, tuple[tuple[ScoredTurn, ...], Speed]] = {}
    # One conversation at a time: the rows of all are many times what is kept of them.
    for place, rows in groupby(database.query(_TURNS, given), _place):
        if place in own:
            of_it = list(rows)
            turns[place] = _turns(of_it, matched.get(place, {}), bad.get(place, {})), _speed(of_it)
    kinds = {name: _by_score(database.query(f"{query} GROUP BY 1, 2")) for name, query in _KINDS.items()}
    return [_cell(row, counts, turns.get(_place(row), ((), _speed([]))), errors, kinds) for row in scores]


def _cell(
    row: Mapping[str, Any],
    counts: Mapping[int, Counts],
    turns: tuple[tuple[ScoredTurn, ...], Speed],
    errors: Mapping[_Place, Mapping[str, int]],
    kinds: Mapping[str, Mapping[int, Mapping[str, int]]],
) -> ScoredCell:
    return ScoredCell(
        arm=row["arm_position"],
        conversation=intern(row["name"]),
        source=intern(row["source"]),
        suite=intern(row["suite"]),
        repeat=row["repeat"],
        counts=counts[row["id"]],
        turns=turns[0],
        speed=turns[1],
        errors=errors.get(_place(row), {}),
        error_types=kinds["error_types"].get(row["id"], {}),
        faults=kinds["faults"].get(row["id"], {}),
    )


def _counted(
    query: str, given: dict[str, Any], own: Mapping[_Place, bool], database: Database
) -> dict[_Place, dict[int, int]]:
    """Calls by conversation and turn, of each conversation by the verdicts of the score that is read."""
    found: dict[_Place, dict[int, int]] = {}
    for is_own, (of, calls) in ((True, _OWN), (False, _LATER)):
        for row in database.query(query.format(of=of, calls=calls), given):
            if own.get(_place(row)) is is_own:
                found.setdefault(_place(row), {})[row["turn"]] = row["n"]
    return found


def _turns(
    rows: Iterable[Mapping[str, Any]], matched: Mapping[int, int], bad: Mapping[int, int]
) -> tuple[ScoredTurn, ...]:
    return tuple(
        ScoredTurn(
            row["turn"],
            row["number"],
            row["wanted"],
            matched.get(row["turn"], 0),
            bad.get(row["turn"], 0),
            row["error"],
            row["wall_s"],
        )
        for row in rows
    )


def _speed(rows: list[dict[str, Any]]) -> Speed:
    # SQLite's total() is a float even of integers.
    sums: dict[str, Any] = {name: int(sum(row[name] for row in rows)) for name in _TOKENS}
    sums |= {name: float(sum(row[name] for row in rows)) for name in _SECONDS}
    cpu = [row["cpu_s"] for row in rows]
    return Speed(**sums, cpu_s=None if None in cpu else sum(cpu))


def _by_score(rows: Iterable[Mapping[str, Any]]) -> dict[int, dict[str, int]]:
    found: dict[int, dict[str, int]] = {}
    for row in rows:
        found.setdefault(row["score"], {})[row["kind"]] = row["n"]
    return found


def _place(row: Mapping[str, Any]) -> _Place:
    return _Place(row["arm"], row["conversation"], row["repeat"])
