"""After set-up nothing opens a socket: whole runs inside a network namespace without any interface."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

UNSHARE = ["unshare", "--map-root-user", "--net"]
REACHES_OUT = "import socket; socket.create_connection(('192.0.2.1', 9), timeout=1)"


def isolated(arguments: Sequence[str], directory: Path) -> subprocess.CompletedProcess[str]:
    command = [*UNSHARE, sys.executable, *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module", autouse=True)
def namespaces() -> None:
    """Skips where the kernel does not let users make network namespaces; proves that they isolate."""
    if not shutil.which("unshare"):
        pytest.skip("unshare is not installed")
    if subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this kernel does not let users make network namespaces")
    reached = isolated(["-c", REACHES_OUT], Path.cwd())
    assert "Network is unreachable" in reached.stderr


def run(model: str, directory: Path, *options: str) -> dict[str, object]:
    arguments = ["-m", "rig", "run", model, "--display", "none", "--json", *options]
    done = isolated(arguments, directory)
    assert done.returncode == 0, done.stderr
    (arm,) = json.loads(done.stdout.splitlines()[-1])["arms"]
    return dict(arm)


@pytest.mark.slow
def test_the_oracle_needs_no_network(tmp_path: Path) -> None:
    assert run("oracle", tmp_path)["success_rate"] == 1


@pytest.mark.slow
@pytest.mark.model
def test_a_model_and_the_similarity_of_texts_need_no_network(tmp_path: Path, smollm2: Path) -> None:
    short = (
        "--only",
        "AddAlarm-easy",
        "--tools",
        "exact",
        "--max-tokens",
        "64",
        "--max-calls",
        "2",
        "--threads",
        "1",
    )
    arm = run(str(smollm2), tmp_path, *short)
    assert arm["conversations"] == 1
    script = "from rig.scoring import load; print(load('minilm')('Buy milk', 'Get some milk') > 0.5)"
    assert isolated(["-c", script], tmp_path).stdout == "True\n"


@pytest.mark.slow
def test_the_doctor_needs_no_network(tmp_path: Path, smollm2: Path) -> None:
    done = isolated(["-m", "rig", "doctor"], tmp_path)
    assert done.returncode == 0, done.stdout
