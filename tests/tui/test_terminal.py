"""The real application in a real terminal, by way of tmux."""

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from terminals import RIG, Terminal

pytestmark = [
    pytest.mark.terminal,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]


@pytest.fixture
def stored(tmp_path: Path) -> Callable[[], dict[str, object]]:
    """Reads the newest run of the store with `rig runs`, and checks that the store is whole."""

    def newest() -> dict[str, object]:
        command = [sys.executable, "-m", "rig", "runs", "--json", "--runs", str(tmp_path / "runs.sqlite")]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
        run: dict[str, object] = json.loads(done.stdout.splitlines()[-1])[0]
        with closing(sqlite3.connect(f"file:{tmp_path / 'runs.sqlite'}?mode=ro", uri=True)) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert database.execute("PRAGMA foreign_key_check").fetchall() == []
            assert database.execute("SELECT count(*) FROM turns").fetchone() == (run["turns_done"],)
        return run

    return newest


@pytest.mark.slow
def test_a_run_is_watched_to_its_end(terminal: Terminal, stored: Callable[[], dict[str, object]]) -> None:
    terminal.type(
        "stty -g > before; " + RIG + " run oracle --runs runs.sqlite; echo code $?; stty -g > after"
    )
    terminal.wait(" rig ", "oracle", "following", "? help")
    terminal.wait("read the run")
    terminal.press("q")
    screen = terminal.wait("code 0")
    assert "success" in screen
    assert "100.0%" in screen
    assert "following" not in screen
    assert stored()["state"] == "finished"
    terminal.type("stty -g | cmp - before && echo same terminal")
    terminal.wait("same terminal")


@pytest.mark.slow
def test_keys_work_while_a_run_goes_on_and_stopping_keeps_the_store(
    terminal: Terminal, stored: Callable[[], dict[str, object]]
) -> None:
    terminal.type(RIG + " run oracle --repeats 400 --runs runs.sqlite; echo code $?")
    terminal.wait("following", "#1")
    terminal.press("p")
    terminal.wait("paused", "p go on")
    terminal.press("j")
    terminal.wait("reading")
    terminal.resize(120, 40)
    terminal.wait("expected in")
    terminal.press("?")
    terminal.wait("A run as it happens")
    terminal.resize(80, 24)
    terminal.press("?", "f")
    terminal.wait("following")
    terminal.press("p")
    terminal.wait("p pause")
    terminal.press("q")
    terminal.wait("The run is still going")
    terminal.press("s")
    terminal.wait("code 130", "--resume")
    run = stored()
    assert run["state"] != "finished"
    done = int(str(run["turns_done"]))
    assert 0 < done < int(str(run["turns"]))

    terminal.type(f"clear; {RIG} run --resume {run['run']} --runs runs.sqlite; echo code $?")
    terminal.wait("following", "running")
    terminal.press("p", "g")
    terminal.wait("|+ AddAlarm #1", "turn 1 of 2")
    terminal.press("q")
    terminal.wait("The run is still going")
    terminal.press("s")
    terminal.wait("code 130")
    assert int(str(stored()["turns_done"])) >= done


@pytest.mark.slow
def test_a_run_goes_on_in_plain_lines_when_its_view_is_left(
    terminal: Terminal, stored: Callable[[], dict[str, object]]
) -> None:
    terminal.type(RIG + " run oracle --repeats 15 --runs runs.sqlite; echo code $?")
    terminal.wait("following")
    terminal.press("p")
    terminal.wait("paused")
    terminal.press("q")
    terminal.wait("The run is still going")
    terminal.press("w")
    terminal.wait("code 0")
    assert stored()["state"] == "finished"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["TERM", "INT"])
def test_a_signal_stops_the_run_and_restores_the_terminal(terminal: Terminal, name: str) -> None:
    terminal.type("stty -g > before; " + RIG + " run oracle --repeats 400 --runs runs.sqlite; echo code $?")
    terminal.wait("following", "#1")
    pid = terminal._tmux("display-message", "-p", "-t", "rig", "#{pane_pid}").strip()
    subprocess.run(["pkill", f"-{name}", "-P", pid], check=True)
    terminal.wait("code 130", "--resume")
    terminal.type("stty -g | cmp - before && echo same terminal")
    terminal.wait("same terminal")


BROKEN = """
import sys
from rig.cli import main
from tui.widgets.meters import Meters

show_arm, calls = Meters.show_arm, []

def breaks(self, *arguments):
    calls.append(1)
    if len(calls) > 3:
        raise RuntimeError("the needle is stuck")
    show_arm(self, *arguments)

Meters.show_arm = breaks
main(sys.argv[1:])
"""


@pytest.mark.slow
def test_a_view_that_crashes_leaves_the_run_and_the_terminal_in_order(
    terminal: Terminal, stored: Callable[[], dict[str, object]], tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    command = f"{sys.executable} broken.py run oracle --repeats 6 --runs runs.sqlite"
    terminal.type(f"stty -g > before; {command}; echo code $?")
    terminal.wait("code 0")
    screen = terminal.screen(history=True)
    assert "RuntimeError: the needle is stuck" in screen
    assert "the live view failed" in screen
    assert stored()["state"] == "finished"
    terminal.type("stty -g | cmp - before && echo same terminal")
    terminal.wait("same terminal")
