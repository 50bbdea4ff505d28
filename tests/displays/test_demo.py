"""`rig demo`: a recorded run that needs nothing but rig."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from terminals import RIG, Terminal

from rig.core.paths import DEMO

Rig = Callable[..., Any]


def test_passes_and_failures_are_shown_and_nothing_is_kept(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = rig("demo")
    assert done.code == 0, done.err
    assert "+ success" in done.out
    assert any(f"{sign} {word}" in done.out for sign, word in (("x", "failed"), ("#", "incorrect")))
    assert "AddAlarm-easy" in done.out
    assert "qwen2.5-coder-1.5b" in done.out
    assert done.out.splitlines()[-1].endswith("this was a recording")
    assert "rig-demo-" not in done.out.split("\n\n", 1)[1]
    assert not list(tmp_path.iterdir())


def test_every_event_is_there(rig: Rig) -> None:
    lines = [line for line in rig("demo", "--display", "log").out.splitlines() if line.startswith("{")]
    events = [json.loads(line)["event"] for line in lines]
    assert (events[0], events[-1]) == ("run_started", "run_finished")
    assert events.count("conversation_finished") == 84


def test_it_is_small_and_loads_no_engine() -> None:
    assert DEMO.stat().st_size <= 2**20
    script = (
        "import atexit, sys; atexit.register(lambda: print({'torch', 'llama_cpp'} & set(sys.modules)));"
        "from rig.cli import main; main(['demo', '--display', 'none'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.slow
@pytest.mark.terminal
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_on_a_terminal_it_is_told_in_the_live_view(terminal: Terminal) -> None:
    terminal.type(f"{RIG} demo --speed 8; echo code $?")
    terminal.wait("finished", "84/84")
    terminal.press("q")
    terminal.wait("this was a recording", "code 0")
