"""Streams that are closed, memory and files that run out, and places that are no files: each is one line."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import stored_runs

from rig import cli
from rig.store import Runs

Rig = Callable[..., Any]

RUN = ("run", "oracle", "--only", "AddAlarm-easy", "--similarity", "exact")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return stored_runs.write(tmp_path / "runs.sqlite")


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_streams_that_whoever_starts_rig_has_closed_are_not_missed(tmp_path: Path, closed: str) -> None:
    """What is printed to them does not get into files that are opened in their places."""
    path = tmp_path / "runs.sqlite"
    code = "import sys; from rig.cli import main; main(sys.argv[1:]); print('x' * 9, file=sys.stderr)"
    command = f'exec "$0" -c "$1" {" ".join(RUN)} --display plain --runs {path} {closed}'
    done = subprocess.run(["sh", "-c", command, sys.executable, code], capture_output=True, check=False)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
    with Runs.open(path) as runs:
        assert runs.get("latest").state == "finished"


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOTDIR, errno.EAGAIN])
def test_limits_of_the_machine_are_one_line(rig: Rig, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refused(*_: object) -> None:
        raise OSError(number, os.strerror(number), "a/place")

    monkeypatch.setattr("rig.cli.runs.runs_file", refused)
    done = rig("runs")
    assert (done.code, done.err) == (2, f"rig: a/place: {os.strerror(number)}\n")


def test_memory_that_runs_out_is_one_line(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise MemoryError

    monkeypatch.setattr("rig.cli.runs.runs_file", refused)
    done = rig("runs")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "out of memory" in done.err
    assert "--resume" in done.err


def test_a_bug_is_no_fault_of_paths(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug() -> None:
        raise ValueError("not a path")

    monkeypatch.setattr("rig.cli.runs.runs_file", bug)
    with pytest.raises(ValueError, match="not a path"):
        cli.main(["runs"])


@pytest.mark.parametrize("place", ["pipe", "folder", "loop", "/dev/zero", "\0"])
def test_places_that_are_no_stores_are_refused_at_once(
    rig: Rig, store: Path, tmp_path: Path, place: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    path = place if place == "\0" else tmp_path / place
    for arguments in (("runs", "--runs", path), ("import", path, "--runs", tmp_path / "own.sqlite")):
        done = rig(*arguments)
        assert (done.code, len(done.err.splitlines())) == (2, 1), done.err
    assert "no such file" not in rig("runs", "--runs", tmp_path / "folder").err
    for target in (tmp_path / "folder", tmp_path / "pipe", "", "."):
        done = rig("runs", "--backup", target, "--runs", store)
        assert (done.code, len(done.err.splitlines())) == (2, 1), done.err
