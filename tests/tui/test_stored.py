"""What is read from the store tells the same story as the events did."""

from pathlib import Path

import small_talks

from rig.core.events import CallJudged, Event, PredictionMade, TurnStarted
from rig.methods.scripted import Scripted
from rig.store import Runs
from tui.stored.record import turn_events


def test_stored_turns_give_the_events_they_were_played_with(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    happened = small_talks.play(small_talks.plan(store, Scripted(small_talks.erratic), repeats=4))
    live = [event for event in happened if isinstance(event, TurnStarted | PredictionMade | CallJudged)]
    last = {
        (event.where, each.turn, each.step): each.verdict
        for event in live
        if isinstance(event, CallJudged)
        for each in event.rejudged
    }
    told: list[Event] = []
    with Runs.open(store) as runs:
        run = runs.get("abcde")
        for where in dict.fromkeys(event.where for event in live):
            transcript = runs.transcript(run, where.conversation, where.arm, where.repeat)
            for turn in transcript.turns:
                told += turn_events(where, transcript, turn)
    assert [_final(event, last) for event in live] == [_final(event, {}) for event in told]


def _final(event: Event, last: dict[tuple[object, int, int], object]) -> object:
    """An event as it would be had it been told after the conversation, its raw text as it can be stored."""
    if isinstance(event, CallJudged):
        verdict = last.get((event.where, event.turn, event.step), event.verdict)
        return (event.where, event.turn, event.step, event.executed, verdict)
    return repr(event).replace("\\\\ud800", "\\ud800")
