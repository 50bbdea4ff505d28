"""`rig noise`: makes a run of equal arms, and says what differs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_talks
import tiny_gguf

from rig.store import Runs

Rig = Callable[..., Any]

HOW = (
    *("--conversations", "conversations", "--world", "databases", "--tools", "exact", "--limit", "2"),
    *("--max-calls", "2", "--max-tokens", "16", "--threads", "1", "--parallel", "1"),
    *("--similarity", "exact", "--display", "none"),
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a tiny model, conversations and databases in it."""
    small_talks.write(tmp_path)
    tiny_gguf.write(tmp_path / "tiny.gguf")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RIG_RUNS", str(tmp_path / "runs.sqlite"))
    return tmp_path


def test_a_model_is_run_twice_and_exactly(rig: Rig, place: Path) -> None:
    done = rig("noise", "tiny.gguf", *HOW, "--json")
    assert done.code == 0, done.err
    again, exact = done.json["noise"]
    assert again["arms"] == ["tiny", "tiny again"]
    assert exact["arms"] == ["tiny", "tiny exact"]
    assert again["settings"] == []
    assert any(setting.startswith("exact (False -> True)") for setting in exact["settings"])
    assert again["steps"]["differ"] == 0
    assert again["steps"]["of"] >= 4
    with Runs.open(place / "runs.sqlite") as runs:
        [stored] = runs.all()
        prints = [arm.fingerprint for arm in stored.arms]
    assert prints[0] == prints[1] != prints[2]

    said = rig("noise", "--of", "latest")
    assert said.code == 0
    assert "tiny again differs in no setting" in said.out
    assert "predictions with another text" in said.out
    assert rig("compare", "latest", "--across-settings", "--noise", "latest").code == 0


def test_with_a_temperature_the_second_arm_has_another_seed(rig: Rig, place: Path) -> None:
    again, _ = rig("noise", "tiny.gguf", *HOW, "--temperature", "2", "--json").json["noise"]
    assert again["settings"] == ["seed (0 -> 1)"]
    assert again["steps"]["differ"] > 0


@pytest.mark.slow
def test_an_interrupted_one_can_be_gone_on_with(rig: Rig, place: Path) -> None:
    rig("noise", "tiny.gguf", *HOW)
    with Runs.open(place / "runs.sqlite") as runs:
        assert runs.get("latest").settings["noise"] is True
    done = rig("run", "--resume", "latest", "--display", "plain")
    assert done.code == 0
    assert "tiny exact" in done.out


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ([], "which model?"),
        (["tiny.gguf", "--of", "latest"], "give one of them"),
        (["tiny.gguf", "--docs", "full", "--docs", "names"], "give --docs once"),
        (["nothing.gguf"], "nothing.gguf"),
        (["--of", "nothing"], "no such file"),
    ],
)
def test_faults_are_one_line(rig: Rig, place: Path, arguments: list[str], fault: str) -> None:
    done = rig("noise", *arguments)
    assert (done.code, done.out) == (2, "")
    assert fault in done.err
    assert done.err.count("\n") == 1
