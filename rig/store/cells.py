"""Conversations as one grader scores them, with what went wrong in each turn and what it cost.

A store holds a million turns, and most of them went like others. So what is alike is held once, and one arm
is read after the other.
"""

import json
import math
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from sys import intern
from typing import Any, NamedTuple, TypeAlias

from sqlite_utils import Database

from rig.events import Speed
from rig.metrics import Counts
from rig.store.records import GraderInfo
from rig.store.scores import OF_IDS, counts_of


class ScoredTurn(NamedTuple):
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

    @property
    def right(self) -> bool | None:
        """Whether all that was due was done, nothing wrong, and no generation failed; None if nobody knows
        what was due.
        """
        if self.wanted is None:
            return None
        return self.matched == self.wanted and not self.bad_actions and self.error is None


class ScoredCell(NamedTuple):
    """A finished conversation of an arm. `source` is the SHA-256 of its file, `errors` count failed steps.

    `walls` are the seconds of each of its turns, `took` what all of them took, for `speed_of`.
    """

    arm: int
    conversation: str
    source: str
    suite: str
    repeat: int
    counts: Counts
    turns: tuple[ScoredTurn, ...]
    walls: Sequence[float]
    took: Sequence[float]
    errors: Mapping[str, int]
    error_types: Mapping[str, int]
    faults: Mapping[str, int]

    @property
    def rights(self) -> dict[int, bool]:
        """Whether each turn is right, by its number from 1, for the turns where this is known."""
        return {turn.number: turn.right for turn in self.turns if turn.right is not None}


_SCORES = """
    SELECT scores.id, scores.conversation, scores.repeat, scores.own, conversations.name,
        conversations.source, conversations.suite
    FROM scores JOIN conversations ON conversations.id = scores.conversation
    WHERE scores.arm = :arm
        AND (grader, grader_version, similarity) = (:grader, :grader_version, :similarity)
    ORDER BY scores.repeat, conversations.position
"""

_TOKENS = ("prompt_tokens", "cached_tokens", "completion_tokens", "forced_tokens")
_OF_STEPS = ("prefill_s", "decode_s", "mask_s", "first_token_s")
_OF_TURNS = ("wall_s", "tools_s", "scoring_s")
_SUMS = ", ".join(f"total({name})" for name in (*_TOKENS, *_OF_STEPS))

# All three in the order of an index, so nothing is sorted, and each with the same conversations.
_CLOCKS = f"""
    SELECT conversation, repeat, json_group_array(json_array(turn, wanted, error)),
        CASE WHEN count(cpu_s) = count(*) THEN total(cpu_s) END,
        {", ".join(f"total({name})" for name in _OF_TURNS)}
    FROM turns WHERE arm = :arm GROUP BY conversation, repeat ORDER BY conversation, repeat
"""
_STEPS = f"""
    SELECT count(predictions.error), count(predictions.id), {_SUMS}
    FROM turns LEFT JOIN predictions ON predictions.turn = turns.id
    WHERE turns.arm = :arm GROUP BY turns.conversation, turns.repeat
    ORDER BY turns.conversation, turns.repeat
"""
_WALLS = """
    SELECT conversation, repeat, wall_s FROM turns WHERE arm = :arm ORDER BY conversation, repeat, turn
"""
_SUMMED = (*_OF_TURNS, "steps", *_TOKENS, *_OF_STEPS)
"""What `ScoredCell.took` has after the CPU time, which may be unknown."""
_WHOLE = frozenset((*_TOKENS, "steps"))
"""SQLite's total() is a float even of integers."""
_NOTHING = array("d", [0.0] * (1 + len(_SUMMED)))

_ERRORS = """
    SELECT conversation, repeat, predictions.error AS kind, count(*)
    FROM predictions JOIN turns ON turns.id = predictions.turn
    WHERE turns.arm = ? AND predictions.error IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 3
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

_OF_SCORES = f"WHERE score IN {OF_IDS} GROUP BY 1, 2"
_KINDS = {
    "error_types": f"SELECT score, error_type, sum(errors) FROM error_types {_OF_SCORES}",
    "faults": f"SELECT score, kind, count(*) FROM faults {_OF_SCORES}",
}


_Place: TypeAlias = tuple[int, int]
"""A conversation as an arm played it, by its id, and the repeat."""


class _Played(NamedTuple):
    """What is known of a conversation's turns, whether or not anything failed in them."""

    turns: tuple[ScoredTurn, ...]
    walls: Sequence[float]
    took: Sequence[float]
    failed: bool


_ByTurn: TypeAlias = dict[_Place, dict[int, int]]
_Kinds: TypeAlias = Mapping[Any, Mapping[str, int]]

_UNPLAYED = _Played((), (), _NOTHING, False)
_NONE: Mapping[str, int] = {}


def scored_cells(
    run: str, grader: GraderInfo, database: Database, arms: Collection[int] | None = None
) -> Iterator[ScoredCell]:
    """Every conversation of a run that this grader has scored: arm by arm, repeat by repeat, in order.

    With `arms`, only those at these positions are read.
    """
    numbers = _numbers(run, database)
    known: dict[Any, Any] = {}
    rows = database.execute("SELECT id, position FROM arms WHERE run = ? ORDER BY position", [run])
    for arm, position in rows.fetchall():
        if arms is None or position in arms:
            yield from _of_arm(arm, position, grader, numbers, known, database)


