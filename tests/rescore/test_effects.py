"""What each call did to the world."""

from dataclasses import replace
from pathlib import Path

import pytest
import small_talks
import small_world

from rig.core.calls import Call, ExecutedCall, Outcome
from rig.core.errors import RigError
from rig.core.models import Prediction
from rig.core.tasks import PlayedTurn, Step
from rig.methods.scripted import Scripted
from rig.plugins.matching.worlds import Effect
from rig.plugins.rescore.reexecute import effects, effects_of
from rig.store import Runs


def did(*calls: Call, turn: int = 1, compat: bool = False) -> list[Effect]:
    """What these calls of one turn of the first conversation do."""
    steps = tuple(Step(Prediction(call=call), ExecutedCall(call, Outcome())) for call in calls)
    conversation = small_talks.conversations()[0]
    return list(effects(conversation, {turn: PlayedTurn(turn, steps)}, small_talks.setup()))


def shown(effect: Effect) -> list[str]:
    return [f"{change.kind} {change.table}" for change in effect.diff.changes if not change.is_bookkeeping]


def test_each_call_is_told_apart_from_those_before_it() -> None:
    first, second, third, fourth = did(
        Call("AddAlarm", {"time": "07:00:00"}),
        Call("FindAlarms", {"start_range": "00:00:00", "end_range": "23:59:59"}),
        Call("DeleteAlarm", {"alarm_id": "0001-0002"}),
        Call("DeleteAlarm", {"alarm_id": "no such"}),
    )
    assert [shown(each) for each in (first, second, third, fourth)] == [
        ["added alarms"],
        [],
        ["removed alarms"],
        [],
    ]
    assert [(each.turn, each.step) for each in (first, fourth)] == [(1, 0), (1, 3)]


def test_a_turn_begins_where_the_truth_leaves_the_world() -> None:
    # The ground truth of turn 1 adds an alarm; the third turn's call adds the one after it.
    [effect] = did(Call("AddAlarm", {"time": "09:00:00"}), turn=3)
    [alarm, drawn] = effect.diff.changes
    assert dict(alarm.key)["username"] == "mara"
    assert drawn.columns[0].before == 1


def test_stored_calls_have_effects_and_give_what_they_gave(tmp_path: Path) -> None:
    folder = small_world.write(tmp_path / "databases")
    path = tmp_path / "runs.sqlite"
    recipe = {"models": ["oracle"], "world": str(folder), "similarity": "exact"}
    small_talks.play(small_talks.plan(path, Scripted(small_talks.erratic), recipe=recipe))
    with Runs.open(path) as runs:
        run = runs.get("abcde")
        transcript = runs.transcript(run, "alarms")
    found = effects_of(run, transcript)
    calls = [
        (turn, step) for turn, played in transcript.turns.items() for step in range(len(played.executed))
    ]
    assert list(found.by_call) == calls
    assert not found.other_world
    assert not any(effect.differs for effect in found.by_call.values())
    assert found.by_call[calls[0]].as_json()["position"] == calls[0][0]

    changed = replace(run, arms=(replace(run.arms[0], fingerprint={"world_sha256": "another"}),))
    assert effects_of(changed, transcript).other_world
    gone = replace(run, settings={**run.settings, "world": str(tmp_path / "nowhere")})
    with pytest.raises(RigError, match="nowhere"):
        effects_of(gone, transcript)
