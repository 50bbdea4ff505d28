"""The SQL views say what rig says."""

from pathlib import Path

import pytest
import small_talks

from rig.protocols.replay import Scripted
from rig.store import Runs
from rig.verdicts import Metrics


def _rows(path: Path, query: str) -> list[dict[str, object]]:
    with Runs.open(path) as runs:
        return list(runs._database.query(query))


def test_summary_has_a_line_for_each_arm_with_its_rates(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, Scripted(small_talks.erratic), small_talks.oracle()))
    run = small_talks.stored(path)
    rows = _rows(path, "SELECT * FROM summary")
    assert [row["arm"] for row in rows] == ["arm0", "arm1"]
    for row, arm in zip(rows, run.arms, strict=True):
        for name, value in {**arm.metrics.as_json(), **arm.speed.as_json()}.items():
            if name in row:
                assert row[name] == (None if value is None else pytest.approx(value)), name
        assert row["errors"] == sum(arm.errors.values())
    compared = Metrics().as_json().keys() & rows[0].keys()
    assert compared >= {"success_rate", "recall", "precision", "incorrect_action_rate", "soft_success"}


def test_summary_has_a_line_for_an_arm_that_never_got_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    todo = small_talks.plan(path, small_talks.oracle(), small_talks.unloadable)
    small_talks.play(todo)
    [_, failed] = _rows(path, "SELECT * FROM summary")
    assert failed["arm"] == "arm1"
    assert failed["conversations"] == 0
    assert failed["success_rate"] is None
    assert failed["failure"] == "no such weights"


def test_errors_counts_failed_steps_by_kind(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, Scripted(small_talks.erratic)))
    [arm] = small_talks.stored(path).arms
    assert arm.errors
    rows = _rows(path, "SELECT error, predictions FROM errors")
    assert {row["error"]: row["predictions"] for row in rows} == arm.errors


def test_calls_has_a_line_for_each_predicted_call(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    rows = _rows(path, "SELECT conversation, turn, step, tool, match FROM calls")
    assert [row["tool"] for row in rows] == [
        call.name for conversation in small_talks.conversations() for call in conversation.ground_truth
    ]
    assert all(row["match"] == 1 for row in rows)
