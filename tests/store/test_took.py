"""What turns took: of all conversations that a grader scored, or of some."""

import sqlite3
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import graded_talks
import pytest

from rig.compare.compare import compare
from rig.core.models import Usage
from rig.store import GraderInfo, Runs, StoredRun, TurnSpeed

N = 6


@pytest.fixture
def played(tmp_path: Path) -> Path:
    path = tmp_path / "runs.sqlite"
    arms = (graded_talks.model(N, {0}), graded_talks.model(N, {1, 2}, acts=True))
    graded_talks.play(path, *arms, number=N, repeats=2)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE turns SET wall_s = id / 8.0, tools_s = id / 16.0, cpu_s = id / 32.0")
        database.execute("UPDATE predictions SET decode_s = id / 4.0")
    return path


def _took(path: Path, arm: int = 0, *names: str, grader: GraderInfo | None = None) -> TurnSpeed:
    with Runs.open(path) as runs:
        run = runs.get("latest")
        return runs.turn_speed(run, arm, grader or _grader(run), names or None)


def _grader(run: StoredRun) -> GraderInfo:
    assert run.arms[0].grader is not None
    return run.arms[0].grader


def _counted(
    path: Path, arm: int, counts: Callable[[str, int], bool]
) -> tuple[dict[str, float], list[float]]:
    """The same, turn by turn: those of conversations and repeats that count."""
    usage = [field.name for field in fields(Usage)]
    found = dict.fromkeys(["steps", "wall_s", "tools_s", "cpu_s", *usage], 0.0)
    walls = []
    with sqlite3.connect(path) as database:
        database.row_factory = sqlite3.Row
        query = (
            "SELECT turns.*, conversations.name"
            " FROM turns JOIN conversations ON conversations.id = conversation"
            " JOIN arms ON arms.id = arm WHERE arms.position = ?"
        )
        for turn in database.execute(query, [arm]).fetchall():
            if not counts(turn["name"], turn["repeat"]):
                continue
            walls.append(turn["wall_s"])
            for name in ("wall_s", "tools_s", "cpu_s"):
                found[name] += turn[name]
            for step in database.execute("SELECT * FROM predictions WHERE turn = ?", [turn["id"]]):
                found["steps"] += 1
                for name in usage:
                    found[name] += step[name]
    return found, walls


def _check(took: TurnSpeed, expected: tuple[dict[str, float], list[float]]) -> None:
    sums, walls = expected
    assert {name: getattr(took.speed, name) for name in sums} == pytest.approx(sums)
    assert sorted(took.walls) == sorted(walls)


@pytest.mark.parametrize("arm", [0, 1])
def test_all_that_was_scored_counts(played: Path, arm: int) -> None:
    took = _took(played, arm)
    _check(took, _counted(played, arm, lambda name, repeat: True))
    assert len(took.walls) == 2 * N * 2


def test_only_the_conversations_that_are_named_count(played: Path) -> None:
    _check(_took(played, 1, "talk01", "talk04"), _counted(played, 1, lambda name, _: name[-1] in "14"))
    assert _took(played, 1, "no such talk").walls == []


def test_what_has_no_score_does_not_count(played: Path) -> None:
    """Such as the turns of a conversation that has not been finished."""
    with sqlite3.connect(played) as database:
        database.execute(
            "DELETE FROM scores WHERE repeat = 1 AND arm = (SELECT id FROM arms WHERE position = 0)"
            " AND conversation = (SELECT id FROM conversations WHERE name = 'talk02')"
        )
    expected = _counted(played, 0, lambda name, repeat: (name, repeat) != ("talk02", 1))
    _check(_took(played), expected)
    assert len(expected[1]) == 2 * N * 2 - 2
    with Runs.open(played) as runs:
        other = replace(_grader(runs.get("latest")), grader_version="another")
    assert _took(played, grader=other).walls == []


def test_a_cpu_time_that_nobody_knows_makes_the_sum_unknown(played: Path) -> None:
    with sqlite3.connect(played) as database:
        conversation = "(SELECT id FROM conversations WHERE name = 'talk03')"
        database.execute(f"UPDATE turns SET cpu_s = NULL WHERE conversation = {conversation} AND repeat = 0")
    assert _took(played).speed.cpu_s is None
    assert _took(played, 0, "talk01").speed.cpu_s is not None


def test_a_comparison_states_what_the_conversations_took_that_it_compares(played: Path) -> None:
    with sqlite3.connect(played) as database:
        database.execute(
            "DELETE FROM scores WHERE arm = (SELECT id FROM arms WHERE position = 0)"
            " AND conversation IN (SELECT id FROM conversations WHERE name IN ('talk00', 'talk05'))"
        )
    with Runs.open(played) as runs:
        found = compare(runs, ["latest"])
    assert len(found.conversations) == N - 2
    for position, arm in enumerate(found.arms):
        sums, walls = _counted(played, position, lambda name, _: name[-1] in "1234")
        assert {name: getattr(arm.speed, name) for name in sums} == pytest.approx(sums)
        assert (arm.turn_times.turns, arm.turn_times.mean_s) == (len(walls), sum(walls) / len(walls))
