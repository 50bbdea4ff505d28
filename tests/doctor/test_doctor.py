"""`rig doctor`: a healthy installation, and each thing that would stop a run."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_gguf
from native_templates import OWN

from rig.core.errors import RigError
from rig.plugins.bundle import built
from rig.plugins.doctor import verb
from rig.plugins.tooltalk.method import ToolTalk
from rig.plugins.tooltalk_tools.world import ToolTalkWorld

Rig = Callable[..., Any]
WriteGguf = Callable[..., Path]


def findings(finished: Any) -> dict[str, dict[str, str]]:
    """By name; of several, the worst."""
    order = ("ok", "warn", "fail")
    return {
        found["name"]: found
        for found in sorted(finished.json["findings"], key=lambda found: order.index(found["state"]))
    }


@pytest.mark.usefixtures("smollm2")
def test_a_complete_installation_is_healthy(rig: Rig) -> None:
    finished = rig("doctor", "--json")
    assert finished.json["ok"], finished.out
    assert finished.code == 0
    found = findings(finished)
    assert set(found) == {
        "python",
        "machine",
        "libraries",
        "llama.cpp",
        "gpu offload",
        "model",
        "run store",
        "conversations",
        "world",
        "similarity",
        "network",
    }
    suites = [f["detail"] for f in finished.json["findings"] if f["name"] == "conversations"]
    assert suites[0].startswith("easy: 28 conversations")
    assert "llama-cpp-python" in found["libraries"]["detail"]
    assert found["network"]["detail"].startswith("not needed")


@pytest.mark.usefixtures("smollm2")
def test_people_get_one_line_for_each_finding(rig: Rig) -> None:
    lines = rig("doctor").out.splitlines()
    assert all(line.startswith(("ok ", "warn ", "fail ", " ")) for line in lines)
    assert any("gpu offload" in line for line in lines)


def test_without_any_model_the_doctor_says_how_to_get_one(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIG_MODELS", str(tmp_path))
    finished = rig("doctor", "--json")
    assert finished.code == 1
    model = findings(finished)["model"]
    assert model["state"] == "fail"
    assert "rig models pull smollm2-135m" in model["advice"]


def test_one_bad_file_among_good_ones_is_a_warning(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_gguf: WriteGguf
) -> None:
    monkeypatch.setenv("RIG_MODELS", str(tmp_path))
    write_gguf("good.gguf")
    (tmp_path / "bad.gguf").write_text("text")
    model = findings(rig("doctor", "--json"))["model"]
    assert model["state"] == "warn"
    assert "not a GGUF file" in model["detail"]


def test_a_store_that_cannot_be_written(rig: Rig, tmp_path: Path) -> None:
    finished = rig("doctor", "--json", "--runs", tmp_path / "no" / "such" / "runs.sqlite")
    assert finished.code == 1
    assert findings(finished)["run store"]["state"] == "fail"
    assert not (tmp_path / "no").exists()


def test_looking_at_a_store_does_not_make_it(rig: Rig, tmp_path: Path) -> None:
    rig("doctor", "--json", "--runs", tmp_path / "runs.sqlite")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "signal 4"),
        ("raise OSError('libllama.so: cannot open')", "libllama.so: cannot open"),
        ("print('no JSON')", "does not start"),
        ("", "does not start"),
    ],
)
def test_a_llama_cpp_that_does_not_start(monkeypatch: pytest.MonkeyPatch, script: str, says: str) -> None:
    monkeypatch.setattr(built, "_PROBE", script)
    (found,) = verb._llama_cpp()
    assert found.state == "fail"
    assert says in found.detail
    assert "make setup" in found.advice


def test_a_missing_and_an_untested_library(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ["click>=99", "no-such-library", 'not-wanted; extra == "dev"']
    monkeypatch.setattr(verb, "requires", lambda _: wanted)
    states = [(found.state, found.detail.split()[0]) for found in verb._libraries()]
    assert states == [("warn", "click"), ("fail", "no-such-library"), ("ok", "rig")]


def test_a_broken_world_and_broken_conversations(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RigError("it is broken")

    monkeypatch.setattr(ToolTalkWorld, "open", broken)
    monkeypatch.setattr(ToolTalk, "load", broken)
    assert [found.state for found in verb._world()] == ["fail"]
    assert [found.state for found in verb._conversations()][:2] == ["fail", "fail"]


def test_the_similarity_model_is_found_without_loading_it(rig: Rig) -> None:
    before = "torch" in sys.modules
    assert [found.state for found in verb._similarity()] == ["ok"]
    assert ("torch" in sys.modules) == before


@pytest.mark.slow
def test_a_file_is_asked_five_questions(rig: Rig, tmp_path: Path) -> None:
    file = tiny_gguf.write(tmp_path / "tiny.gguf", template=OWN["thinking"], n_ctx=16384)
    asked = rig("doctor", file, "--json")
    assert [found["name"] for found in asked.json["findings"]] == [
        *("one tool", "28 tools", "two calls", "no call", "nested", "variables")
    ]
    assert asked.json["findings"][-1]["detail"] == "enable_thinking (by default true): false"
    assert asked.code == 0
    assert all(found["detail"] for found in asked.json["findings"])


def test_a_file_that_is_none_is_one_line(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "bad.gguf").write_text("text")
    for name in (tmp_path / "bad.gguf", tmp_path / "none.gguf", "no-such-model"):
        asked = rig("doctor", name)
        assert (asked.code, asked.out, len(asked.err.splitlines())) == (2, "", 1)


@pytest.mark.model
@pytest.mark.slow
def test_the_taught_model_calls_in_the_form_it_was_taught(rig: Rig, smollm2: Path) -> None:
    asked = rig("doctor", "smollm2-135m-tools")
    assert len([line for line in asked.out.splitlines() if line[0] != " " and "variables" not in line]) == 5
    assert "in the right form" in asked.out
