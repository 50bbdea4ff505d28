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


@pytest.mark.slow
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


def test_a_library_that_gives_up_is_one_line(rig: Rig, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As pydantic and llguidance do, which are written in Rust."""

    def give_up(_: object) -> None:
        raise type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})("no\npointer")

    monkeypatch.setattr(Runs, "all", give_up)
    done = rig("runs", "--runs", store)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert done.err.startswith("rig: a library gave up, perhaps for lack of memory: no pointer; ")


@pytest.mark.parametrize("long", ["9" * 5_000, "a" * 100_000])
def test_a_line_that_would_quote_too_much_keeps_its_beginning_and_end(rig: Rig, long: str) -> None:
    done = rig("run", "oracle", "--limit", long)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert done.err.startswith(f"rig: --limit takes a whole number from 1 on, not '{long[:100]}")
    assert done.err.endswith(f"{long[-100:]}'\n")
    assert len(done.err) < 4_100


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOTDIR, errno.EAGAIN])
def test_limits_of_the_machine_are_one_line(rig: Rig, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refused(*_: object) -> None:
        raise OSError(number, os.strerror(number), "a/place")

    monkeypatch.setattr("rig.cli.options.runs_file", refused)
    done = rig("runs")
    assert (done.code, done.err) == (2, f"rig: a/place: {os.strerror(number)}\n")


def test_memory_that_runs_out_is_one_line(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise MemoryError

    monkeypatch.setattr("rig.cli.options.runs_file", refused)
    done = rig("runs")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "out of memory" in done.err
    assert "--resume" in done.err


def test_a_bug_is_no_fault_of_paths(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug() -> None:
        raise ValueError("not a path")

    monkeypatch.setattr("rig.cli.options.runs_file", bug)
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


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("run", "oracle", "--conversations", "circle/in"), "circle/in: no such directory"),
        (("run", "oracle", "--toolbox", "circle"), "circle"),
        (("run", "a.gguf", "--lora", "~nobody-has-this-name/x"), "no such file"),
        (("runs", "--runs", "~nobody-has-this-name/x"), "no such file"),
        (("adjudicate", "latest", "--runs", "/"), "/: is a directory; --runs takes a file"),
        (("world", "check", "--world", "/dev/zero"), "/dev/zero: is not a regular file"),
        (("world", "check", "--world", "pipe"), "pipe: is not a regular file"),
        (("history", "endless"), "endless: not a GGUF file"),
        (("demo", "--speed", "1e-46"), "is not in the range x>=0.001"),
    ],
)
def test_places_that_lead_nowhere_or_have_no_end_are_one_line(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], fault: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "circle").symlink_to("circle")
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "endless").open("wb") as file:
        file.truncate(1 << 40)
    done = rig(*arguments)
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert fault in done.err


@pytest.mark.parametrize("name", ["RIG_RUNS", "RIG_MODELS", "RIG_CACHE", "RIG_CONFIG", "RIG_PLUGINS"])
def test_a_home_of_nobody_in_the_environment_is_no_traceback(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "~nobody-has-this-name/x")
    assert rig("models", "list").code in (0, 2)
    assert rig("runs").code in (0, 2)
