"""The arms of many runs are put into order, and ToolBench's leaderboards are read and written."""

from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from tool_answers import PUBLIC, needs_public_data

from rig.compare.board.toolbench import entry, read_csv, write_csv
from rig.errors import RigError

Rig = Callable[..., Any]
PLAY = ("--suite", "queries", "--display", "none", "--json")


def test_arms_of_all_runs_stand_by_their_metrics_with_what_differs(rig: Rig) -> None:
    rig("run", "oracle", *PLAY, "--limit", "3")
    rig("run", "oracle", *PLAY, "--limit", "2", "--search", "dfs_w3")
    rig("run", "oracle", "--limit", "1", "--similarity", "exact", "--display", "none", "--json")
    found = rig("leaderboard", "--suite", "queries", "--json").json
    assert (found["method"], found["suite"], found["common_tasks"]) == ("tooleval", "queries", 2)
    assert sorted(arm["tasks"] for arm in found["arms"]) == [2, 3]
    assert all(arm["rates"]["true_pass_rate"]["value"] == 1 for arm in found["arms"])
    settings = [arm["settings"] for arm in found["arms"]]
    assert settings[0] == []
    assert "search" in settings[1][0]
    shown = rig("leaderboard", "--suite", "queries").out
    assert "true pass rate" in shown
    assert "* has other tasks, too; all have 2 in common" in shown
    latest = rig("leaderboard").out
    assert latest.startswith("easy, by the method tooltalk")


def test_a_leaderboard_is_written_as_toolbenchs(rig: Rig, tmp_path: Path) -> None:
    rig("run", "oracle", *PLAY, "--limit", "2")
    path = tmp_path / "board.csv"
    rig("leaderboard", "--csv", str(path))
    assert path.read_text() == (
        "Method,WinRate,StdError,queries_WinRate,queries_StdError\noracle,1.0,0.0,1.0,0.0\n"
    )
    assert rig("leaderboard", str(path)).out.splitlines()[1].split() == ["oracle", "1.000", "0.0000", "1.000"]
    assert "exists; choose a new file" in rig("leaderboard", "--csv", str(path)).err
    assert "no run has finished a task of nothing" in rig("leaderboard", "--suite", "nothing").err


def test_standard_errors_are_upstreams() -> None:
    found = entry("m", {"a": [1] * 55 + [0] * 45, "b": [1] * 74 + [0] * 26})
    assert found.by_set["a"] == (pytest.approx(0.55), pytest.approx(0.0497494, abs=1e-7))
    assert found.by_set["b"][1] == pytest.approx(0.0438634, abs=1e-7)
    pooled = entry("m", {"a": [1] * 405 + [0] * 195})
    assert (pooled.win_rate, pooled.std_error) == (0.675, pytest.approx(0.0191213, abs=1e-7))


@needs_public_data
def test_toolbenchs_leaderboards_are_read_and_written_again() -> None:
    first, other = sorted((PUBLIC / "toolbench" / "results").glob("leaderboard*.csv"), reverse=True)
    text = first.read_text(encoding="utf-8")
    rows = read_csv(text, "here")
    assert len(rows) == 4
    assert read_csv(write_csv(rows), "again") == rows
    assert [row.method for row in rows] == [line.split(",")[0] for line in text.splitlines()[1:]]
    assert all(isnan(row.std_error) or row.std_error for row in read_csv(other.read_text(), "here"))


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "Method,WinRate,StdError\nm,lots,0\n"])
def test_what_is_no_leaderboard_is_one_line(text: str) -> None:
    with pytest.raises(RigError, match="here: not a leaderboard"):
        read_csv(text, "here")