def _of_arm(
    arm: int,
    position: int,
    grader: GraderInfo,
    numbers: Mapping[int, Mapping[int, int]],
    known: dict[Any, Any],
    database: Database,
) -> Iterator[ScoredCell]:
    asked = {"arm": arm, **grader.as_json()}
    scores = database.execute(_SCORES, asked).fetchall()
    ids = [row[0] for row in scores]
    counts = counts_of(ids, database)
    own = {(conversation, repeat): bool(is_own) for _, conversation, repeat, is_own, *_ in scores}
    played = _played(asked, own, numbers, known, database)
    failed = any(each.failed for each in played.values())
    errors = errors_of(arm, database) if failed else {}
    types, faults = (_by_kind(database.execute(query, [json.dumps(ids)])) for query in _KINDS.values())
    for score, conversation, repeat, _, name, source, suite in scores:
        place = conversation, repeat
        turns, walls, took, _ = played.get(place, _UNPLAYED)
        yield ScoredCell(
            position,
            intern(name),
            intern(source),
            intern(suite),
            repeat,
            counts[score],
            turns,
            walls,
            took,
            errors.get(place, _NONE),
            types.get(score, _NONE),
            faults.get(score, _NONE),
        )


def errors_of(arm: int, database: Database) -> Mapping[tuple[int, int], Mapping[str, int]]:
    """How many steps of an arm failed in which way, by the conversation's id and the repeat."""
    return _by_kind((row[:2], *row[2:]) for row in database.execute(_ERRORS, [arm]))


def speed_of(cells: Iterable[ScoredCell]) -> Speed:
    """What conversations took, but the time spent storing and the costs, which are those of an arm."""
    cpu, *summed = zip(*(cell.took for cell in cells), strict=True)
    sums = {
        name: int(sum(column)) if name in _WHOLE else float(sum(column))
        for name, column in zip(_SUMMED, summed, strict=True)
    }
    return Speed(**sums, cpu_s=None if any(map(math.isnan, cpu)) else sum(filter(None, cpu)))  # type: ignore[arg-type]


def _played(
    asked: dict[str, Any],
    own: Mapping[_Place, bool],
    numbers: Mapping[int, Mapping[int, int]],
    known: dict[Any, Any],
    database: Database,
) -> dict[_Place, _Played]:
    """The turns of the conversations that are `own` or not, with what they took; one at a time.

    The rows of all are many times what is kept of them. `known` are turns of which others are the same.
    """
    later = {place for place, is_own in own.items() if not is_own}
    matched, bad = (_counted(query, asked, later, database) for query in (_MATCHED, _BAD))
    clocks, steps, walls = (database.execute(query, asked) for query in (_CLOCKS, _STEPS, _WALLS))
    found = {}
    for (_, _, ends, cpu, *times), (failed, *sums), (place, wall) in zip(
        clocks, steps, groupby(walls, _CELL), strict=True
    ):
        if place not in own:
            continue
        number = numbers[place[0]]
        right, wrong = (counted.get(place, _NO_TURNS) for counted in (matched, bad))
        key = id(number), ends, tuple(right.items()), tuple(wrong.items())
        if key not in known:
            known[key] = tuple(
                ScoredTurn(at, number.get(at, at + 1), wanted, right.get(at, 0), wrong.get(at, 0), error)
                for at, wanted, error in sorted(json.loads(ends))
            )
        took = array("d", [math.nan if cpu is None else cpu, *times, *sums])
        found[place] = _Played(known[key], array("d", [row[2] for row in wall]), took, bool(failed))
    return found


_CELL = itemgetter(0, 1)
_NO_TURNS: Mapping[int, int] = {}


def _numbers(run: str, database: Database) -> dict[int, dict[int, int]]:
    """The numbers of the turns of each conversation, from 1, by position, where they are known."""
    rows = database.execute("SELECT id, known_turns FROM conversations WHERE run = ?", [run]).fetchall()
    numbers = {known: {turn: n for n, turn in enumerate(json.loads(known), 1)} for _, known in set(rows)}
    return {row: numbers[known] for row, known in rows}


def _counted(query: str, asked: dict[str, Any], later: Collection[_Place], database: Database) -> _ByTurn:
    """Calls by conversation and turn, of each conversation by the verdicts of the score that is read."""
    found: _ByTurn = {}
    for is_later, where in ((False, _OWN), (True, _LATER)) if later else ((False, _OWN),):
        for conversation, repeat, turn, n in database.execute(query.format(**where), asked):
            place = conversation, repeat
            if (place in later) is is_later:
                found.setdefault(place, {})[turn] = n
    return found


def _by_kind(rows: Iterable[Sequence[Any]]) -> _Kinds:
    """How many of which kind, by what has them."""
    found: dict[Any, dict[str, int]] = {}
    for of, kind, number in rows:
        found.setdefault(of, {})[intern(kind)] = number
    return found
