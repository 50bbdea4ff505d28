"""What the turns of scored conversations took: tokens and seconds of all, and the seconds of each."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from sqlite_utils import Database

from rig.events import Speed
from rig.models import Usage
from rig.store.records import GraderInfo
from rig.store.scored.scores import BY_GRADER

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


class Took(NamedTuple):
    """The sums over turns, without the time of storing them and without costs; the seconds of each turn."""

    speed: Speed
    walls: Sequence[float]


def took(arm: int, grader: GraderInfo, conversations: Collection[str] | None, database: Database) -> Took:
    """What an arm's turns took where this grader scored them: in these conversations, by name, or in all."""
    names = None if conversations is None else json.dumps(list(conversations))
    asked = {"arm": arm, "names": names, **grader.as_json()}
    [steps] = database.query(f"SELECT count(*) AS steps, {USAGE} {_OF_STEPS}", asked)
    [clock] = database.query(f"SELECT {CLOCK} {_OF_TURNS}", asked)
    walls = database.execute(f"SELECT turns.wall_s {_OF_TURNS}", asked).fetchall()
    return Took(speed_from(steps, clock), [seconds for (seconds,) in walls])


def speed_from(steps: Mapping[str, Any], clock: Mapping[str, Any]) -> Speed:
    """A speed from such sums. SQLite's total() is a float even of whole numbers."""
    tokens = {name: int(value) for name, value in steps.items() if not name.endswith("_s")}
    return Speed(**{**steps, **tokens, **clock})
