"""Conversations as one grader scores them, with what went wrong in each turn.

A store holds a million turns, and most of them went like others. So what is alike is held once, and one arm
is read after the other.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from sys import intern
from typing import Any, NamedTuple, TypeAlias

from sqlite_utils import Database

from rig.metrics import Counts
from rig.store.records import GraderInfo
from rig.store.scores import BY_GRADER, OF_IDS, counts_of


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
    """A finished conversation of an arm. `source` is the SHA-256 of its file, `errors` count failed steps."""

    arm: int
    conversation: str
    source: str
    suite: str
    repeat: int
    counts: Counts
    turns: tuple[ScoredTurn, ...]
    errors: Mapping[str, int]
    error_types: Mapping[str, int]
    faults: Mapping[str, int]

    @property
    def rights(self) -> dict[int, bool]:
        """Whether each turn is right, by its number from 1, for the turns where this is known."""
        return {turn.number: turn.right for turn in self.turns if turn.right is not None}


_CONVERSATIONS = (
    "SELECT id, name, source, suite, known_turns FROM conversations WHERE run = ? ORDER BY position"
)

_SCORES = f"SELECT id, conversation, repeat, own FROM scores WHERE arm = :arm AND {BY_GRADER}"

# Both in the order of an index, so nothing is sorted.
_ENDS = """
    SELECT conversation, repeat, json_group_array(json_array(turn, wanted, error))
    FROM turns WHERE arm = :arm GROUP BY 1, 2
"""
_CALLS = """
    SELECT conversation, repeat, count(predictions.error),
        group_concat({of}.ground_truth_turn) FILTER (WHERE predictions.kind = 'call' AND {of}.match),
        group_concat(turns.turn) FILTER (WHERE predictions.kind = 'call' AND {of}.bad_action)
    FROM turns JOIN predictions ON predictions.turn = turns.id {join}
    WHERE turns.arm = :arm GROUP BY 1, 2
"""
_OWN = {"of": "predictions", "join": ""}
_LATER = {
    "of": "verdicts",
    "join": "JOIN verdicts ON verdicts.prediction = predictions.id AND verdicts.score IN"
    f" (SELECT id FROM scores WHERE scores.arm = :arm AND {BY_GRADER})",
}
"""Where the verdicts on calls are: of a run's own score beside them, of others in a table."""

_ERRORS = """
    SELECT conversation, repeat, predictions.error AS kind, count(*)
    FROM predictions JOIN turns ON turns.id = predictions.turn
    WHERE turns.arm = ? AND predictions.error IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 3
"""

_OF_SCORES = f"WHERE score IN {OF_IDS} GROUP BY 1, 2"
_KINDS = {
    "error_types": f"SELECT score, error_type, sum(errors) FROM error_types {_OF_SCORES}",
    "faults": f"SELECT score, kind, count(*) FROM faults {_OF_SCORES}",
}

_Place: TypeAlias = tuple[int, int]
"""A conversation as an arm played it, by its id, and the repeat."""


class _Calls(NamedTuple):
    """Of a conversation, how many steps failed, which turns the matching calls were for, and in which turns
    the incorrect actions are. The turns are numbers with commas, once for each call.
    """

    failed: int
    matched: str | None
    bad: str | None


_NO_CALLS = _Calls(0, None, None)
_NONE: Mapping[str, int] = {}


class _Conversation(NamedTuple):
    """A conversation of a run, with its place among them. `numbers` are those of its turns, from 1, by their
    positions, where they are known.
    """

    place: int
    name: str
    source: str
    suite: str
    numbers: Mapping[int, int]


