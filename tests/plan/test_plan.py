"""`rig plan`, and the line at the start of a run that cannot answer its question."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graded_talks
import pytest
import small_talks

from rig.plugins.plan.planned import conversations_needed
from rig.stats.power import Spread

Rig = Callable[..., Any]

ORACLES = ("plan", "oracle", "oracle", "--similarity", "exact", "--seconds", "0")


def test_it_says_what_is_needed_and_what_is_at_hand(rig: Rig) -> None:
    done = rig(*ORACLES, "--flips", "10", "--loss", "5")
    assert done.code == 0, done.err
    assert "10.0% of conversations (--flips)" in done.out
    assert "28 conversations would find a loss above 35.6 points in 80% of cases" in done.out
    needed = conversations_needed(Spread(0.1), 0.05, 0.05)
    assert f"{needed} conversations find a loss of 5 points in 80% of cases" in done.out
    assert "time" not in done.out


def test_json_has_what_the_comparison_would_count_with(rig: Rig) -> None:
    """Three arms are two comparisons, each at half the level."""
    told = rig("plan", "oracle", *ORACLES[1:], "--flips", "0", "--loss", "20", "--json").json
    assert (told["arms"], told["conversations"], told["repeats"]) == (3, 28, 1)
    assert told["conversations_needed"] == conversations_needed(Spread(0.0), 0.2, 0.025)
    assert told["detectable"] == pytest.approx(Spread(0.0).detectable(28, 0.025))
    assert told["times"] == dict.fromkeys(("at_hand", "needed", "repeated", "larger"))


def test_a_larger_suite_that_would_do_is_named(rig: Rig) -> None:
    told = rig(*ORACLES, "--flips", "0", "--loss", "15", "--json").json
    assert told["detectable"] > 0.15
    assert told["larger"]["conversations"] >= told["conversations_needed"] > 28
    out = rig(*ORACLES, "--flips", "0", "--loss", "15").out
    assert f"--suite {told['larger']['name']} has {told['larger']['conversations']}" in out


def test_the_time_is_measured_by_playing(rig: Rig, tmp_path: Path) -> None:
    done = rig("plan", "oracle", "--similarity", "exact", "--limit", "4", "--seconds", "5", "--json")
    [pace] = done.json["paces"]
    assert (pace["arm"], pace["conversations"]) == ("oracle", 4)
    assert done.json["times"]["at_hand"] == pytest.approx(pace["seconds"] + pace["load_s"])
    assert "playing 1 arm for 5 s each" in done.err


def test_an_earlier_run_says_what_flips_and_what_each_repeat_decides(rig: Rig, tmp_path: Path) -> None:
    """Of 20 conversations, two flip for good, and two succeed in one of two repeats."""
    path = tmp_path / "runs.sqlite"
    tossed = ((4, 0), (5, 1))
    graded_talks.play(
        path, graded_talks.model(20, tossed), graded_talks.model(20, (0, 1, *tossed)), number=20, repeats=2
    )
    told = rig(*ORACLES, "--runs", path, "--like", "abcde", "--json").json
    assert told["source"] == "run abcde: arm0 and arm1 in 20 conversations"
    # Two that flip, and half of two; p (1 - p) of two is 1/4, times 2/1 for two repeats.
    assert told["spread"] == {"flips": pytest.approx(3 / 20), "within": pytest.approx(2 * 0.5 / 20)}
    assert told["repeats_needed"] is None or told["repeats_needed"] > 1
    out = rig(*ORACLES, "--runs", path, "--like", "abcde").out
    assert "15.0% of conversations (run abcde: arm0 and arm1 in 20 conversations)" in out
    assert "each repeat decides 10.0% anew" in out


def test_repeats_that_would_do_are_named(rig: Rig, tmp_path: Path) -> None:
    """All that flips is decided by each repeat anew."""
    path = tmp_path / "runs.sqlite"
    tossed = {place: {(place, place % 2)} for place in range(0, 20, 3)}
    wrong = set().union(*tossed.values())
    graded_talks.play(path, graded_talks.model(20, wrong), number=20, repeats=2)
    told = rig(*ORACLES, "--runs", path, "--like", "abcde", "--loss", "35", "--json").json
    assert told["spread"]["flips"] == pytest.approx(2 * told["spread"]["within"])
    assert told["repeats_needed"] > 1
    assert told["conversations_needed"] > 28
    out = rig(*ORACLES, "--runs", path, "--like", "abcde", "--loss", "35").out
    assert f"and so do the 28 conversations × {told['repeats_needed']} repeats" in out


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("plan",), "Missing argument"),
        ((*ORACLES, "--flips", "5", "--like", "latest"), "give one"),
        ((*ORACLES, "--power", "1"), "power"),
        ((*ORACLES, "--flips", "nan"), "not a finite number"),
        ((*ORACLES, "--like", "abcde"), "abcde: one arm without repeats does not tell what flips"),
    ],
)
def test_mistakes_are_one_line(rig: Rig, tmp_path: Path, arguments: tuple[str, ...], fault: str) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    done = rig(*arguments, "--runs", path)
    assert done.code == 2
    assert fault in done.err


def test_settings_come_from_a_file(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rig.toml").write_text('[plan]\nflips = 0\nloss = 20\nseconds = 0\npower = 0.9\nsuite = "easy"\n')
    done = rig("plan", "oracle", "--similarity", "exact", "--json")
    assert (done.json["spread"]["flips"], done.json["loss"], done.json["power"]) == (0, 0.2, 0.9)


def test_a_run_that_cannot_answer_says_so_before_it_begins(rig: Rig, tmp_path: Path) -> None:
    runs = ("--runs", tmp_path / "runs.sqlite", "--similarity", "exact", "--display", "plain")
    out = rig("run", "oracle", "oracle", "--limit", "7", *runs).out
    assert re.search(
        r"^7 conversations can show a loss above \d\d points at best, not one of 5 \(--loss\);"
        " `rig plan` says what it takes$",
        out,
        re.MULTILINE,
    )
    for answered in (("oracle", "oracle", "--loss", "90"), ("oracle",)):
        assert "rig plan" not in rig("run", *answered, "--limit", "9", *runs).out
    assert "can show no loss" in rig("run", "oracle", "oracle", "--limit", "3", *runs).out


@pytest.mark.slow
def test_more_conversations_than_a_plan_may_have_are_not_said_to_be_none(rig: Rig) -> None:
    assert "only more than 100,000 conversations would find" in rig(*ORACLES, "--loss", "0.1").out
    assert "no number of conversations would find" in rig(*ORACLES, "--flips", "96").out
