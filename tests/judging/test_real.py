"""The real model as a judge: what it says is always a verdict, and no vote is lost when it is killed."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tool_answers import solution

from rig.plugins.judging.stored import read_votes
from rig.plugins.papers.toolbench.method import write
from rig.plugins.solutions.judgements import ModelAnswers
from rig.store import Runs, StoredRun

KILLED_AFTER = (1, 3)
"""Votes that are stored when the judge is killed."""


def _command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "rig", "judge", *map(str, arguments), "--display", "none"]


def _stored(store: Path) -> StoredRun:
    with Runs.open(store) as runs:
        return runs.get("latest")


def _count(store: Path, table: str) -> int:
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
            return int(database.execute(f"select count(*) from {table}").fetchone()[0])
    except sqlite3.Error:
        return 0


def _rows(store: Path) -> list[tuple[object, ...]]:
    """Every verdict, by its vote."""
    with sqlite3.connect(store) as database:
        return database.execute(
            "select a.name, c.name, t.turn, p.step, p.raw from predictions p join turns t on t.id = p.turn"
            " join conversations c on c.id = t.conversation join arms a on a.id = t.arm order by 1, 2, 3, 4"
        ).fetchall()


@pytest.mark.slow
@pytest.mark.model
def test_killed_at_any_vote_the_real_judge_goes_on_with_every_vote_kept(
    smollm2: Path, tmp_path: Path
) -> None:
    said = {"one": solution("It is noon."), "two": solution("Sorry, no clock works.", calls=2)}
    write([ModelAnswers(name, "G1", {"1": each}) for name, each in said.items()], tmp_path / "answers")
    options = f"--judge {smollm2} --threads 1 --votes 2 --exact".split()
    whole, store = tmp_path / "whole.sqlite", tmp_path / "killed.sqlite"
    command = _command(tmp_path / "answers", *options)
    subprocess.run([*command, "--runs", str(whole)], check=True, timeout=300)

    child = subprocess.Popen([*command, "--runs", str(store)])
    kept: list[list[tuple[object, ...]]] = []
    for votes in KILLED_AFTER:
        deadline = time.monotonic() + 200
        while (_count(store, "turns") < votes or not _count(store, "runs")) and child.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        kept.append(_rows(store))
        child = subprocess.Popen(_command("--resume", "latest", "--runs", store))
    assert child.wait(300) == 0
    assert _rows(store) == _rows(whole)
    for rows in kept:
        assert set(rows) <= set(_rows(whole))

    found = _stored(store)
    for arm in found.arms:
        assert arm.counts["votes"] == 2
        assert arm.counts["invalid"] == 0
        assert arm.errors == {}
    with Runs.open(store) as runs:
        steps = [
            step
            for cell in runs.cells(found)
            for turn in runs.transcript(found, cell.conversation, cell.arm).turns.values()
            for step in turn.steps
        ]
    for step in steps:
        assert step.prediction.call is not None
        assert next(iter(step.prediction.call.arguments)) == "reason"
        assert json.loads(step.prediction.raw) == step.prediction.call.arguments
    assert read_votes(store, found)[1] == read_votes(whole, _stored(whole))[1]
