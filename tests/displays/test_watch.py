"""`rig watch` in plain lines and JSON; the live view is tested in a terminal of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import small_talks
from patience import PATIENCE_S

from rig.methods.scripted import Scripted

Rig = Callable[..., Any]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle(), name="first", run="aaaaa"))
    small_talks.play(small_talks.plan(path, Scripted(small_talks.erratic)))
    return path


def test_the_newest_run_is_told_in_the_lines_it_had(rig: Rig, store: Path) -> None:
    done = rig("watch", "--runs", store)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == f"run abcde: 3 conversations, 8 turns; stored in {store}"
    assert [name for name in ("alarms", "reminders", "login") if any(name in line for line in lines[3:6])]
    assert lines[-1] == f"run abcde is stored in {store}"
    full = rig("watch", "--runs", store, "--full").out.splitlines()
    assert full[-1].startswith("  rig show abcde")
    assert len(full) > len(lines)
    assert rig("watch", "first", "--runs", store).out.splitlines()[0].startswith("run aaaaa:")


def test_the_log_has_every_event_but_the_pieces(rig: Rig, store: Path) -> None:
    lines = [json.loads(line) for line in rig("watch", "--display", "log", "--runs", store).out.splitlines()]
    assert lines[0]["event"] == "run_started"
    assert lines[-1]["event"] == "run_finished"
    assert sum(line["event"] == "turn_finished" for line in lines) == 8


def test_it_ends_with_the_numbers_of_the_run(rig: Rig, store: Path) -> None:
    done = rig("watch", "--json", "--display", "none", "--runs", store)
    shown = rig("show", "latest", "--json", "--runs", store).json
    assert done.json["run"] == shown["run"] == "abcde"
    assert done.json["state"] == "finished"
    assert done.json["arms"][0]["recall"] == shown["arms"][0]["recall"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing",), "no run 'nothing'"),
        (("--from", "nothing"), "has no conversation 'nothing'"),
        (("--speed", "0"), "neither a number of at least 0.001 nor max"),
        (("--speed", "nan"), "neither a number of at least 0.001 nor max"),
        (("--speed", "-1"), "neither a number of at least 0.001 nor max"),
        (("--speed", "1e-46"), "neither a number of at least 0.001 nor max"),
        (("--speed", "fast"), "neither a number of at least 0.001 nor max"),
        (("--display", "tui"), "needs a terminal"),
    ],
)
def test_what_cannot_be_watched_is_one_line(
    rig: Rig, store: Path, arguments: tuple[str, ...], said: str
) -> None:
    before = store.read_bytes()
    done = rig("watch", *arguments, "--runs", store)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1
    assert store.read_bytes() == before


@pytest.mark.parametrize("speed", ["max", "inf", "1e9"])
def test_any_speed_will_do(rig: Rig, store: Path, speed: str) -> None:
    assert rig("watch", "--speed", speed, "--from", "login", "--runs", store).code == 0


WRITER = """
import sys, time
from pathlib import Path
import small_talks
from rig.methods.scripted import Scripted, replied

def answer(request):
    if request.key.conversation != "alarms":
        time.sleep(600)
    return replied("Good day.")

small_talks.play(small_talks.plan(Path(sys.argv[1]), Scripted(answer)))
"""


@pytest.fixture
def writer(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that writes the run abcde and hangs after its first conversation."""
    path = tmp_path / "runs.sqlite"
    tests = str(Path(small_talks.__file__).parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, *sys.path])}
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], env=environment)
    try:
        small_talks.wait_for(path, 3)
        yield process
    finally:
        process.kill()
        process.wait()


def watcher(path: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-u", "-m", "rig", "watch", "--display", "plain", "--runs", str(path)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_whoever_watches_a_run_that_is_killed_is_told_how_to_go_on(
    writer: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    both = [watcher(tmp_path / "runs.sqlite") for _ in range(2)]
    for each in both:
        assert each.stdout is not None
        assert "3 done before" in each.stdout.readline()
    writer.kill()
    writer.wait()
    for each in both:
        out, err = each.communicate(timeout=PATIENCE_S)
        assert each.returncode == 1, err
        assert "run abcde broke off: the process that wrote it is gone; 5 turns are left" in out
        assert "next      rig run --resume abcde" in out


@pytest.mark.slow
def test_whoever_leaves_does_not_disturb_the_run(writer: "subprocess.Popen[bytes]", tmp_path: Path) -> None:
    process = watcher(tmp_path / "runs.sqlite")
    assert process.stdout is not None
    assert "3 done before" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "the run is not touched" in err
    assert "rig watch abcde" in out
    assert "--resume" not in out
    assert writer.poll() is None
    assert small_talks.stored(tmp_path / "runs.sqlite").state == "running"
