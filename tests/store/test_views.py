"""The SQL views say what rig says."""

from pathlib import Path

import graded_talks
import pytest
import small_talks

from rig.compare.compare import compare
from rig.core.errors import ErrorKind
from rig.core.models import Prediction, Request
from rig.methods.scripted import Scripted, failed
from rig.plugins.tooltalk.scoring import DECLARATION
from rig.store import Runs


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
        for name, value in {**DECLARATION.as_json(arm.counts), **arm.speed.as_json()}.items():
            if name in row:
                assert row[name] == (None if value is None else pytest.approx(value)), name
        assert row["errors"] == sum(arm.errors.values())
    compared = DECLARATION.as_json({}).keys() & rows[0].keys()
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


def _graded(tmp_path: Path) -> Path:
    path = tmp_path / "runs.sqlite"
    arms = (graded_talks.model(6, {0, 1}), graded_talks.model(6, {(1, 0), (2, 1)}, acts=True))
    graded_talks.play(path, *arms, number=6, repeats=2)
    return path


def test_turn_results_are_those_that_are_compared(tmp_path: Path) -> None:
    path = _graded(tmp_path)
    with Runs.open(path) as runs:
        run = runs.get("latest")
        grader = run.arms[0].grader
        assert grader is not None
        cells = list(runs.scored_cells(run, grader))
        rows = list(runs.view("turn_results", run))
    told = {(row["arm"], row["conversation"], row["repeat"], row["turn"]): row for row in rows}
    assert len(told) == len(rows) == 2 * 6 * 2 * 2
    for cell in cells:
        for turn in cell.turns:
            row = told[run.arms[cell.arm].name, cell.conversation, cell.repeat, turn.number]
            assert (row["wanted"], row["matched"], row["bad_actions"], row["right"], row["error"]) == (
                turn.wanted,
                turn.matched,
                turn.bad_actions,
                turn.right,
                turn.error,
            )
            assert row["position"] == turn.turn
        assert bool(cell.counts["successes"]) == all(turn.right for turn in cell.turns)
    assert {row["right"] for row in rows} == {0, 1}
    assert any(row["bad_actions"] for row in rows)


def test_a_turn_that_ended_in_a_failure_is_not_right(tmp_path: Path) -> None:
    """Nothing was due in it, so that the conversation succeeds all the same."""
    path = tmp_path / "runs.sqlite"

    def script(request: Request) -> Prediction:
        if request.key.conversation == "talk01" and request.key.step:
            return failed(ErrorKind.TRUNCATED, "the budget ran out")
        return graded_talks.model(2).predict(request, lambda _: None)

    arms = (graded_talks.model(2), Scripted(script, fingerprint={"file_sha256": "0"}))
    graded_talks.play(path, *arms, number=2)
    rows = _rows(path, "SELECT arm, conversation, turn, matched, right, error FROM turn_results")
    wrong = [tuple(row.values()) for row in rows if not row["right"]]
    assert wrong == [("arm1", "talk01", turn, 1, 0, "truncated") for turn in (1, 2)]
    with Runs.open(path) as runs:
        [pair] = compare(runs, ["latest"]).pairs
    assert not pair.flips
    assert [(flip.outcome, flip.turn) for flip in pair.turn_flips] == [("lost", 1), ("lost", 2)]


def test_conversation_scores_add_up_to_the_summary(tmp_path: Path) -> None:
    path = _graded(tmp_path)
    for arm in _rows(path, "SELECT * FROM summary"):
        (scores,) = _rows(
            path,
            "SELECT count(*) AS conversations, avg(success) AS success_rate,"
            " avg(soft_success) AS soft_success, sum(matches) AS matches, sum(bad_actions) AS bad_actions"
            f" FROM conversation_scores WHERE own AND arm = '{arm['arm']}'",
        )
        assert scores == {name: pytest.approx(arm[name]) for name in scores}


def test_flips_are_the_conversations_in_which_arms_part(tmp_path: Path) -> None:
    path = _graded(tmp_path)
    rows = _rows(path, "SELECT conversation, repeat, flip FROM flips ORDER BY 1, 2")
    assert [tuple(row.values()) for row in rows] == [
        ("talk00", 0, "won"),
        ("talk00", 1, "won"),
        ("talk01", 1, "won"),
        ("talk02", 1, "lost"),
    ]


def test_arm_settings_are_the_fingerprint_as_rows(tmp_path: Path) -> None:
    path = _graded(tmp_path)
    rows = _rows(path, "SELECT arm, setting, value FROM arm_settings")
    for arm in small_talks.stored(path).arms:
        found = {row["setting"]: row["value"] for row in rows if row["arm"] == arm.name}
        assert arm.fingerprint is not None
        assert found.keys() == arm.fingerprint.keys()
        assert found["model.engine"] == "scripted"
        assert found["protocol.max_calls"] == 3


def test_steps_has_a_line_for_each_prediction(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, Scripted(small_talks.erratic)))
    [arm] = small_talks.stored(path).arms
    rows = _rows(path, "SELECT * FROM steps")
    assert len(rows) == arm.speed.steps
    assert {row["kind"] for row in rows} == {"call", "reply", "error"}
    assert sum(row["match"] or 0 for row in rows) == arm.counts["matches"]
    assert sum(row["error"] is not None for row in rows) == sum(arm.errors.values())
