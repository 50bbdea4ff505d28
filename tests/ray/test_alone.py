"""A run without `--on`: it imports no Ray, which is there to be imported, and opens no socket."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiny_gguf

HEARD = """
import atexit, sys
heard = []
sys.addaudithook(lambda name, _: heard.append(name) if name.startswith("socket.") else None)
atexit.register(lambda: print(heard, "ray" in sys.modules, file=sys.stderr))
from rig.cli import main
main(sys.argv[1:])
"""


def heard(folder: Path, *arguments: str) -> str:
    """What a run says at last: the names of what it did with sockets, and whether Ray was imported."""
    (folder / "ray").mkdir()
    (folder / "ray" / "__init__.py").write_text(
        "import socket\nsocket.socket()\nraise ImportError('a toy')\n"
    )
    paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths, "RIG_CACHE": str(folder / "cache")}
    command = [sys.executable, "-c", HEARD, "run", *arguments, "--limit", "1", "--similarity", "exact"]
    places = ("--runs", str(folder / "runs.sqlite"), "--display", "none")
    done = subprocess.run([*command, *places], capture_output=True, text=True, check=False, env=environment)
    return done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_a_run_of_this_machine_imports_no_ray_and_opens_no_socket(tmp_path: Path) -> None:
    model = str(tiny_gguf.write(tmp_path / "tiny.gguf"))
    short = ("--max-tokens", "4", "--max-calls", "1", "--threads", "1")
    assert heard(tmp_path, "oracle", model, *short, "--until", "verdict") == "[] False"


def test_what_the_test_looks_for_is_found_where_it_is(tmp_path: Path) -> None:
    assert heard(tmp_path, "oracle", "--on", "ray").startswith("['socket.__new__'")
