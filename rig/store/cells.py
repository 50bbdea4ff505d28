"""Conversations as one grader scores them, with what went wrong in each turn and what it cost."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from sys import intern
from typing import Any, NamedTuple, TypeAlias

from sqlite_utils import Database

from rig.events import Speed
from rig.metrics import Counts
from rig.store.records import GraderInfo
from rig.store.scores import counts_of


@dataclass(frozen=True, slots=True)
class ScoredTurn:
    """An assistant turn: how many calls it should have made and how many of those were made, in any turn.

    `turn` is its position in the task, `number` counts assistant turns from 1. `wanted` is None if nobody
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
        """Whether all that was due was done, nothing wrong, and no generation failed; None if nobody knows
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
        """Whether each turn is right, by its number from 1, for the turns where this is known."""
        return {turn.number: turn.right for turn in self.turns if turn.right is not None}


_SCORES = """
    SELECT scores.*, arms.position AS arm_position, conversations.name, conversations.source,
        conversations.suite
    FROM scores JOIN arms ON arms.id = scores.arm
    JOIN conversations ON conversations.id = scores.conversation
    WHERE arms.run = :run AND (grader, grader_version, similarity) = (:grader, :grader_version, :similarity)
    ORDER BY arms.position, scores.repeat, conversations.position
"""

_TOKENS = ("prompt_tokens", "cached_tokens", "completion_tokens", "forced_tokens")
_OF_STEPS = ("prefill_s", "decode_s", "mask_s", "first_token_s")
_OF_TURNS = ("wall_s", "tools_s", "scoring_s")
_SUMS = ", ".join(f"total({name})" for name in (*_TOKENS, *_OF_STEPS))

# In the order of an index: nothing is sorted, and what is read of one conversation comes together.
_TURNS = f"""
    SELECT turns.conversation, turns.repeat, turns.turn, turns.wanted, turns.error,
        total(kind = 'call' AND bad_action), cpu_s, {", ".join(_OF_TURNS)}, count(predictions.id), {_SUMS}
    FROM turns LEFT JOIN predictions ON predictions.turn = turns.id
    WHERE turns.arm = :arm GROUP BY turns.conversation, turns.repeat, turns.turn
    ORDER BY turns.conversation, turns.repeat, turns.turn
"""
_FIRST_SUMMED = 6
"""The column of `_TURNS` from which on all are added up over the turns of a conversation; it may be None."""
_SUMMED = (*_OF_TURNS, "steps", *_TOKENS, *_OF_STEPS)
_WHOLE = frozenset((*_TOKENS, "steps"))
"""SQLite's total() is a float even of integers."""

_ERRORS = """
    SELECT arm, conversation, repeat, predictions.error AS kind, count(*) AS n
    FROM predictions JOIN turns ON turns.id = predictions.turn JOIN arms ON arms.id = arm
    WHERE arms.run = :run AND predictions.error IS NOT NULL GROUP BY 1, 2, 3, 4 ORDER BY 4
"""

_MATCHED = """
    SELECT turns.conversation, turns.repeat, {of}.ground_truth_turn, count(*)
    FROM turns JOIN predictions ON predictions.turn = turns.id {join}
    WHERE turns.arm = :arm AND predictions.kind = 'call' AND {of}.match
        AND {of}.ground_truth_turn IS NOT NULL GROUP BY 1, 2, 3
"""
_BAD = """
    SELECT turns.conversation, turns.repeat, turns.turn, count(*)
    FROM turns JOIN predictions ON predictions.turn = turns.id {join}
    WHERE turns.arm = :arm AND predictions.kind = 'call' AND {of}.bad_action GROUP BY 1, 2, 3
"""
_OWN = {"of": "predictions", "join": ""}
_LATER = {
    "of": "verdicts",
    "join": "JOIN verdicts ON verdicts.prediction = predictions.id"
    " JOIN scores ON scores.id = verdicts.score"
    " AND (grader, grader_version, similarity) = (:grader, :grader_version, :similarity)",
}
"""Where the verdicts on calls are: of a run's own score beside them, of others in a table."""

_KINDS = {
    "error_types": "SELECT score, error_type AS kind, sum(errors) AS n FROM error_types",
    "faults": "SELECT score, kind, count(*) AS n FROM faults",
}


class _Place(NamedTuple):
    """A conversation as an arm played it, by ids."""

    arm: int
    conversation: int
    repeat: int


