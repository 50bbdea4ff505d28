"""`rig screen` from the command line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_talks
import tiny_gguf

Rig = Callable[..., Any]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    small_talks.write_with_models(tmp_path, monkeypatch)
    return tmp_path


TALKS = ("--conversations", "conversations", "--world", "databases", "--tools", "exact", "--threads", "1")


@pytest.mark.slow
def test_a_column_for_each_model_and_a_file_with_every_choice(rig: Rig, place: Path) -> None:
    done = rig("screen", "base", "other", *TALKS, "--output", "screen.json")
    assert done.code == 0, done.err
    assert done.out.split()[:2] == ["base", "other"]
    assert "true calls" in done.out
    assert "3 conversations; log-probabilities and divergences in nats; against base" in done.out
    assert "base: 3 conversations screened" in done.err
    data = json.loads((place / "screen.json").read_text())
    assert [arm["arm"] for arm in data["arms"]] == ["base", "other"]
    steps = data["arms"][1]["steps"]
    assert len(steps) == 16
    calls = [step for step in steps if step["answer"] == "call"]
    assert data["arms"][1]["call_logprob"] == pytest.approx(sum(c["logprob"] for c in calls) / len(calls))
    for step in steps:
        assert sum(choice["logprob"] for choice in step["choices"]) == pytest.approx(step["logprob"])
        assert all(choice["constrained_kl"] >= 0 for choice in step["choices"])


def test_json_has_the_figures(rig: Rig, place: Path) -> None:
    data = rig("screen", "base", "base", *TALKS, "--limit", "1", "--json").json
    base, same = data["arms"]
    assert data["conversations"] == ["alarms"]
    assert same["difference"] == {"value": 0, "low": None, "high": None}
    assert same["kinds"]["value"]["constrained_kl"] == 0
    assert base["kinds"]["value"]["constrained_kl"] is None
    assert "steps" not in base


@pytest.mark.slow
def test_against_a_run_it_asks_as_the_run_did(rig: Rig, place: Path) -> None:
    limits = ("--max-tokens", "24", "--max-calls", "1", "--parallel", "1", "--similarity", "exact")
    assert rig("run", "base", "other", *TALKS, *limits, "--display", "none").code == 0
    done = rig("screen", "--against", "latest", "--json")
    assert done.code == 0, done.err
    assert [arm["arm"] for arm in done.json["arms"]] == ["base", "other"]
    assert done.json["settings"]["protocol"]["tools"] == "exact"
    asked = rig("screen", "base", "other", *TALKS, "--json").json
    for left, right in zip(done.json["arms"], asked["arms"], strict=True):
        assert left["call_logprob"] == right["call_logprob"]
    assert {each["outcome"] for each in done.json["foretold"]} == {"changed", "flipped", "lost"}
    assert "how well that predicts" in rig("screen", "--against", "latest").out


def test_what_is_said_against_a_run_is_checked_before_any_work(
    rig: Rig, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = ("--max-tokens", "8", "--max-calls", "1", "--parallel", "1", "--similarity", "exact")
    assert rig("run", "base", "other", *TALKS, *limits, "--limit", "1", "--display", "none").code == 0
    tiny_gguf.write(place / "models" / "third.gguf", n_ctx=16384, seed=2)
    monkeypatch.setattr(
        "rig.plugins.screen.screening.screen", lambda *_: pytest.fail("it screened before it checked")
    )
    for arguments, fault in (
        (["--against", "nothing"], "no run 'nothing'"),
        (["--against", "latest/nobody"], "nobody"),
        (["base", "other", "--against", "latest", "--only", "nowhere"], "nowhere"),
        (["third", "other", "--against", "latest"], "no arm was made with the base's file"),
        (["base", "third", "--against", "latest"], "no arm was made with any file that is screened but"),
        (["base", "other", "--against", "latest/base"], "no arm was made with any file that is screened but"),
    ):
        done = rig("screen", *arguments)
        assert (done.code, done.out) == (2, "")
        assert fault in done.err
        assert len(done.err.splitlines()) == 1


def test_several_ways_of_asking_in_one_run_must_be_told_apart(rig: Rig, place: Path) -> None:
    limits = ("--max-tokens", "8", "--max-calls", "1", "--parallel", "1", "--similarity", "exact")
    several = ("--docs", "full", "--docs", "names", "--limit", "1", "--display", "none")
    assert rig("run", "base", "other", *TALKS, *limits, *several).code == 0
    done = rig("screen", "--against", "latest")
    assert done.code == 2
    assert "were asked in different ways" in done.err
    arms = ("--against", "latest/base docs=names", "--against", "latest/other docs=names")
    assert rig("screen", *arms, "--json").json["settings"]["protocol"]["docs"] == "names"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ([], "which models?"),
        (["oracle"], "oracle has no weights"),
        (["nobody"], "unknown model"),
        (["base", "--suite", "easy", "--conversations", "x"], "both choose the conversations"),
        (["base", "--output", "no/such/file.json"], "no such folder"),
        (["base", "--against", "latest"], "no such file"),
        (["base", "--against", "latest", "--docs", "names"], "--docs comes from the run"),
        (["base", "--kv", "q8_0", "--flash-attention", "off", *TALKS], "needs flash attention"),
    ],
)
def test_bad_input_is_one_line(rig: Rig, place: Path, arguments: list[str], fault: str) -> None:
    done = rig("screen", *arguments)
    assert (done.code, done.out) == (2, "")
    assert fault in done.err
    assert len(done.err.splitlines()) == 1


def test_a_model_that_fails_is_said_and_the_rest_is_shown(rig: Rig, place: Path) -> None:
    path = tiny_gguf.write(place / "models" / "bare.gguf", template=None)
    assert path.is_file()
    done = rig("screen", "base", "bare", *TALKS)
    assert done.code == 1
    assert "bare failed: " in done.out
    assert "no chat template" in done.err
