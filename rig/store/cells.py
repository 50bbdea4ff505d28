"""Conversations as one grader scores them, with what went wrong in each turn.

A store holds a million turns, and most of them went like others. So what is alike is held once, and one arm
is read after the other.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from sys import intern
from typing import NamedTuple

from rig.metrics import Counts
from rig.store.connect import intact
from rig.store.records import GraderInfo, StoredRun
from rig.store.scores import BY_GRADER, ScoreReader, by_kind


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
        f" (SELECT id FROM scores WHERE scores.arm = :arm AND {BY_GRADER})",
    ),
    True: _CALLS.format(of="predictions", join=""),
}
"""For which turns the matching calls were, and in which turns the incorrect actions are, with commas.

The verdicts of a run's own scores stand beside the calls, those of others in a table.
"""

_ERRORS = """
    SELECT conversation, repeat, predictions.error AS kind, count(*)
    FROM predictions JOIN turns ON turns.id = predictions.turn
    WHERE turns.arm = ? AND predictions.error IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 3
"""

NOTHING: Mapping[str, int] = {}


class CellReader(ScoreReader):
    """Reads scored conversations of a store that is open for reading."""

    def scored_cells(
        self, run: StoredRun, grader: GraderInfo, arms: Collection[int] | None = None
    ) -> Iterator[ScoredCell]:
        """Every conversation that this grader has scored, arm by arm, repeat by repeat, in order.

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
                    f"SELECT id, conversation, repeat, own FROM scores WHERE arm = :arm AND {BY_GRADER}",
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
                    )

    def _errors(self, arm: int) -> dict[tuple[int, int], dict[str, int]]:
        """How many steps of an arm failed in which way, by the conversation's id and the repeat."""
        return by_kind((row[:2], *row[2:]) for row in self._database.execute(_ERRORS, [arm]))


def _turns(known_turns: str, ends: str, *called: str | None) -> tuple[ScoredTurn, ...]:
    """The turns of a conversation, from those that are known and how they ended, in JSON, and from the turns
    of matching calls and of incorrect actions, each once for each call.
    """
    numbers = {turn: number for number, turn in enumerate(json.loads(known_turns), 1)}
    matched, bad = (Counter(map(int, text.split(",")) if text else ()) for text in called)
    return tuple(
        ScoredTurn(turn, numbers.get(turn, turn + 1), due, matched[turn], bad[turn], error)
        for turn, due, error in sorted(json.loads(ends))
    )
