"""`rig export`: a run as files for another tool."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_talks

Rig = Callable[..., Any]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    monkeypatch.setenv("RIG_RUNS", str(path))
    return path


def test_each_conversation_is_a_file_with_predictions(rig: Rig, store: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    done = rig("export", "latest", "--format", "tooltalk", "--output", out)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"3 conversations of run abcde are in {out}\n"
    for source in small_talks.sources():
        written = json.loads((out / f"{source['name']}.json").read_text())
        for before, after in zip(source["conversation"], written["conversation"], strict=True):
            predictions = after.pop("predictions", [])
            assert after == before
            calls = [each for each in predictions if each["role"] == "api"]
            truths = before.get("apis", [])
            assert [
                {name: call[name] for name in truth} for call, truth in zip(calls, truths, strict=True)
            ] == truths
            if before["role"] == "assistant":
                assert predictions[-1]["role"] == "assistant"
                assert predictions[-1]["text"] == before["text"]


def test_json_names_the_files(rig: Rig, store: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = rig("export", "abcde", "--format", "tooltalk", "--output", out, "--json").json
    assert found["run"] == "abcde"
    assert sorted(found["files"]) == sorted(str(path) for path in out.iterdir())


def test_faults_are_one_line(rig: Rig, store: Path, tmp_path: Path) -> None:
    for run, output, fault in (("nothing", "out", "no run"), ("abcde", ".", "choose a new one")):
        done = rig("export", run, "--format", "tooltalk", "--output", tmp_path / output)
        assert done.code == 2
        assert fault in done.err
        assert done.err.count("\n") == 1
    assert rig("export", "abcde", "--output", tmp_path / "out").code == 2
    assert not (tmp_path / "out").exists()
