"""JSON lines: one for each event but the pieces."""

import io
import json
from pathlib import Path
from typing import Any

import small_talks

from rig.core.events import PieceGenerated
from rig.methods.scripted import Scripted
from rig.plugins.lines.displays import LogDisplay
from rig.running.control import Control
from rig.running.runner import run


def _lines(path: Path) -> list[dict[str, Any]]:
    stream, control = io.StringIO(), Control()
    model = Scripted(small_talks.erratic, chunk=3)
    LogDisplay(stream).run(lambda emit: run(small_talks.plan(path, model), emit, control), control)
    assert stream.getvalue().isascii()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_for_each_event_but_pieces(tmp_path: Path) -> None:
    lines = _lines(tmp_path / "runs.sqlite")
    again = small_talks.plan(tmp_path / "again.sqlite", Scripted(small_talks.erratic, chunk=3))
    events = [event for event in small_talks.play(again) if not isinstance(event, PieceGenerated)]
    assert len(lines) == len(events)
    assert [line["event"].replace("_", "") for line in lines] == [type(e).__name__.lower() for e in events]


def test_lines_say_where_they_belong_and_hold_numbers_by_name(tmp_path: Path) -> None:
    lines = _lines(tmp_path / "runs.sqlite")
    assert all("time" in line for line in lines)
    finished = [line for line in lines if line["event"] == "conversation_finished"]
    assert [(line["arm"], line["conversation"]) for line in finished] == [
        (0, "alarms"),
        (0, "reminders"),
        (0, "login"),
    ]
    assert set(finished[0]["metrics"]) >= {"success_rate", "recall", "incorrect_action_rate"}
    judged = next(line for line in lines if line["event"] == "call_judged")
    assert set(judged["executed"]) == {"request", "response", "exception"}
    made = next(line for line in lines if line["event"] == "prediction_made")
    assert "token_ids" not in made["prediction"]
    assert made["prediction"]["usage"]["prompt_tokens"] == 100


def test_turns_are_counted_from_one_and_positions_stand_beside(tmp_path: Path) -> None:
    lines = [line for line in _lines(tmp_path / "runs.sqlite") if line.get("conversation") == "reminders"]
    started = [line for line in lines if line["event"] == "turn_started"]
    assert [line["turn"] for line in started] == list(range(1, len(started) + 1))
    assert [line["position"] for line in started] == [1, 3, 5][: len(started)]
    assert all(isinstance(line["position"], int) for line in lines if "turn" in line)
    places = [
        line["verdict"]["ground_truth"] for line in lines if (line.get("verdict") or {}).get("ground_truth")
    ]
    assert places
    assert all(1 <= turn <= len(started) for turn, _ in places)
    assert {line["first_turn"] for line in lines if line["event"] == "conversation_started"} == {1}
