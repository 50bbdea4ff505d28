"""A run on Ray in the live view of a real terminal, whose streams are no files for Ray to write to."""

import asyncio
import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest
from patience import eventually
from terminals import RIG, Terminal

from rig.store import Runs

pytestmark = [
    pytest.mark.terminal,
    pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="Ray is not installed"),
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]


@pytest.mark.slow
def test_the_live_view_shows_a_run_on_ray(terminal: Terminal, tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    terminal.resize(120, 40)
    terminal.type(f"{RIG} run oracle --suite easy --limit 4 --similarity exact --on ray --runs {store}")
    screen = terminal.wait("success 100.0%", "4/4")
    assert "AddAlarm" in screen
    terminal.wait("finished")
    asyncio.run(eventually(lambda: not _children(store), lambda: str(_children(store))))
    terminal.press("q")
    terminal.wait("is stored in")
    with Runs.open(store) as runs:
        run = runs.get("latest")
        assert (run.turns_done, run.arms[0].failure) == (run.turns, None)


def _children(store: Path) -> list[str]:
    """What the run of this store has started and not ended: of Ray, nothing once it is over."""
    command = ["ps", "-ww", "-eo", "pid=,ppid=,args="]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    found = [line.split(None, 2) for line in lines]
    runs = {pid for pid, _, arguments in found if "rig run" in arguments and str(store) in arguments}
    assert runs
    return [arguments for _, parent, arguments in found if parent in runs and "ray" in arguments]


@pytest.mark.slow
def test_a_cluster_that_does_not_answer_is_named_once(terminal: Terminal, tmp_path: Path) -> None:
    terminal.resize(120, 40)
    store = tmp_path / "runs.sqlite"
    terminal.type(f"{RIG} run oracle oracle --on ray:127.0.0.1:1 --docs full --docs names --runs {store}")
    screen = terminal.wait("see `rig docs cluster`")
    assert screen.count("no cluster answers") == 1