class _Alike:
    """What many conversations as arms played them have in common, each held once."""

    def __init__(self) -> None:
        self.counts: dict[Any, Counts] = {}
        self._turns: dict[tuple[Any, ...], tuple[ScoredTurn, ...]] = {}

    def turns(self, number: Mapping[int, int], ends: str, calls: _Calls) -> tuple[ScoredTurn, ...]:
        """The turns of a conversation, from their numbers, how they ended, in JSON, and what was called."""
        key = id(number), ends, calls.matched, calls.bad
        if key not in self._turns:
            matched, bad = (
                Counter(map(int, text.split(",")) if text else ()) for text in (calls.matched, calls.bad)
            )
            self._turns[key] = tuple(
                ScoredTurn(turn, number.get(turn, turn + 1), due, matched[turn], bad[turn], error)
                for turn, due, error in sorted(json.loads(ends))
            )
        return self._turns[key]


def scored_cells(
    run: str, grader: GraderInfo, database: Database, arms: Collection[int] | None = None
) -> Iterator[ScoredCell]:
    """Every conversation of a run that this grader has scored: arm by arm, repeat by repeat, in order.

    With `arms`, only those at these positions are read.
    """
    conversations, alike = _conversations(run, database), _Alike()
    rows = database.execute("SELECT id, position FROM arms WHERE run = ? ORDER BY position", [run])
    for arm, position in rows.fetchall():
        if arms is None or position in arms:
            yield from _of_arm(arm, position, grader, conversations, alike, database)


def _of_arm(
    arm: int,
    position: int,
    grader: GraderInfo,
    conversations: Mapping[int, _Conversation],
    alike: _Alike,
    database: Database,
) -> Iterator[ScoredCell]:
    asked = {"arm": arm, **grader.as_json()}
    scores = database.execute(_SCORES, asked).fetchall()
    scores.sort(key=lambda row: (row[2], conversations[row[1]].place))
    ids = [row[0] for row in scores]
    counts = counts_of(ids, database, alike.counts)
    ends = {row[:2]: row[2] for row in database.execute(_ENDS, asked)}
    own = _calls(_OWN, asked, database)
    later = {} if all(row[3] for row in scores) else _calls(_LATER, asked, database)
    errors = errors_of(arm, database) if any(calls.failed for calls in own.values()) else {}
    types, faults = (_by_kind(database.execute(query, [json.dumps(ids)])) for query in _KINDS.values())
    for score, conversation, repeat, is_own in scores:
        of, place = conversations[conversation], (conversation, repeat)
        calls = (own if is_own else later).get(place, _NO_CALLS)
        yield ScoredCell(
            position,
            of.name,
            of.source,
            of.suite,
            repeat,
            counts[score],
            alike.turns(of.numbers, ends.get(place, "[]"), calls),
            errors.get(place, _NONE),
            types.get(score, _NONE),
            faults.get(score, _NONE),
        )


def errors_of(arm: int, database: Database) -> Mapping[_Place, Mapping[str, int]]:
    """How many steps of an arm failed in which way, by the conversation's id and the repeat."""
    return _by_kind((row[:2], *row[2:]) for row in database.execute(_ERRORS, [arm]))


def _calls(where: Mapping[str, str], asked: dict[str, Any], database: Database) -> dict[_Place, _Calls]:
    rows = database.execute(_CALLS.format(**where), asked)
    return {row[:2]: _Calls._make(row[2:]) for row in rows}


def _conversations(run: str, database: Database) -> dict[int, _Conversation]:
    """The conversations of a run by their ids. Numbers of turns that are alike are one object."""
    rows = database.execute(_CONVERSATIONS, [run]).fetchall()
    numbers = {
        text: {turn: n for n, turn in enumerate(json.loads(text), 1)} for text in {row[-1] for row in rows}
    }
    return {
        row: _Conversation(place, name, intern(source), intern(suite), numbers[text])
        for place, (row, name, source, suite, text) in enumerate(rows)
    }


def _by_kind(rows: Iterable[Sequence[Any]]) -> Mapping[Any, Mapping[str, int]]:
    """How many of which kind, by what has them."""
    counts: dict[Any, dict[str, int]] = {}
    for of, kind, number in rows:
        counts.setdefault(of, {})[intern(kind)] = number
    return counts
