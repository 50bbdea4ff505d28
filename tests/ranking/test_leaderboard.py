"""The arms of many runs are put into order, and ToolBench's leaderboards are read and written."""

import re
from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import Any

import graded_talks
import pytest
from tool_answers import PUBLIC, needs_public_data

from benchmarks.comparing.unclear import DECLARATION
from rig.compare.arms import ConversationKey
from rig.core.errors import RigError
from rig.core.metrics import UNCLEAR, Counts
from rig.plugins.papers.toolbench.results import leaderboard_text, parse_leaderboard
from rig.plugins.ranking.leaderboard import Leaderboard, RankedArm, leaderboard, standing, standings
from rig.store import Runs

Rig = Callable[..., Any]
PLAY = ("--suite", "queries", "--display", "none", "--json")


@pytest.mark.slow
def test_arms_of_all_runs_stand_by_their_metrics_with_what_differs(rig: Rig) -> None:
    rig("run", "oracle", *PLAY, "--limit", "3")
    rig("run", "oracle", *PLAY, "--limit", "2", "--set", "search=dfs_w3")
    rig("run", "oracle", "--limit", "1", "--similarity", "exact", "--display", "none", "--json")
    found = rig("leaderboard", "--suite", "queries", "--json").json
    assert (found["method"], found["suite"], found["common_tasks"]) == ("tooleval", "queries", 2)
    assert sorted(arm["tasks"] for arm in found["arms"]) == [2, 3]
    assert all(arm["rates"]["true_pass_rate"]["value"] == 1 for arm in found["arms"])
    settings = [arm["settings"] for arm in found["arms"]]
    assert settings[0] == []
    assert "search" in settings[1][0]
    shown = rig("leaderboard", "--suite", "queries").out
    assert "true pass rate" in shown
    assert "arms are ranked by the 2 that all have in common, word for word; 1 is left out" in shown
    latest = rig("leaderboard").out
    assert latest.startswith("easy, by the method tooltalk")


def test_a_leaderboard_is_written_as_toolbenchs(rig: Rig, tmp_path: Path) -> None:
    rig("run", "oracle", *PLAY, "--limit", "2")
    path = tmp_path / "leaderboard.csv"
    rig("leaderboard", "--csv", str(path))
    assert path.read_text() == (
        "Method,WinRate,StdError,queries_WinRate,queries_StdError\noracle,1.0,0.0,1.0,0.0\n"
    )
    assert rig("leaderboard", str(path)).out.splitlines()[1].split() == ["oracle", "1.000", "0.0000", "1.000"]
    assert "exists; choose a new file" in rig("leaderboard", "--csv", str(path)).err
    assert "no run has finished a task of nothing" in rig("leaderboard", "--suite", "nothing").err


def test_arms_of_different_graders_are_said_to_be(rig: Rig) -> None:
    play = ("run", "oracle", "--limit", "1", "--display", "none", "--json")
    rig(*play)
    assert "graders" not in rig("leaderboard").out
    rig(*play, "--similarity", "exact")
    shown = rig("leaderboard").out
    assert "the graders differ, so the order means little; `rig compare`" in shown
    assert shown.count("grader (") == 1
    first, other = rig("leaderboard", "--json").json["arms"]
    assert first["grader"]["similarity"] != other["grader"]["similarity"]
    assert [len(arm["settings"]) for arm in (first, other)] == [0, 1]


def test_metrics_are_those_that_all_runs_have(rig: Rig) -> None:
    play = ("run", "oracle", "--limit", "2", "--display", "none", "--json")
    failing = (*play, "--tool-errors", "1")
    rig(*failing)
    assert "failures handled" in rig("leaderboard").out
    rig(*play)
    rig(*failing)
    shown = rig("leaderboard").out
    assert "failures handled" not in shown
    assert len(rig("leaderboard", "--json").json["arms"]) == 3


def test_a_query_counts_once_however_often_it_was_answered(rig: Rig, tmp_path: Path) -> None:
    rig("run", "oracle", *PLAY, "--limit", "2", "--repeats", "3", "--runs", tmp_path / "runs.sqlite")
    with Runs.open(tmp_path / "runs.sqlite") as runs:
        found = leaderboard(runs)
    [place] = found.places
    assert [len(counts) for counts in place.counts.values()] == [3, 3]
    name = found.declaration.success_metric.numerator
    answered = {"often": [{name: 1}, {name: 0}, {name: 0}, {name: 1}], "once": [{name: 1}]}
    [row] = standings(found._replace(places=[place._replace(counts=answered)]))
    assert (row.win_rate, row.std_error) == (0.75, pytest.approx(0.25 / 2**0.5))


