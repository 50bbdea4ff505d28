"""The conversations that are held back from the lesson: true, solvable, and of a world of their own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.teach.overlap import HELD_BACK, OWN, files, names

Rig = Callable[..., Any]

WORLD = ("--world", HELD_BACK / "world")


def test_every_recorded_response_is_the_simulators(rig: Rig) -> None:
    done = rig("check", HELD_BACK / "conversations", *WORLD)
    assert done.code == 0, done.out
    assert "18 conversations, 22 calls, 22 responses reproduced, no faults" in done.out


def test_the_oracle_gets_all_of_them(rig: Rig, tmp_path: Path) -> None:
    store = ("--runs", tmp_path / "runs.sqlite", "--display", "none", "--similarity", "exact")
    done = rig("run", "oracle", "--conversations", HELD_BACK / "conversations", *WORLD, *store, "--json")
    (arm,) = done.json["arms"]
    assert (arm["success_rate"], arm["incorrect_action_rate"]) == (1.0, 0.0)


def test_nobody_in_them_is_in_another_suite() -> None:
    others = [place for place in OWN if place != HELD_BACK]
    assert not names(files(HELD_BACK)) & names(files(*others))


def test_they_call_many_tools() -> None:
    turns = [turn for each in files(HELD_BACK / "conversations") for turn in each["conversation"]]
    called = [call["request"]["api_name"] for turn in turns for call in turn.get("apis", [])]
    assert (len(called), len(set(called))) == (22, 21)
