"""What make would do: one build of llama.cpp for each kind of GPU, kept until another is wanted."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
Make = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    for name in ("Makefile", "constraints.txt", "pyproject.toml"):
        shutil.copy(CHECKOUT / name, tmp_path)
    for inherited in ("MAKEFLAGS", "MAKELEVEL", "GPU", "ARGS", "MODEL", "SUITE", "CMAKE_ARGS"):
        monkeypatch.delenv(inherited, raising=False)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["make", "--dry-run", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


def built(tmp_path: Path, kind: str) -> None:
    """Leave the stamps of a finished set-up."""
    versions = dict(
        line.split("==") for line in (CHECKOUT / "constraints.txt").read_text().splitlines() if "==" in line
    )
    (tmp_path / ".venv").mkdir(exist_ok=True)
    for stamp in (".made", f".llama-{versions['llama_cpp_python']}-{kind}", ".rig", ".dev"):
        (tmp_path / ".venv" / stamp).touch()


def test_a_fresh_run_makes_everything_in_order(make: Make) -> None:
    out = make("run").stdout
    steps = [
        "-m venv",
        "5 to 7 minutes",
        "llama-cpp-python",
        "install -c constraints.txt -e '.[docs]'",
        "models pull",
    ]
    positions = [out.index(step) for step in [*steps, "rig run smollm2-135m-tools --suite easy"]]
    assert positions == sorted(positions)
    assert "[dev]" not in out
    assert "--no-cache-dir" not in out


def test_the_documentation_needs_nothing_beyond_a_first_run(make: Make, tmp_path: Path) -> None:
    built(tmp_path, "cpu")
    (tmp_path / ".venv" / ".dev").unlink()
    out = make("docs").stdout
    assert "mkdocs build" in out
    assert "pip" not in out


def test_tests_bring_the_tools_they_need(make: Make) -> None:
    out = make("test").stdout
    assert out.index("[dev]") < out.index("pytest")


@pytest.mark.parametrize("gpu", ["cuda", "metal", "vulkan"])
def test_a_gpu_build_is_compiled_for_that_gpu(make: Make, gpu: str) -> None:
    out = make("run", f"GPU={gpu}").stdout
    assert f'CMAKE_ARGS="-DGGML_{gpu.upper()}=on' in out
    assert "--no-cache-dir --no-binary llama-cpp-python" in out


def test_an_unknown_gpu_is_refused(make: Make) -> None:
    done = make("run", "GPU=abacus")
    assert done.returncode == 2
    assert "use cuda, metal, vulkan or cpu" in done.stderr


@pytest.mark.parametrize("again", [[], ["GPU=cuda"]])
def test_a_finished_set_up_is_left_alone(make: Make, tmp_path: Path, again: list[str]) -> None:
    built(tmp_path, "cuda")
    assert "pip" not in make("test", *again).stdout


@pytest.mark.parametrize(("before", "after"), [("cpu", "cuda"), ("cuda", "cpu")])
def test_asking_for_another_build_makes_it(make: Make, tmp_path: Path, before: str, after: str) -> None:
    built(tmp_path, before)
    out = make("run", f"GPU={after}").stdout
    assert f"Installing llama.cpp ({after})" in out
    assert "uninstall" in out
    assert "-m venv" not in out


def test_options_are_passed_on(make: Make, tmp_path: Path) -> None:
    built(tmp_path, "cpu")
    out = make("run", "MODEL=other.gguf", "SUITE=hard", "ARGS=--limit 2").stdout
    assert "rig run other.gguf --suite hard --limit 2" in out
