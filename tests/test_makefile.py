"""What make would do: one build of llama.cpp for each kind of GPU, kept until another is wanted."""

import shlex
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
    (tmp_path / "models").mkdir()
    shutil.copy(CHECKOUT / "models" / "registry.toml", tmp_path / "models")
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
        "2 to 3 minutes",
        "llama-cpp-python",
        "install -c constraints.txt -e '.[docs,engine]'",
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
    assert out.index("[dev]") < out.index("bin/pytest")


@pytest.mark.parametrize("gpu", ["cuda", "metal", "vulkan"])
def test_a_gpu_build_is_compiled_for_that_gpu(make: Make, gpu: str) -> None:
    out = make("run", f"GPU={gpu}").stdout
    assert f'CMAKE_ARGS="-DGGML_{gpu.upper()}=on' in out
    assert "--no-cache-dir --no-binary llama-cpp-python" in out


@pytest.mark.parametrize("gpu", [[], ["GPU=cuda"], ["GPU=cpu"]])
def test_nothing_is_compiled_that_rig_does_not_load(make: Make, tmp_path: Path, gpu: list[str]) -> None:
    out = make("setup", *gpu).stdout
    (line,) = (line for line in out.splitlines() if "CMAKE_ARGS=" in line)
    arguments = shlex.split(line.split('CMAKE_ARGS="')[1].split('"')[0])
    assert "-DLLAVA_BUILD=OFF" in arguments
    assert f"-DCMAKE_PROJECT_llama.cpp_INCLUDE={tmp_path}/.venv/llama.cmake" in arguments
    assert "echo 'set(LLAMA_BUILD_COMMON OFF)' > .venv/llama.cmake" in out


COMPILER = """\
Collecting llama-cpp-python
  [1/3] Building C object a.o
  note: [9/9] is not progress
  [2/3] Building C object b.o
  [ 99%] Linking
"""


@pytest.mark.parametrize("code", [0, 3])
def test_how_far_the_compiler_is_stands_on_one_line(make: Make, tmp_path: Path, code: int) -> None:
    """A pip that only writes what a build would stands in for the real one."""
    built(tmp_path, "cpu")
    (tmp_path / ".venv" / "bin").mkdir()
    pip = tmp_path / ".venv" / "bin" / "python"
    pip.write_text(f"#!/bin/sh\ncase $* in *uninstall*) exit 0;; esac\ncat <<'E'\n{COMPILER}E\nexit {code}\n")
    pip.chmod(0o755)
    stamp = next((tmp_path / ".venv").glob(".llama-*"))
    stamp.unlink()
    done = subprocess.run(["make", f".venv/{stamp.name}"], cwd=tmp_path, capture_output=True, check=False)
    shown = [b"[1/3]", b"[2/3]", b"[ 99%]"]
    assert b"".join(b"\r  compiling llama.cpp   " + part for part in shown) + b"\n" in done.stdout
    assert (tmp_path / ".venv" / "llama-build.log").read_text() == COMPILER
    assert (done.returncode != 0) == (code != 0) == (not stamp.exists())
    assert (b"says why" in done.stderr) == (code != 0)


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


@pytest.mark.parametrize(
    ("models", "pulled"),
    [
        ("qwen2.5-coder-1.5b", "qwen2.5-coder-1.5b"),
        ("my.gguf qwen2.5-coder-0.5b smollm2-135m", "qwen2.5-coder-0.5b smollm2-135m"),
    ],
)
def test_the_models_of_the_registry_are_fetched_first(
    make: Make, tmp_path: Path, models: str, pulled: str
) -> None:
    built(tmp_path, "cpu")
    lines = make("run", f"MODEL={models}").stdout.splitlines()
    assert lines == [f".venv/bin/rig models pull {pulled}", f".venv/bin/rig run {models} --suite easy "]


def test_what_is_not_in_the_registry_is_not_fetched(make: Make, tmp_path: Path) -> None:
    built(tmp_path, "cpu")
    assert "pull" not in make("run", "MODEL=http://127.0.0.1:8080/v1").stdout


def test_options_are_passed_on(make: Make, tmp_path: Path) -> None:
    built(tmp_path, "cpu")
    out = make("run", "MODEL=other.gguf", "SUITE=hard", "ARGS=--limit 2").stdout
    assert "rig run other.gguf --suite hard --limit 2" in out


@pytest.mark.parametrize(
    ("room", "place"), [("store", "rig/store"), ("mcp", "rig/plugins/mcp"), ("tui", "tui")]
)
def test_a_room_is_checked_alone(make: Make, tmp_path: Path, room: str, place: str) -> None:
    built(tmp_path, "cpu")
    for folder in (place, f"tests/{room}"):
        (tmp_path / folder).mkdir(parents=True)
    out = make("check", f"ROOM={room}").stdout
    assert f"ruff check {place} tests/{room}\n" in out
    assert f"mypy -p {place.replace('/', '.')}\n" in out
    assert f'pytest -n auto -m "not slow" tests/{room}' in out
