"""`rig models tune`: what it makes, keeps and removes, and that it can be killed anywhere."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tiny_gguf

from rig.plugins.llama.files.derived import local_registry, remove
from rig.plugins.llama.files.header import read_header
from rig.plugins.llama.files.registry import resolve
from rig.plugins.strategies.early import SequentialArm
from rig.plugins.strategies.sequential import Evidence
from rig.plugins.tune import imatrix
from rig.plugins.tune.quantize import QuantizeRecipe, quantize
from rig.plugins.tune.tune import KINDS, MATRIX, MIXTURES, Funnel, candidates

Rig = Callable[..., Any]

TUNE = ("models", "tune", "tiny", "--tools", "exact", "--limit", "2", "--threads", "1", "--parallel", "1")
QUIET = (
    *("--max-tokens", "8", "--max-calls", "1"),
    *("--similarity", "exact", "--display", "plain"),
)

_KILLED = """
import os, signal, sys
from fnmatch import fnmatch
from rig.cli import main, run
from rig.core.events import TurnFinished

pattern, left = sys.argv[1], int(sys.argv[2])

def happens(what):
    global left
    left -= fnmatch(what, pattern)
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

def replace(source, target, put=os.replace):
    happens(os.path.basename(target))
    put(source, target)

def tell(self, event, told=run.Notifier.tell):
    if isinstance(event, TurnFinished):
        happens("a turn")
    told(self, event)

