"""Setups that cannot work: refused where arithmetic knows, and never taken for a model that is bad."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import graded_talks
import pytest
import small_talks

from rig.compare.compare import compare
from rig.core.errors import ErrorKind, RigError
from rig.core.events import Notice
from rig.core.models import Prediction, Request
from rig.methods.scripted import Scripted, failed
from rig.plugins.strategies.looks import compare_sequentially
from rig.store import Runs

Rig = Callable[..., Any]
FULL = "the prompt has 1962 tokens, the context 512"


def hopeless(_: Request) -> Prediction:
    return failed(ErrorKind.CONTEXT, FULL)


class Narrow(Scripted):
    """Says of some conversations beforehand that it has no room for them."""

    def __init__(self, least: int) -> None:
        super().__init__(lambda request: small_talks.erratic(request))
        self.least = least
        self.asked = 0

    def obstacle(self, opening: Request) -> str | None:
        self.asked += 1
        return FULL if self.asked > self.least else None


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "runs.sqlite"
    arms = (
        graded_talks.model(3),
        Scripted(hopeless, fingerprint={"file_sha256": "0"}),
        graded_talks.model(3),
    )
    graded_talks.play(path, *arms, number=3, names=("good", "narrow", "other"))
    return path


def test_an_arm_that_could_never_answer_has_failures_but_no_rates(store: Path, rig: Rig) -> None:
    shown = rig("show", "latest", "--runs", store)
    assert "narrow is not evaluated: the assistant could never answer: context 6" in shown.out
    [success] = [line.split() for line in shown.out.splitlines() if line.startswith("success")]
    assert success == ["success", "100.0%", "-", "100.0%"]
    good, narrow, _ = rig("show", "latest", "--runs", store, "--json").json["arms"]
    assert narrow["not_evaluated"] == "the assistant could never answer: context 6"
    assert narrow["errors"] == {"context": 6}
    assert (narrow["success_rate"], narrow["recall"]) == (None, None)
    assert (good["success_rate"], "not_evaluated" in good) == (1, False)
    with Runs.open(store) as runs:
        rows = {row["arm"]: row for row in runs.view("summary", runs.get("latest"))}
    assert (rows["narrow"]["not_evaluated"], rows["narrow"]["success_rate"]) == (1, None)
    assert (rows["good"]["not_evaluated"], rows["good"]["success_rate"]) == (0, 1)


def test_it_is_on_no_leaderboard(store: Path, rig: Rig) -> None:
    why = "/narrow is left out: the assistant could never answer: context 6"
    shown = rig("leaderboard", "--runs", store)
    assert why in shown.out
    board = rig("leaderboard", "--runs", store, "--json").json
    assert [arm["arm"] for arm in board["arms"]] == ["good", "other"]
    assert [line.endswith(why) for line in board["left_out"]] == [True]


def test_it_is_never_compared(store: Path) -> None:
    with Runs.open(store) as runs:
        found = compare(runs, ["latest"])
        assert [arm.label for arm in found.arms] == ["good", "other"]
        assert found.left_out["narrow"].startswith("not evaluated: the assistant could never answer")
        with pytest.raises(RigError, match="nothing to compare: narrow: not evaluated"):
            compare(runs, ["latest/narrow"])


def test_an_arm_that_sometimes_answered_is_evaluated_and_its_failures_are_named(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"

    def script(request: Request) -> Prediction:
        return hopeless(request) if request.key.turn == 3 else graded_talks.model(2).predict(request, print)

    arms = (graded_talks.model(2), Scripted(script, fingerprint={"file_sha256": "0"}))
    graded_talks.play(path, *arms, number=2)
    with Runs.open(path) as runs:
        found = compare(runs, ["latest"])
        looked = compare_sequentially(runs, ["latest"], 0.05)
    for notes in (found.notes, looked.notes):
        assert "arm1: failures of the machine count as its own (context 2)" in notes


def test_a_run_in_which_nothing_has_room_is_refused_before_anything_is_stored(tmp_path: Path) -> None:
    todo = small_talks.plan(tmp_path / "runs.sqlite", Narrow(0))
    with pytest.raises(RigError, match=f"arm0: no conversation can be played: {FULL}"):
        small_talks.play(todo)
    assert not todo.store.exists()


def test_conversations_without_room_are_named_before_they_are_played(tmp_path: Path) -> None:
    events = small_talks.play(small_talks.plan(tmp_path / "runs.sqlite", Narrow(1)))
    said = [event.text for event in events if isinstance(event, Notice)]
    assert said == [f"arm0: 2 of 3 conversations cannot be played: {FULL}"]


def test_a_real_context_that_is_too_small_is_refused(tmp_path: Path, smollm2: Path, rig: Rig) -> None:
    store = tmp_path / "runs.sqlite"
    done = rig("run", smollm2, "--n-ctx", 512, "--threads", 1, "--runs", store)
    assert done.code == 2
    assert "no conversation can be played: the prompt has" in done.err
    assert "raise --n-ctx" in done.err
    assert not store.exists()
