"""A toy of every tenant goes from the command line to `show`, `compare`, `report` and the live view.

The toys are in `tests/tenants` and `tests/toolbox/notes`: files as somebody outside would write them. Nothing
under `rig/` or `tui/` knows of them.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TOYS = Path(__file__).parent / "tenants"
NOTES = Path(__file__).parent / "toolbox" / "notes"

Call = Callable[..., str]


@pytest.fixture
def call(tmp_path: Path) -> Call:
    """Runs `rig` with plugins in a process of its own, and gives what it printed."""

    def run(*arguments: object, plugins: tuple[str, ...] = (), code: int = 0) -> str:
        places = [argument for plugin in plugins for argument in ("--plugin", str(TOYS / plugin))]
        done = subprocess.run(
            [sys.executable, "-m", "rig", *places, *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "RIG_CACHE": str(tmp_path / "cache")},
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    return run


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    (tmp_path / "secrets").mkdir()
    numbers = {f"number {number}": number for number in (1, 3, 6, 8, 13, 15)}
    (tmp_path / "secrets" / "secrets.json").write_text(json.dumps(numbers))
    return tmp_path / "secrets"


def play(call: Call, secrets: Path, *arguments: object) -> Any:
    played = call(
        *("run", "bisecting", "counting", "--suite", secrets, "--role", "user=honest", "--json"),
        *("--display", "none", *arguments),
        plugins=("guessing.py",),
    )
    return json.loads(played)["arms"]