os.replace, run.Notifier.tell = replace, tell
main(sys.argv[3:])
"""
"""Dies before a file of such a name is put in its place, or a turn is over, for the nth time."""

_STAGES = {
    "calibrated, the matrix not there": ("tuned_*.gguf", 1),
    "the matrix there, not kept": ("tune.json", 1),
    "a candidate made, not recorded": ("local.toml", 1),
    "a candidate recorded, not there": ("tiny-*.gguf", 1),
    "another screened, not kept": ("tune.json", 3),
    "a file removed, its record there": ("local.toml", 3),
    "the run planned, not begun": ("tune.json", 3),
    "playing": ("a turn", 2),
    "playing again": ("a turn", 2),
    "one chosen, not kept": ("tune.json", 1),
    "one kept, without a card": ("tiny-*.md", 1),
}


@pytest.fixture
def models(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, value in {"WIDTH": 256, "INNER": 512, "HEADS": 4}.items():
        monkeypatch.setattr(tiny_gguf, name, value)
    tiny_gguf.write(models / "tiny.gguf", n_ctx=8192)
    return models


@pytest.mark.slow
def test_sizes_are_known_before_a_file_is_made(models: Path) -> None:
    """Also where a matrix changes which types a recipe has: of iq4_xs, the first ffn_down."""
    tensors = [t for t in read_header(models / "tiny.gguf").tensors if len(t.shape) > 1]
    sums = {t.name: np.ones((1, t.shape[0]), np.float32) for t in tensors if t.name.startswith("blk.")}
    matrix = imatrix.ImportanceMatrix(sums, {name: np.ones(1, np.float32) for name in sums})
    imatrix.write(matrix, models.parent / "ones.gguf")
    by_recipe = candidates(models / "tiny.gguf", ("q4_k_m", "iq4_xs", "iq2_xs"), MIXTURES, 4)
    assert [candidate.size for candidate in by_recipe] == sorted((c.size for c in by_recipe), reverse=True)
    assert {bool(c.recipe.matrix) for c in by_recipe if c.recipe.kind == "iq2_xs"} == {True}
    for recipe, size in by_recipe:
        real = replace(recipe, matrix=models.parent / "ones.gguf") if recipe.matrix else recipe
        made = quantize(resolve("tiny"), real, threads=1, progress=lambda _done, _of: None)
        assert 0 <= size - made.entry.size < 10_000, recipe


def test_recipes_that_make_the_same_file_are_one(models: Path) -> None:
    tried = candidates(models / "tiny.gguf", KINDS, MIXTURES, 1)
    recipes = [recipe for recipe, _ in tried]
    assert len(recipes) == len(set(recipes))
    # All of q6_k's attention is q6_k already.
    assert QuantizeRecipe("q6_k", MATRIX, MIXTURES[1]) not in recipes
    assert QuantizeRecipe("q6_k", MATRIX, MIXTURES[2]) in recipes
    assert QuantizeRecipe("q8_0", MATRIX) not in recipes  # which no matrix changes


class Refusal(NamedTuple):
    """What is asked, and the end of the line that refuses it."""

    arguments: tuple[str, ...]
    says: str


@pytest.mark.parametrize(
    "refusal",
    [
        Refusal(("--size", "much"), "--size much: not a size; write it as in 4GiB or 900MB"),
        Refusal(("--size", "100KB"), "no file of tiny is that small; the smallest is iq1_s, "),
        Refusal(("--size", "1MB", "--to", "q9"), "there is no type 'q9'"),
        Refusal(("--size", "1MB", "--tensor", "attn"), "write REGEX=TYPE"),
        Refusal(("--size", "1MB", "--limit", "1"), "needs two conversations for calibration at least"),
        Refusal(("--size", "1MB", "--candidates", "0"), "0 is not in the range x>=1"),
    ],
)
def test_what_cannot_end_well_is_refused_before_anything_is_made(
    rig: Rig, models: Path, refusal: Refusal
) -> None:
    done = rig(*TUNE, *refusal.arguments)
    assert (done.code, refusal.says in done.err) == (2, True), done.err
    assert [path.name for path in models.parent.iterdir()] == ["models"]
    assert [path.name for path in models.iterdir()] == ["tiny.gguf"]


def test_a_disk_that_is_too_small_is_said_before_it_starts(
    rig: Rig, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(models)._replace(free=2 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    done = rig(*TUNE, "--size", "1MB")
    assert done.code == 2
    assert "2 MiB free, and 4 candidates at a time take 3 MiB; make room, or let RIG_MODELS" in done.err
    assert [path.name for path in models.iterdir()] == ["tiny.gguf"]
    assert not (models.parent / "tiny-tuned").exists()


def test_the_arm_is_chosen_by_what_is_shown_of_its_loss_then_by_divergence() -> None:
    def arm(name: str, found: Any, high: float) -> SequentialArm:
        evidence = Evidence(0.05, 9, 9, 1.0, 1.0, 60.0, -1.0, high, found=found)
        return SequentialArm(name, evidence, evidence)

    funnel = object.__new__(Funnel)
    rows = {"a": 0.1, "b": 0.2, "c": 0.3}
    funnel._state = {"screened": {n: {"divergence": d, "failure": None} for n, d in rows.items()}}

    def best(*arms: SequentialArm) -> str:
        return funnel.choose(arms).arm

    assert best(arm("a", None, 0.1), arm("b", "excluded", 0.04), arm("c", "excluded", 0.01)) == "b"
    assert best(arm("a", "shown", 0.1), arm("b", None, 0.4), arm("c", None, 0.3)) == "c"
    assert best(arm("a", "shown", 0.3), arm("b", "shown", 0.2)) == "b"


def test_a_file_made_here_is_removed_with_its_entry(models: Path) -> None:
    for kind in ("q8_0", "q4_0"):
        quantize(resolve("tiny"), QuantizeRecipe(kind), threads=1, progress=lambda _done, _of: None)
    remove("tiny-q8_0.gguf")
    assert list(local_registry()) == ["tiny-q4_0.gguf"]
    assert sorted(path.name for path in models.glob("*.gguf")) == ["tiny-q4_0.gguf", "tiny.gguf"]


@pytest.mark.slow
def test_it_ends_with_one_file_its_verdict_and_its_card(rig: Rig, models: Path) -> None:
    own = quantize(resolve("tiny"), QuantizeRecipe("q5_k_m"), threads=1, progress=lambda _done, _of: None)
    size = own.entry.size + 20_000
    arguments = (*TUNE, *QUIET, "--to", "q5_k_m,q4_k_m,iq2_xs", "--size", str(size))
    done = rig(*arguments, "--candidates", "5", "--json")
    assert done.code == 0, done.err
    told = done.json
    assert Path(told["path"]).stat().st_size == told["size"] <= size
    assert len(told["screened"]) == 5
    closest = sorted(told["screened"], key=lambda name: told["screened"][name]["divergence"])
    assert [arm["arm"] for arm in told["played"]] == closest[:3]
    # The random model gets nothing right, so no file of it can lose, and the closest is kept.
    assert (told["model"], told["verdict"]["suite"]["found"]) == (closest[0], "excluded")
    # What was there before is not removed, whatever became of it.
    kept = {"tiny.gguf", "tiny-q5_k_m.gguf", f"{told['model']}.gguf"}
    assert {path.name for path in models.glob("*.gguf")} == kept
    assert set(local_registry()) == kept - {"tiny.gguf"}
    weighted = [name for name in told["screened"] if "-tuned_" in name]
    assert weighted
    card = json.loads(Path(told["cards"][1]).read_text())
    assert card["subject"]["file_sha256"] == local_registry()[f"{told['model']}.gguf"].sha256
    # The run's display shows the funnel, too.
    lines = done.err.splitlines()
    begun = next(number for number, line in enumerate(lines) if line.startswith("run "))
    assert re.fullmatch(r"\d+ candidates > \d+ under the size > 5 of 5 screened > 3 played", lines[begun + 1])
    assert lines[-1].endswith(" > 3 played > 1 kept")
    # The same again has nothing left to do, and says the same; another tuning does not take its folder.
    again = rig(*arguments, "--candidates", "5", "--json")
    assert again.json == told
    assert "quantizing" not in again.err
    other = rig(*arguments, "--candidates", "4")
    assert (other.code, "tiny-tuned: holds another tuning" in other.err) == (2, True)
    # A state that somebody changed removes nothing but candidates.
    state = json.loads(Path("tiny-tuned/tune.json").read_text())
    state["created"].append("../models/tiny")
    state["screened"]["../models/tiny"] = {"divergence": 9.0, "failure": None, "size": 1}
    Path("tiny-tuned/tune.json").write_text(json.dumps(state))
    named = rig(*arguments, "--candidates", "5")
    assert (models / "tiny.gguf").exists()
    assert f"* {told['model']}: " in named.out
    assert "loss of 5 points open after 2" in named.out


@pytest.mark.slow
def test_killed_at_every_stage_it_ends_in_the_same(models: Path) -> None:
    """One is killed in each stage, and goes on from there."""
    arguments = (*TUNE, *QUIET, "--to", "q4_k_m,iq2_xs", "--size", "1MB", "--candidates", "5", "--json")

    def tune(folder: Path, pattern: str = "", number: int = 1) -> subprocess.CompletedProcess[str]:
        env = os.environ | {"RIG_MODELS": str(folder / "models")}
        command = [sys.executable, "-c", _KILLED, pattern, str(number), *arguments, "--runs", "x.sqlite"]
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)

    folders = [models.parent / name for name in ("whole", "killed")]
    for folder in folders:
        shutil.copytree(models, folder / "models")
    whole = tune(folders[0])
    assert whole.returncode == 0, whole.stderr
    for stage, (pattern, number) in _STAGES.items():
        killed = tune(folders[1], pattern, number)
        assert killed.returncode == -signal.SIGKILL, (stage, killed.stderr)
    killed = tune(folders[1])
    assert killed.returncode == 0, killed.stderr
    told, expected = (_without_names(json.loads(done.stdout.splitlines()[-1])) for done in (killed, whole))
    assert told == expected
    names = [sorted(p.name for p in folder.rglob("*") if "sqlite" not in p.name) for folder in folders]
    assert names[0] == names[1]
    registries = [(folder / "models" / "local.toml").read_text() for folder in folders]
    assert registries[0] == registries[1]


def _without_names(told: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on when it was done."""
    return {name: value for name, value in told.items() if name not in ("run", "path")}
