"""Deleting a run takes all that belongs to it, and nothing else."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import small_talks

from rig.core.errors import RigError
from rig.methods.scripted import Scripted
from rig.plugins.rescore.stored import score_run
from rig.store import Runs, RunWriter, delete_run


def counts(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as database:
        tables = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return {
            name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for (name,) in tables
            if not name.startswith(("_", "sqlite_"))
        }


def test_a_run_goes_with_all_that_belongs_to_it(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    before, kept = counts(path), small_talks.content(path)
    [alarms, *_] = small_talks.conversations()
    mine = replace(alarms, source={**alarms.source, "note": "mine alone"})
    small_talks.play(
        small_talks.plan(
            path, Scripted(small_talks.erratic), small_talks.oracle(), run="other", conversations=(mine,)
        )
    )
    with Runs.open(path) as runs:
        other = runs.get("other")
    # A later score has rows in tables of its own.
    score_run(path, other, small_talks.setup(small_talks.grader("upstream")))
    assert counts(path)["verdicts"] > before["verdicts"]
    delete_run(path, "other")
    assert counts(path) == before
    assert small_talks.content(path) == kept
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []


def test_a_run_in_progress_stays(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with RunWriter.create(path, small_talks.plan(path, small_talks.oracle()).as_new_run()):
        before = counts(path)
        with pytest.raises(RigError, match="is being written by process"):
            delete_run(path, "abcde")
        assert counts(path) == before
    delete_run(path, "abcde")
    assert set(counts(path).values()) == {0}


def test_what_is_gone_cannot_be_deleted(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with pytest.raises(RigError, match="no such file"):
        delete_run(path, "abcde")
    assert not path.exists()
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    with pytest.raises(RigError, match="is not in"):
        delete_run(path, "xyz")