def test_texts_decide_between_arms_with_the_same_bounds_and_tasks_weigh_alike() -> None:
    right: Counts = {"tasks": 1, "successes": 1}
    wrong: Counts = {"tasks": 1, "successes": 0}
    unclear: Counts = {**wrong, UNCLEAR: 1, f"{UNCLEAR}.successes": 1}

    def texts(*arms: tuple[list[Counts], list[Counts]]) -> int:
        keys = [ConversationKey(name, "") for name in "ab"]
        counts = [dict(zip(keys, tasks, strict=True)) for tasks in arms]
        places = [RankedArm(None, None, "", frozenset(), tasks, 2, ()) for tasks in counts]  # type: ignore[arg-type]
        return Leaderboard("", "", DECLARATION, places, frozenset()).deciding_texts

    assert texts(([right], [unclear]), ([unclear], [right])) == 2
    assert texts(([right] * 3, [wrong]), ([unclear], [wrong])) == 1
    assert texts(([right] * 3, [wrong]), ([right], [wrong])) == 0


def test_standard_errors_are_upstreams() -> None:
    found = standing("m", {"a": [1] * 55 + [0] * 45, "b": [1] * 74 + [0] * 26})
    assert found.by_set["a"] == (pytest.approx(0.55), pytest.approx(0.0497494, abs=1e-7))
    assert found.by_set["b"][1] == pytest.approx(0.0438634, abs=1e-7)
    pooled = standing("m", {"a": [1] * 405 + [0] * 195})
    assert (pooled.win_rate, pooled.std_error) == (0.675, pytest.approx(0.0191213, abs=1e-7))


@needs_public_data
def test_toolbenchs_leaderboards_are_read_and_written_again() -> None:
    first, other = sorted((PUBLIC / "toolbench" / "results").glob("leaderboard*.csv"), reverse=True)
    written = first.read_text(encoding="utf-8")
    rows = parse_leaderboard(written, "here")
    assert len(rows) == 4
    assert parse_leaderboard(leaderboard_text(rows), "again") == rows
    assert [row.method for row in rows] == [line.split(",")[0] for line in written.splitlines()[1:]]
    assert all(isnan(row.std_error) or row.std_error for row in parse_leaderboard(other.read_text(), "here"))


HEAD = "Method,WinRate,StdError"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "it has no column Method or WinRate"),
        ("a,b\n1,2\n", "it has no column Method or WinRate"),
        ("Method,b\nm,2\n", "it has no column WinRate"),
        (f"{HEAD}\n", "it has no rows"),
        (f"{HEAD}\nm,lots,0\n", "could not convert string to float: 'lots'"),
        (f"{HEAD}\nm,nan,0\n", "nan is no rate"),
        (f"{HEAD}\nm,1,1e999\n", "1e999 is no rate"),
        (f"{HEAD}\nm\n", "could not convert string to float: ''"),
        ("WinRate,Method\n0.5\n", "a method without a name"),
        (f'{HEAD}\n"m,1,0\n', "could not convert string to float: ''"),
        (f"{HEAD},a_WinRate\nm,1,0,inf\n", "inf is no rate"),
        (f"{HEAD}\n{'x' * 200_000},1,0\n", "field larger than field limit"),
    ],
)
def test_what_is_no_leaderboard_is_one_line(content: str, why: str) -> None:
    with pytest.raises(RigError, match=f"^here(, line \\d)?: not a leaderboard: {re.escape(why)}[^\n]*$"):
        parse_leaderboard(content, "here")


def test_a_leaderboard_that_a_spreadsheet_has_saved_is_read() -> None:
    [row] = parse_leaderboard(f"\ufeff{HEAD}\r\nm,1,\r\n", "here")
    assert (row.method, row.win_rate, isnan(row.std_error)) == ("m", 1, True)


def test_a_name_is_no_formula() -> None:
    written = leaderboard_text([standing("=HYPERLINK(1)", {"a": [1.0]})])
    assert written.splitlines()[1].startswith("'=HYPERLINK(1),1.0,")


def test_oracles_and_parts_of_suites_are_ranked_only_if_asked_for(rig: Rig, tmp_path: Path) -> None:
    """Else three tasks of an oracle would be all that everyone is ranked by."""
    store = tmp_path / "runs.sqlite"
    for place, (name, number) in enumerate((("good", 4), ("part", 2))):
        recipe = {"limit": 2} if number == 2 else {}
        files = [graded_talks.model(4, range(place + 1), fingerprint={"file_sha256": name})]
        graded_talks.play(store, *files, number=number, run=name, names=(name,), recipe=recipe)
    done = rig("leaderboard", "--suite", "hard", "--runs", store)
    assert "1 arm left out: oracles, and parts of suites; --all ranks them, too" in done.out
    assert "part/part" not in done.out
    every = rig("leaderboard", "--suite", "hard", "--all", "--runs", store, "--json").json
    assert {arm["run"] for arm in every["arms"]} == {"good", "part"}
