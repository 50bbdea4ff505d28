"""Several conversations of an arm under way at once: the same results, whatever the interleaving."""

import itertools
import threading
from pathlib import Path

import pytest
import small_talks

from rig.core.events import ConversationStarted, Event, TurnFinished, TurnStarted
from rig.methods.scripted import Scripted, replied
from rig.running.control import Control
from rig.running.runner import run
from rig.store import Runs


def _play(path: Path, slots: int, **choices: object) -> list[Event]:
    return small_talks.play(
        small_talks.plan(path, Scripted(small_talks.erratic, slots=slots), repeats=2, **choices)
    )


def _steps(path: Path) -> dict[object, object]:
    """Everything that was predicted and judged, by arm, conversation, repeat and turn; and the metrics."""
    found: dict[object, object] = {}
    with Runs.open(path) as runs:
        [run] = runs.all()
        for cell in runs.cells(run):
            transcript = runs.transcript(run, cell.conversation, cell.arm, cell.repeat)
            for turn, played in transcript.turns.items():
                found[cell.conversation, cell.repeat, turn] = played.steps
        found["metrics"] = [arm.counts for arm in run.arms]
    return found


@pytest.mark.parametrize("slots", [2, 3, 20])
def test_what_is_stored_does_not_depend_on_how_many_are_under_way(tmp_path: Path, slots: int) -> None:
    _play(tmp_path / "one.sqlite", 1)
    _play(tmp_path / "many.sqlite", slots)
    assert _steps(tmp_path / "many.sqlite") == _steps(tmp_path / "one.sqlite")


def test_events_of_one_conversation_are_ordered_and_those_of_several_interleave(tmp_path: Path) -> None:
    alone = [event for event in _play(tmp_path / "one.sqlite", 1) if hasattr(event, "where")]
    together = [event for event in _play(tmp_path / "many.sqlite", 3) if hasattr(event, "where")]
    places = [event.where for event in together]
    assert len([key for key, _ in itertools.groupby(places)]) > 3 * len(set(places))
    for where in set(places):
        kinds = [[type(event) for event in events if event.where == where] for events in (alone, together)]
        assert kinds[0] == kinds[1]
        turns = [e.turn for e in together if e.where == where and isinstance(e, TurnStarted | TurnFinished)]
        assert turns == sorted(turns)


@pytest.mark.slow
def test_the_times_of_turns_add_up_to_no_more_than_the_run_took(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    model = Scripted(small_talks.erratic, slots=3, chunk=5, delay_s=0.002)
    started = small_talks.play(small_talks.plan(path, model))
    [arm] = small_talks.stored(path).arms
    pauses = 0.002 * sum(type(event).__name__ == "PieceGenerated" for event in started)
    assert pauses <= arm.speed.wall_s <= 3 * pauses + 2


def test_a_pause_lets_every_turn_end_and_begins_none(tmp_path: Path) -> None:
    control, events = Control(), []
    paused = threading.Event()

    def emit(event: Event) -> None:
        events.append(event)
        if isinstance(event, TurnFinished) and not control.is_paused and not paused.is_set():
            control.pause()
            paused.set()

    model = Scripted(lambda request: replied(""), slots=3)
    todo = small_talks.plan(tmp_path / "runs.sqlite", model)
    worker = threading.Thread(target=lambda: run(todo, emit, control))
    worker.start()
    assert paused.wait(60)
    worker.join(0.2)
    assert worker.is_alive()
    under_way = sum(isinstance(event, ConversationStarted) for event in events)
    assert under_way == 3
    assert sum(isinstance(event, TurnStarted) for event in events) == under_way
    assert sum(isinstance(event, TurnFinished) for event in events) == under_way
    control.resume()
    worker.join(10)
    assert not worker.is_alive()
    assert small_talks.stored(tmp_path / "runs.sqlite").state == "finished"


@pytest.mark.parametrize("turns", [0, 1, 4])
def test_a_stopped_run_goes_on_where_each_conversation_was(tmp_path: Path, turns: int) -> None:
    path, control = tmp_path / "runs.sqlite", Control()
    left = turns

    def emit(event: Event) -> None:
        nonlocal left
        if isinstance(event, TurnFinished if turns else TurnStarted):
            left -= 1
            if left <= 0:
                control.stop()

    model = Scripted(small_talks.erratic, slots=3)
    assert run(small_talks.plan(path, model), emit, control) is False
    assert small_talks.stored(path).turns_done == turns
    small_talks.play(small_talks.plan(path, Scripted(small_talks.erratic, slots=2), resume=True))
    small_talks.play(small_talks.plan(tmp_path / "whole.sqlite", Scripted(small_talks.erratic)))
    assert _steps(path) == _steps(tmp_path / "whole.sqlite")