_ByTurn: TypeAlias = dict[_Place, dict[int, int]]


def scored_cells(run: str, grader: GraderInfo, database: Database) -> list[ScoredCell]:
    """Every conversation of a run that this grader has scored: arm by arm, repeat by repeat, in order."""
    given = {"run": run, **grader.as_json()}
    scores = list(database.query(_SCORES, given))
    counts = counts_of(scores, database)
    errors: dict[_Place, dict[str, int]] = {}
    for row in database.query(_ERRORS, given):
        errors.setdefault(_place(row), {})[row["kind"]] = row["n"]
    own = {_place(row): bool(row["own"]) for row in scores}
    turns: dict[_Place, tuple[tuple[ScoredTurn, ...], Speed]] = {}
    numbers = _numbers(run, database)
    for arm in dict.fromkeys(place.arm for place in own):
        turns |= _turns_of(arm, given, own, numbers, database)
    kinds = {name: _by_score(database.query(f"{query} GROUP BY 1, 2")) for name, query in _KINDS.items()}
    return [_cell(row, counts, turns.get(_place(row), ((), _speed([]))), errors, kinds) for row in scores]


def _turns_of(
    arm: int,
    given: Mapping[str, Any],
    own: Mapping[_Place, bool],
    numbers: Mapping[int, Mapping[int, int]],
    database: Database,
) -> dict[_Place, tuple[tuple[ScoredTurn, ...], Speed]]:
    """The turns of the conversations that are `own` or not, with what they took; one at a time.

    The rows of all are many times what is kept of them.
    """
    asked = {**given, "arm": arm}
    later = {place for place, is_own in own.items() if place.arm == arm and not is_own}
    matched = _counted(_MATCHED, asked, later, database)
    bad = _counted(_BAD, asked, later, database) if later else {}
    found = {}
    for (conversation, repeat), rows in groupby(database.execute(_TURNS, asked), _CELL):
        place = _Place(arm, conversation, repeat)
        if place in own:
            number, of_it = numbers[conversation], list(rows)
            right = matched.get(place, {})
            wrong = bad.get(place, {}) if place in later else {row[2]: int(row[5]) for row in of_it}
            found[place] = (
                tuple(
                    ScoredTurn(
                        turn,
                        number.get(turn, turn + 1),
                        wanted,
                        right.get(turn, 0),
                        wrong.get(turn, 0),
                        error,
                        wall_s,
                    )
                    for _, _, turn, wanted, error, _, _, wall_s, *_ in of_it
                ),
                _speed(of_it),
            )
    return found


_CELL = itemgetter(0, 1)


def _numbers(run: str, database: Database) -> dict[int, dict[int, int]]:
    """The numbers of the turns of each conversation, from 1, by position, where they are known."""
    rows = database.execute("SELECT id, known_turns FROM conversations WHERE run = ?", [run])
    return {row: {turn: n for n, turn in enumerate(json.loads(known), 1)} for row, known in rows}


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


def _counted(query: str, asked: dict[str, Any], later: Collection[_Place], database: Database) -> _ByTurn:
    """Calls by conversation and turn, of each conversation by the verdicts of the score that is read."""
    found: _ByTurn = {}
    for is_later, where in ((False, _OWN), (True, _LATER)) if later else ((False, _OWN),):
        for conversation, repeat, turn, n in database.execute(query.format(**where), asked):
            place = _Place(asked["arm"], conversation, repeat)
            if (place in later) is is_later:
                found.setdefault(place, {})[turn] = n
    return found


def _speed(rows: Sequence[Sequence[Any]]) -> Speed:
    """What turns took, of rows of `_TURNS`."""
    columns = list(zip(*rows, strict=True))[_FIRST_SUMMED:] if rows else [()] * (len(_SUMMED) + 1)
    cpu, *summed = columns
    sums = {
        name: int(sum(column)) if name in _WHOLE else float(sum(column))
        for name, column in zip(_SUMMED, summed, strict=True)
    }
    return Speed(**sums, cpu_s=None if None in cpu else sum(cpu))  # type: ignore[arg-type]


def _by_score(rows: Iterable[Mapping[str, Any]]) -> dict[int, dict[str, int]]:
    found: dict[int, dict[str, int]] = {}
    for row in rows:
        found.setdefault(row["score"], {})[row["kind"]] = row["n"]
    return found


def _place(row: Mapping[str, Any]) -> _Place:
    return _Place(row["arm"], row["conversation"], row["repeat"])
