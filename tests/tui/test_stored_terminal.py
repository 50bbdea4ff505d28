"""Stored runs, and runs in progress elsewhere, in a real terminal."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import small_talks
import stored_runs
from terminals import PATIENCE_S, RIG, Terminal

from rig.store import Runs

pytestmark = [
    pytest.mark.terminal,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Terminal]:
    (tmp_path / "other").mkdir()
    opened = Terminal(tmp_path / "other")
    yield opened
    opened.close()


def ids(store: Path) -> list[str]:
    with Runs.open(store) as runs:
        return [run.id for run in runs.all()]


@pytest.mark.slow
def test_stored_runs_are_chosen_from_read_and_deleted(terminal: Terminal, tmp_path: Path) -> None:
    store = stored_runs.write(tmp_path / "runs.sqlite")
    small_talks.play(small_talks.plan(store, small_talks.oracle(), run="fghij"))
    terminal.type(f"stty -g > before; {RIG} runs --tui --runs runs.sqlite; echo code $?")
    terminal.wait("|", "fghij", "abcde", "enter open", "? help")
    terminal.press("j", "Enter")
    terminal.wait("2 arms", "finished", "alarms")
    terminal.resize(120, 40)
    terminal.press("x", "Enter")
    terminal.wait("1 story", "conversation", "run abcde")
    terminal.press("2")
    terminal.wait("[2 tokens]")
    terminal.resize(200, 60)
    terminal.press("4")
    terminal.wait("[4 world]")
    terminal.resize(80, 24)
    terminal.press("q")
    terminal.wait("finished")
    terminal.press("q")
    terminal.wait("enter open", "fghij")
    terminal.press("d")
    terminal.wait("Delete run abcde")
    terminal.press("d")
    terminal.wait("run abcde is deleted")
    assert ids(store) == ["fghij"]
    terminal.press("q")
    terminal.wait("code 0")
    terminal.type("stty -g | cmp - before && echo same terminal")
    terminal.wait("same terminal")


@pytest.mark.slow
def test_an_interrupted_run_is_resumed_from_the_list(terminal: Terminal, tmp_path: Path) -> None:
    terminal.type(f"{RIG} run oracle --similarity exact --repeats 100 --runs runs.sqlite; echo code $?")
    terminal.wait("following", "#1")
    terminal.press("p", "C-c")
    terminal.wait("The run is still going")
    terminal.press("s")
    terminal.wait("code 130")
    terminal.type(f"clear; {RIG} runs --tui --runs runs.sqlite; echo code $?")
    terminal.wait("interrupted", "r resume")
    terminal.press("r")
    terminal.wait("following", "p pause")
    terminal.wait("read the run")
    terminal.press("q")
    terminal.wait("code 0", "success")
    with Runs.open(tmp_path / "runs.sqlite") as runs:
        assert [run.state for run in runs.all()] == ["finished"]


@pytest.mark.slow
def test_a_store_that_is_not_there_is_one_line(terminal: Terminal) -> None:
    terminal.type(f"{RIG} runs --tui --runs nowhere.sqlite; echo code $?")
    assert "rig: nowhere.sqlite: no such file" in terminal.wait("code 2")
    terminal.type(f"clear; {RIG} watch --runs nowhere.sqlite; echo code $?")
    terminal.wait("rig: nowhere.sqlite: no such file", "code 2")
    terminal.type(f"clear; {RIG} runs --tui --json --runs nowhere.sqlite; echo code $?")
    terminal.wait("--tui is for people", "code 2")


@pytest.mark.slow
def test_a_finished_run_is_watched_again_at_any_speed(terminal: Terminal, tmp_path: Path) -> None:
    stored_runs.write(tmp_path / "runs.sqlite")
    terminal.type(f"{RIG} watch --speed 0.25 --runs runs.sqlite; echo code $?")
    terminal.wait("replay 0.25x", "alarms")
    terminal.press("+")
    terminal.wait("replay 0.5x")
    terminal.press("p")
    terminal.wait("paused", "p go on")
    terminal.press(".")
    terminal.wait("paused", "following")
    terminal.press("p", *"++++++++++")
    terminal.wait("finished", "read the run")
    terminal.press("Enter")
    terminal.press("-")
    terminal.wait("64x")
    terminal.press(*"------", "S")
    terminal.wait("replay 1x")
    terminal.press("R")
    terminal.wait("enter open", "abcde")
    terminal.press("q", "q")
    terminal.wait("code 0", "run abcde is stored in")


WRITER = """
import sys, time
from pathlib import Path
import small_talks
from rig.methods.scripted import Scripted, replied

def answer(request):
    time.sleep(1.0)
    return replied(f"Good day {request.key.conversation}.")

small_talks.play(small_talks.plan(Path(sys.argv[1]), Scripted(answer), repeats=20))
"""


@pytest.fixture
def writer(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that writes the run abcde, a turn a second."""
    path = tmp_path / "runs.sqlite"
    tests = str(Path(small_talks.__file__).parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, *sys.path])}
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], env=environment)
    small_talks.wait_for(path, 1)
    yield process
    process.kill()
    process.wait()


@pytest.mark.slow
def test_two_watch_a_run_at_once_and_neither_disturbs_it(
    writer: "subprocess.Popen[bytes]", terminal: Terminal, other: Terminal, tmp_path: Path
) -> None:
    store = tmp_path / "runs.sqlite"
    for each in (terminal, other):
        each.type(f"{RIG} watch --runs {store}; echo code $?")
    terminal.wait("live", "Good day", "following")
    other.wait("live", "Good day", "following")
    other.press("q")
    other.wait("code 0", "rig watch abcde")
    done = small_talks.stored(store).turns_done
    small_talks.wait_for(store, done + 1)
    terminal.press("Enter")
    terminal.wait("1 story", "conversation")
    terminal.press("q")
    terminal.wait("live")
    assert writer.poll() is None
    writer.kill()
    writer.wait(PATIENCE_S)
    terminal.wait("interrupted")
    terminal.press("q")
    terminal.wait("code 1", "rig run --resume abcde")
    assert small_talks.stored(store).state == "interrupted"


BROKEN = """
import sys
from rig.cli import main
from tui.stored.reader import RecordCursor

def breaks(self, *arguments, **named):
    raise RuntimeError("the page is torn")

RecordCursor.page = breaks
main(sys.argv[1:])
"""


@pytest.mark.slow
def test_a_page_that_crashes_leaves_the_run_and_the_terminal_in_order(
    terminal: Terminal, tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    command = "broken.py run oracle --similarity exact --repeats 8 --runs runs.sqlite"
    terminal.type(f"stty -g > before; {sys.executable} {command}; echo code $?")
    terminal.wait("following", "turn 1 of")
    terminal.press("p", "Enter")
    terminal.wait("code 0")
    seen = terminal.screen(history=True)
    assert "RuntimeError: the page is torn" in seen
    assert "the live view failed" in seen
    with Runs.open(tmp_path / "runs.sqlite") as runs:
        assert [run.state for run in runs.all()] == ["finished"]
    terminal.type("stty -g | cmp - before && echo same terminal")
    terminal.wait("same terminal")
