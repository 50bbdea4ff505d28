"""A new option is one entry: a line in the table of options, or in the options of a method.

The table is changed in a copy of rig. From that line come the help, `rig.toml`, the names of arms, what is
stored, the fingerprint, and whether a run may go on.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_gguf
from conftest import CHECKOUT

ENTRY = """    warmth: int = generation_option(
        1, "How warm the model is.", least=0, several=True, verbs="judge screen", recorded="changed"
    )
"""
STOPPED = """
import sys
from pathlib import Path
from rig.core.events import TurnFinished
from rig.running.control import Control
from rig.config.options import RunConfig
from rig.running.planning import plan
from rig.running.runner import run
control = Control()
def emit(event):
    if isinstance(event, TurnFinished):
        control.stop()
options = RunConfig.of(
    models=(sys.argv[1],), limit=2, max_calls=1, max_tokens=8, threads=1, tools=("exact",),
    similarity="exact", n_ctx=2048, format=("rig",), **eval(sys.argv[2])
)
run(plan(options, Path("runs.sqlite")), emit, control)
"""

Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of rig with one entry more in its table."""
    place = tmp_path_factory.mktemp("changed")
    shutil.copytree(CHECKOUT / "rig", place / "rig", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("tui", "conversations", "models", "tools_db.sqlite", "pyproject.toml"):
        (place / name).symlink_to(CHECKOUT / name)
    table = place / "rig" / "plugins" / "llama" / "core" / "options.py"
    text = table.read_text(encoding="utf-8")
    at = text.index("    exact: bool = generation_option(")
    table.write_text(text[:at] + ENTRY + text[at:], encoding="utf-8")
    return place


@pytest.fixture
def call(tmp_path: Path) -> Call:
    """Runs Python with the rig of a folder, in a folder of its own."""

    def run(rig: Path, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": str(rig),
                "RIG_CACHE": str(tmp_path / "cache"),
                "RIG_RUNS": "runs.sqlite",
                "COLUMNS": "200",
            },
        )
        assert done.returncode == code, done.stderr
        return done

    return run


def _arms(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    return {arm["arm"]: arm for arm in json.loads(done.stdout.splitlines()[-1])["arms"]}


@pytest.mark.slow
def test_an_option_of_the_engine_is_one_entry(changed: Path, call: Call, tmp_path: Path) -> None:
    model = tiny_gguf.write(tmp_path / "tiny.gguf")
    rig = ("-m", "rig")
    text = call(changed, *rig, "run", "--help-all").stdout
    line = r"--warmth N +How warm the model is. \*  \[default: 1; from 0 on\]"
    assert re.search(line, text.partition("Generation (llama):")[2])
    for verb in ("judge", "screen", "noise"):
        words = (verb, "answers") if verb == "judge" else (verb,)
        told = call(changed, *rig, *words, "--help-all").stdout
        assert re.search(r"--warmth N +How warm the model is.", told)
    refused = call(changed, *rig, "run", "oracle", "--warmth", "-1", code=2).stderr
    assert "--warmth takes a whole number from 0 on, not -1" in refused

    call(changed, "-c", STOPPED, model, "dict(warmth=(2, 3))")
    stored = json.loads(call(changed, *rig, "show", "latest", "--json").stdout.splitlines()[-1])
    assert stored["settings"]["warmth"] == [2, 3]
    assert stored["arms"][0]["arm"] == "tiny warmth=2"
    assert stored["arms"][0]["fingerprint"]["model.warmth"] == 2
    resume = (*rig, "run", "--resume", "latest", "--display", "none", "--json")
    refused = call(changed, *resume, "--warmth", 5, code=2).stderr
    assert "warmth was [2, 3], not 5; leave that out" in refused
    assert list(_arms(call(changed, *resume))) == ["tiny warmth=2", "tiny warmth=3"]

    Path(os.environ["RIG_CONFIG"]).write_text("[run]\nwarmth = [1, 4]\nlimit = 1\n", encoding="utf-8")
    played = call(changed, *rig, "run", "oracle", "--display", "none", "--json")
    assert "rig: from rig.toml: --limit 1, --warmth 1,4" in played.stderr
    run, *_ = json.loads(call(changed, *rig, "runs", "--json").stdout)
    assert run["settings"]["warmth"] == [1, 4]


@pytest.mark.slow
def test_a_run_that_is_older_than_an_option_goes_on(changed: Path, call: Call, tmp_path: Path) -> None:
    model = tiny_gguf.write(tmp_path / "tiny.gguf")
    call(CHECKOUT, "-c", STOPPED, model, "{}")
    resume = ("-m", "rig", "run", "--resume", "latest", "--display", "none", "--json")
    [arm] = _arms(call(changed, *resume)).values()
    assert arm["conversations"] == 2


@pytest.mark.slow
def test_an_option_of_a_method_is_one_entry(call: Call, tmp_path: Path) -> None:
    plugin = tmp_path / "guessing.py"
    text = (CHECKOUT / "tests" / "tenants" / "guessing.py").read_text(encoding="utf-8")
    entry = 'Option("most", 5, several=True, help="Guess at most so often.")'
    plugin.write_text(re.sub(r'Option\("most", 5, several=True[^)]*\)', entry, text), encoding="utf-8")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "secrets.json").write_text(
        '[{"name": "eight", "number": 8}, {"name": "three", "number": 3}]', encoding="utf-8"
    )
    rig = ("-m", "rig", "--plugin", plugin)
    text = call(CHECKOUT, *rig, "run", "--help-all").stdout
    assert re.search(r"most=5 +guessing: Guess at most so often. \*", text.partition("for --set:")[2])
    asked = ("run", "bisecting", "--suite", "secrets", "--role", "user=honest", "--display", "none", "--json")
    arms = _arms(call(CHECKOUT, *rig, *asked, "--set", "most=1", "--set", "most=4"))
    assert list(arms) == ["bisecting most=1", "bisecting most=4"]
    stored = json.loads(call(CHECKOUT, *rig, "show", "latest", "--json").stdout.splitlines()[-1])
    assert stored["settings"]["set"] == ["most=1", "most=4"]
    assert [arm["fingerprint"]["protocol.most"] for arm in stored["arms"]] == [1, 4]
