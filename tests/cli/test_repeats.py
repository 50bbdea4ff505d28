"""What repeats tell stands wherever a run with repeats is shown: pass^k, pass@k and what is flaky."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graded_talks
import pytest
import small_talks
from stored_runs import seeing

from rig.compare.arms import ComparisonOptions
from rig.compare.compare import compare
from rig.core.events import ConversationFinished
from rig.running.control import Control
from rig.running.runner import run
from rig.show.card import Card, ending
from rig.stats.repeats import RepeatOutcomes
from rig.store import Runs
from tui.live.live_run import EventQueue, LiveRun
from tui.screens.run import RunScreen

Rig = Callable[..., Any]

# Of eight conversations one always fails, and two fail once and twice in three repeats.
WRONG = (0, (3, 1), (5, 0), (5, 2))
SAID = "arm0 succeeds in some repeats and fails in others of talk03, talk05"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "runs.sqlite"
    sampled = graded_talks.model(8, WRONG, fingerprint={"temperature": 0.7})
    graded_talks.play(
        path, sampled, graded_talks.model(8, fingerprint={"temperature": 0}), number=8, repeats=3
    )
    return path


def test_a_run_shows_it_beside_its_rates(rig: Rig, store: Path) -> None:
    out = rig("show", "abcde", "--runs", store).out
    assert re.search(
        r"^all of 3 repeats \(pass\^3\) +62\.5% \([\d.]+ to [\d.]+\) +100\.0% ", out, re.MULTILINE
    )
    assert re.search(r"^any of 3 repeats \(pass@3\) +87\.5% ", out, re.MULTILINE)
    assert re.search(r"^conversations that are flaky +2 +0$", out, re.MULTILINE)
    assert SAID in out
    assert "arm1 was sampled greedily: its repeats are alike" in out


def test_a_comparison_says_it_below_the_verdicts(rig: Rig, store: Path) -> None:
    done = rig("compare", "abcde", "--across-settings", "--runs", store)
    out = " ".join(done.out.split())
    assert "repeats arm0: all of 3 repeats (pass^3) 62.5% (" in out, done.err
    assert "any of 3 repeats (pass@3) 87.5% (" in out
    assert SAID in out


def test_json_and_the_comparison_have_the_same_numbers(rig: Rig, store: Path) -> None:
    arms = rig("show", "abcde", "--runs", store, "--json").json["arms"]
    with Runs.open(store) as runs:
        compared = compare(runs, ["abcde"], ComparisonOptions(across_settings=True)).as_json()["arms"]
    for shown, told in zip(arms, compared, strict=True):
        for one, other in zip(shown["reliability"], told["reliability"], strict=True):
            for name in ("all_pass", "any_passes"):
                assert one[name] == pytest.approx(other[name])
        assert sorted(shown["flaky"]) == sorted(told["flaky"])
    assert [one["k"] for one in arms[0]["reliability"]] == [1, 2, 3]
    # One of three choices of two has both right where one of three failed, and none where two did.
    assert arms[0]["reliability"][1]["all_pass"]["value"] == pytest.approx((5 + 1 / 3) / 8)


def test_the_end_of_a_run_says_it(store: Path) -> None:
    with Runs.open(store) as runs:
        card = " ".join(Card.of(runs, "abcde").text(200).split())
        stored = runs.get("abcde")
    assert "repeats arm0: all of 3 repeats (pass^3) 62.5%" in card
    assert SAID in card
    assert "conversations that are flaky" in ending(stored, store, 200, full=True)


def test_a_run_without_repeats_says_nothing_of_them(rig: Rig, tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    graded_talks.play(path, graded_talks.model(3, (0,)), number=3)
    assert "pass^" not in rig("show", "abcde", "--runs", path).out
    assert "flaky" not in rig("show", "abcde", "--runs", path, "--json").json["arms"][0]
    with Runs.open(path) as runs:
        assert "pass^" not in Card.of(runs, "abcde").text(100)


def test_of_a_run_that_stopped_only_what_was_repeated_counts(rig: Rig, tmp_path: Path) -> None:
    path, control, finished = tmp_path / "runs.sqlite", Control(), []

    def stop(event: object) -> None:
        finished.append(isinstance(event, ConversationFinished))
        if sum(finished) == 6:
            control.stop()

    todo = small_talks.plan(
        path, graded_talks.model(4, ((0, 1),)), conversations=graded_talks.conversations(4), repeats=2
    )
    run(todo, stop, control)
    [arm] = rig("show", "abcde", "--runs", path, "--json").json["arms"]
    assert [(one["k"], one["all_pass"]["value"]) for one in arm["reliability"]] == [(1, 0.75), (2, 0.5)]
    assert arm["flaky"] == ["talk00"]


def test_the_live_view_has_it_beside_the_rates(tmp_path: Path) -> None:
    feed = EventQueue()
    todo = small_talks.plan(
        tmp_path / "runs.sqlite",
        graded_talks.model(8, WRONG),
        conversations=graded_talks.conversations(8),
        repeats=3,
    )
    for event in small_talks.play(todo):
        feed.emit(event)

    async def look() -> None:
        async with seeing(RunScreen(LiveRun(feed, Control())), size=(200, 40)) as seen:
            await seen.shows("pass^3", "62.5%", "flaky")

    asyncio.run(look())


def test_conversations_that_were_played_once_are_left_out() -> None:
    repeated = RepeatOutcomes.of([("a", True), ("b", False), ("a", False), ("c", True), ("c", True)])
    assert repeated.flaky == ("a",)
    assert [one.k for one in repeated.reliability] == [1, 2]
    assert repeated.reliability[1].all_pass.value == pytest.approx(0.5)
    assert RepeatOutcomes.of([("a", True)]) == RepeatOutcomes((), ())
