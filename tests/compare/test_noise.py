"""What differs between arms that should answer alike, counted where it is known."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from graded_talks import model, play

from rig.compare.arms import ComparisonOptions, choose
from rig.compare.compare import compare
from rig.compare.noise import DifferingShare, noise_between, noise_of
from rig.core.errors import RigError
from rig.store import Runs

N = 12


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


def _counts(found: DifferingShare) -> tuple[int, int]:
    return found.differ, found.of


def test_everything_that_differs_is_counted_once(store: Path) -> None:
    # Right: in each of two turns a call and a reply. Wrong, in the second turn: a reply at once, or with
    # `acts` another call and a reply.
    play(store, model(N, {1}), model(N, {2, 3}), number=N)
    with Runs.open(store) as runs:
        noise = noise_of(runs, "abcde", 0.05)
    assert _counts(noise.conversations) == (3, N)
    assert _counts(noise.turns) == (3, 2 * N)
    assert _counts(noise.calls) == (3, 2 * N)
    # Of a turn that is wrong in one arm both steps differ: the call, and the reply that the other never made.
    assert _counts(noise.steps) == (6, 4 * N)
    assert noise.conversations.share.value == 0.25
    assert (noise.runs, noise.arms, noise.settings) == (("abcde", "abcde"), ("arm0", "arm1"), ())


def test_another_call_is_another_verdict(store: Path) -> None:
    play(store, model(N), model(N, {5}, acts=True), number=N)
    with Runs.open(store) as runs:
        noise = noise_of(runs, "abcde", 0.05)
    assert _counts(noise.calls) == (1, 2 * N)
    assert _counts(noise.steps) == (2, 4 * N)


def test_repeats_count_one_by_one_and_conversations_stay_the_unit(store: Path) -> None:
    play(store, model(N, {(0, 0), (0, 1), (4, 2)}), model(N), number=N, repeats=3)
    with Runs.open(store) as runs:
        noise = noise_of(runs, "abcde", 0.05)
    assert _counts(noise.conversations) == (3, 3 * N)
    share = noise.conversations.share
    assert share.low is not None
    assert share.high is not None
    assert share.value == pytest.approx(3 / (3 * N))
    assert 0 <= share.low < share.value < share.high <= 1


def test_equal_arms_have_none(store: Path) -> None:
    play(store, model(N, {3}), model(N, {3}), number=N)
    with Runs.open(store) as runs:
        noise = noise_of(runs, "latest", 0.05)
    for kind in ("steps", "calls", "turns", "conversations"):
        found = getattr(noise, kind)
        assert found.differ == 0
        assert found.share.value == found.share.low == 0
        assert found.share.high > 0, "having seen none does not mean that there is none"


def test_it_stands_beside_a_comparison(store: Path) -> None:
    play(store, model(N, {1}), model(N, {2, 3}), number=N)
    with Runs.open(store) as runs:
        noise = noise_of(runs, "latest", 0.05)
        found = compare(runs, ["latest"], ComparisonOptions(resamples=500), noise)
    assert found.noise == noise
    told = json.loads(json.dumps(found.as_json()))["noise"]
    assert told["conversations"]["differ"] == 3
    assert told["settings"] == []


def test_only_arms_that_are_equal_but_for_the_seed_are_noise(store: Path) -> None:
    def seeded(seed: int, **more: Any) -> Any:
        return model(N, fingerprint={"seed": seed, **more})

    play(store, seeded(0), seeded(0, exact=True), seeded(1), number=N)
    with Runs.open(store) as runs:
        assert noise_of(runs, "latest", 0.05).arms == ("arm0", "arm2")
        with pytest.raises(RigError, match="no other arm of abcde is the same as arm1"):
            noise_of(runs, "abcde/arm1", 0.05)


def test_different_models_measure_no_noise(store: Path) -> None:
    play(store, model(N), model(N, fingerprint={"file_sha256": "1"}), number=N)
    with Runs.open(store) as runs:
        with pytest.raises(RigError, match="no other arm"):
            noise_of(runs, "latest", 0.05)
        with pytest.raises(RigError, match="not the same model"):
            noise_between(runs, *choose(runs, ["latest"]), 0.05)


def test_arms_that_have_finished_nothing_measure_no_noise(store: Path) -> None:
    play(store, model(1), model(1, fingerprint={"seed": 1}), number=1)
    with sqlite3.connect(store) as database:
        database.execute("DELETE FROM scores")
    with Runs.open(store) as runs, pytest.raises(RigError, match="has finished no conversation"):
        noise_of(runs, "latest", 0.05)
