"""`rig runs`: the list of stored runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import small_talks

from rig.core.events import Where
from rig.running.control import Control
from rig.running.runner import run

Rig = Callable[..., Any]


def _store(path: Path) -> Path:
    small_talks.play(small_talks.plan(path, small_talks.oracle(), run="older"))
    control = Control()
    control.skip(Where(0, "login"))
    run(small_talks.plan(path, small_talks.oracle(), run="newer", name="half"), lambda event: None, control)
    return path


def test_json_lists_the_newest_first(rig: Rig, tmp_path: Path) -> None:
    rows = rig("runs", "--runs", _store(tmp_path / "runs.sqlite"), "--json").json
    assert [(row["run"], row["name"], row["state"]) for row in rows] == [
        ("newer", "half", "interrupted"),
        ("older", None, "finished"),
    ]
    assert (rows[0]["turns_done"], rows[0]["turns"], rows[0]["conversations"]) == (6, 8, 3)
    assert rows[1]["arms"][0]["success_rate"] == 1


def test_the_table_has_a_line_for_each_run(rig: Rig, tmp_path: Path) -> None:
    header, newer, older = rig("runs", "--runs", _store(tmp_path / "runs.sqlite")).out.splitlines()
    assert header.split()[:2] == ["run", "name"]
    assert newer.startswith("newer  half")
    assert "6/8" in newer
    assert "arm0 100.0%" in older


def test_the_store_is_taken_from_the_environment(rig: Rig, tmp_path: Path, monkeypatch: "Any") -> None:
    monkeypatch.setenv("RIG_RUNS", str(_store(tmp_path / "elsewhere.sqlite")))
    assert len(rig("runs", "--json").json) == 2


def test_without_a_store_it_says_so(rig: Rig, tmp_path: Path) -> None:
    done = rig("runs", "--runs", tmp_path / "none.sqlite")
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("no such file; `rig run` creates it, --runs chooses another\n")
    assert not list(tmp_path.iterdir())
