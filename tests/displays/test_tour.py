"""`rig tour`: in a terminal, and refused elsewhere."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from terminals import RIG, Terminal


def test_without_a_terminal_it_says_so_in_a_line(rig: Callable[..., Any]) -> None:
    done = rig("tour")
    assert done.code == 2
    assert done.err.startswith("rig: rig tour needs a terminal")
    assert not done.out


@pytest.mark.slow
@pytest.mark.terminal
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_it_asks_for_keys_and_leaves_nothing_behind(terminal: Terminal, tmp_path: Path) -> None:
    terminal.type(f"{RIG} tour; echo code $?")
    terminal.wait("Press", "Pause it")
    terminal.press("p")
    terminal.wait("paused", "first conversation that failed")
    terminal.press("q")
    terminal.wait("code 0")
    assert not list(tmp_path.glob("*.sqlite"))
