"""Pausing, stopping and skipping, from another thread or from the midst of an event."""

import threading
from pathlib import Path

import pytest
import small_talks
from counted import measured

from rig.core.events import (
    ConversationSkipped,
    ConversationStarted,
    Event,
    Notice,
    PieceGenerated,
    PredictionMade,
    RunFinished,
    TurnFinished,
    TurnStarted,
    Where,
)
from rig.methods.scripted import Scripted, replied
from rig.running.control import Control, Stopped
from rig.running.runner import run


def _stop_at(path: Path, kind: type, occurrence: int) -> list[Event]:
    """Run with a control that is stopped when this event occurs for the n-th time (from 0)."""
    control, events = Control(), []
    left = occurrence

    def emit(event: Event) -> None:
        nonlocal left
        events.append(event)
        if isinstance(event, kind):
            if left == 0:
                control.stop()
            left -= 1

    model = Scripted(small_talks.erratic, chunk=5)
    assert run(small_talks.plan(path, model), emit, control) is False
    return events


@pytest.mark.parametrize(
    "kind", [TurnStarted, PieceGenerated, PredictionMade, TurnFinished, ConversationStarted]
)
@pytest.mark.parametrize("occurrence", [0, 3])
def test_a_stop_is_heeded_at_once_and_leaves_whole_turns(tmp_path: Path, kind: type, occurrence: int) -> None:
    path = tmp_path / "runs.sqlite"
    if kind is ConversationStarted:
        occurrence = min(occurrence, 2)
    events = _stop_at(path, kind, occurrence)
    assert isinstance(events[-1], RunFinished)
    assert events[-1].interrupted
    # What was asked for during the last step of a turn comes when the turn is stored.
    ended = isinstance(events[-3], kind) and isinstance(events[-2], TurnFinished)
    assert isinstance(events[-2], kind) or ended
    stored = small_talks.stored(path)
    assert stored.turns_done == sum(isinstance(event, TurnFinished) for event in events)
    assert stored.state == "interrupted"


def test_a_stop_before_the_first_model_is_loaded_stores_nothing(tmp_path: Path) -> None:
    control = Control()
    control.stop()
    assert (
        run(small_talks.plan(tmp_path / "runs.sqlite", small_talks.oracle()), lambda event: None, control)
        is False
    )
    assert not list(tmp_path.iterdir())


def test_a_pause_holds_the_next_turn_until_it_is_over(tmp_path: Path) -> None:
    control = Control()
    paused, counts = threading.Event(), []
    turns = 0

    def emit(event: Event) -> None:
        nonlocal turns
        if isinstance(event, TurnFinished):
            turns += 1
            if turns == 2:
                control.pause()
                paused.set()

    model = Scripted(lambda request: replied(""))
    worker = threading.Thread(
        target=lambda: run(small_talks.plan(tmp_path / "runs.sqlite", model), emit, control)
    )
    worker.start()
    assert paused.wait(60)
    worker.join(0.2)
    counts.append(turns)
    assert control.is_paused
    control.resume()
    worker.join(10)
    assert not worker.is_alive()
    assert [*counts, turns] == [2, 8]


def test_a_stop_ends_a_pause(tmp_path: Path) -> None:
    control = Control()
    control.pause()
    worker = threading.Thread(
        target=lambda: run(
            small_talks.plan(tmp_path / "runs.sqlite", small_talks.oracle()), lambda e: None, control
        )
    )
    worker.start()
    control.stop()
    worker.join(10)
    assert not worker.is_alive()
    with pytest.raises(Stopped):
        control.wait()


def test_a_skipped_conversation_is_left_where_it_is_and_played_on_resuming(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    control, events = Control(), []
    control.skip(Where(0, "login"))

    def emit(event: Event) -> None:
        events.append(event)
        if isinstance(event, TurnFinished) and event.where.conversation == "alarms":
            control.skip(Where(0, "alarms"))

    assert run(small_talks.plan(path, small_talks.oracle()), emit, control) is False
    notices = [event.text for event in events if isinstance(event, Notice)]
    assert [notice.split(";")[0] for notice in notices] == ["skipped alarms", "skipped login"]
    skipped = [event for event in events if isinstance(event, ConversationSkipped)]
    assert skipped == [ConversationSkipped(Where(0, "alarms"), 2), ConversationSkipped(Where(0, "login"), 2)]
    assert small_talks.stored(path).turns_done == 1 + 3
    assert small_talks.play(small_talks.plan(path, small_talks.oracle(), resume=True))
    stored = small_talks.stored(path)
    assert (stored.state, stored.turns_done, measured(stored.arms[0].counts).success_rate) == (
        "finished",
        8,
        1,
    )
