"""`rig compare`: what is printed, what is JSON, and how a script is told."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graded_talks
import pytest
from graded_talks import model, play

from rig.plugins.tooltalk.prompt import ToolTalkSettings

Rig = Callable[..., Any]
N = 20


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three arms of one run: a baseline, one that loses ten conversations, one that loses two."""
    path = tmp_path_factory.mktemp("played") / "runs.sqlite"
    arms = (model(N), model(N, set(range(10))), model(N, {3, 4}))
    play(path, *arms, number=N, names=("f16", "q2", "q8"))
    return path


def test_it_reads_from_the_verdicts_to_the_numbers_to_the_flips(rig: Rig, store: Path) -> None:
    short = rig("compare", "latest").out
    done = rig("compare", "latest", "--full")
    assert done.out.startswith(short.rpartition("\n\n")[0])
    assert (done.code, done.err) == (0, "")
    places = [
        done.out.index(part)
        for part in (
            "> reference",
            "x loss found",
            "verdicts  q2: loss found: success is 50.0 points lower",
            "q8: no loss found; a loss above",
            f"compared  against f16: {N} conversations, graded by default",
            f"{N} conversations, graded by default",
            "baseline f16; in brackets 95% intervals over conversations",
            "time per turn",
            "points more or less",
            "p of success (exact McNemar, corrected)",
            "q2 against f16",
            "lost  talk01, lost turn 2",
            "rig show abcde talk01 --arm f16 --arm q2\n",
            "q8 against f16",
        )
    ]
    assert places[:5] == sorted(places[:5])
    assert places[6:] == sorted(places[6:])
    assert places[6] > places[4]
    assert "points more or less" not in short


def test_the_command_beside_a_flip_shows_both_transcripts(rig: Rig, store: Path) -> None:
    flip = rig("compare", "abcde/f16", "abcde/q8", "--json").json["pairs"][0]["flips"][0]
    (command,) = flip["commands"]
    shown = rig(*command.split()[1:])
    assert shown.code == 0
    assert f"{flip['conversation']}, f16: + success" in shown.out
    assert re.search(rf"^{flip['conversation']}, q8: (x failed|# incorrect|! error)", shown.out, re.MULTILINE)
    assert ", q2" not in shown.out


def test_json_has_everything_and_says_what_failed(rig: Rig, store: Path) -> None:
    found = rig("compare", "latest", "--json").json
    assert [arm["arm"] for arm in found["arms"]] == ["f16", "q2", "q8"]
    assert [pair["verdict"]["kind"] for pair in found["pairs"]] == ["loss found", "no loss found"]
    assert found["failed"] == []
    assert len(found["pairs"][0]["flips"]) == 10
    assert found["arms"][0]["speed"]["peak_memory"] is None or found["arms"][0]["speed"]["peak_memory"] > 0


@pytest.mark.parametrize(("points", "code"), [("0", 1), ("49", 1), ("50", 0), ("100", 0)])
def test_a_script_is_told_of_a_loss_of_that_size(rig: Rig, store: Path, points: str, code: int) -> None:
    done = rig("compare", "latest", "--fail-if-worse", points)
    assert done.code == code
    assert ("q2 is worse than f16 by more than" in done.out) == bool(code)
    as_json = rig("compare", "latest", "--fail-if-worse", points, "--json")
    assert (as_json.code, as_json.json["failed"]) == (code, ["q2"] if code else [])


def test_a_loss_that_is_not_found_fails_nothing(rig: Rig, store: Path) -> None:
    """Two conversations of twenty are ten points, and well within chance."""
    assert rig("compare", "abcde/f16", "abcde/q8", "--fail-if-worse", "1").code == 0


def test_a_gain_fails_nothing(rig: Rig, store: Path) -> None:
    found = rig("compare", "latest", "--baseline", "q2", "--fail-if-worse", "0", "--json")
    assert (found.code, found.json["baseline"]) == (0, "q2")
    assert {pair["verdict"]["kind"] for pair in found.json["pairs"]} == {"gain found"}


def test_noise_stands_beside(rig: Rig, store: Path) -> None:
    play(store, model(N, {1}), model(N, {2}), number=N, run="noise", names=("a", "a again"))
    done = rig("compare", "abcde", "--full", "--noise", "noise")
    assert "noise: between two runs of the same arm (noise/a) 2 of 20 conversations flip, 10.0%" in done.out
    assert "conversations flipped, noise 10.0%" in done.out
    assert rig("compare", "abcde", "--noise", "noise", "--json").json["noise"]["conversations"]["differ"] == 2


def test_arms_of_different_settings_are_refused_until_asked_for(rig: Rig, store: Path) -> None:
    settings = (ToolTalkSettings(max_calls=3), ToolTalkSettings(max_calls=2, docs="names"))
    play(store, model(N), model(N), number=N, run="mixed", settings=settings)
    done = rig("compare", "mixed")
    assert (done.code, done.out) == (2, "")
    assert "arm1 differs from arm0 in more than one thing: docs" in done.err
    assert done.err.count("\n") == 1
    assert (
        "differs from arm0 in docs (full -> names), max_calls (3 -> 2)"
        in rig("compare", "mixed", "--across-settings").out
    )


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["nothing"], "no run 'nothing'"),
        (["abcde/f16"], "f16 is the only arm"),
        (["abcde", "--baseline", "q3"], "not one of the compared arms"),
        (["abcde", "--metric", "f1"], "no metric 'f1'; choose from: success_rate"),
        (["abcde", "--alpha", "1"], "Invalid value for '--alpha'"),
        (["abcde", "--fail-if-worse", "101"], "Invalid value for '--fail-if-worse'"),
        (["abcde", "--fail-if-worse", "nan"], "'--fail-if-worse': nan is not a finite number"),
        (["abcde", "--sequential", "--loss", "nan"], "'--loss': nan is not a finite number"),
        (["abcde", "--in-suite"], "--in-suite is for --sequential; give both, or neither"),
        (["abcde", "--noise", "abcde/f16"], "no other arm of abcde is the same as f16"),
    ],
)
def test_faults_end_with_code_2(rig: Rig, store: Path, arguments: list[str], fault: str) -> None:
    done = rig("compare", *arguments)
    assert (done.code, done.out) == (2, "")
    assert fault in done.err


def test_names_of_files_cannot_steer_a_terminal(rig: Rig, tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    play(path, model(4), model(4, {1}), number=4, names=("a\x1b[2J", "b\u202e"))
    done = rig("compare", "latest", "--runs", path)
    assert done.code == 0
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out


def test_a_run_may_be_looked_at_whenever_one_likes(rig: Rig, store: Path) -> None:
    files = rig("compare", "latest", "--sequential", "--loss", "20")
    assert "\nq8: loss of 20 points open after 20: " in files.out
    assert "in this suite shown" not in files.out
    done = rig("compare", "latest", "--sequential", "--in-suite", "--loss", "20")
    assert (done.code, done.err) == (0, "")
    q2, q8 = (done.out.index(f"\n{arm}: loss of 20 points ") for arm in ("q2", "q8"))
    assert done.out.index("baseline f16, graded by default") < q2 < q8
    assert "\nq2: loss of 20 points in this suite shown, e " in done.out
    assert "\nq8: loss of 20 points in this suite excluded, e " in done.out
    assert "\n  50.0 points worse in this suite\n" in done.out[q2:q8]
    assert "\n  10.0 points worse in this suite\n" in done.out[q8:]
    assert "points worse in conversations like these" in done.out[q8:]
    found = rig("compare", "latest", "--sequential", "--json").json
    assert [arm["suite"]["found"] for arm in found["arms"]] == ["shown", "shown"]
    assert [arm["suite"]["needed"] for arm in found["arms"]] == [40, 40]
    assert (found["loss"], found["baseline"], found["failed"]) == (0.05, "f16", [])


@pytest.mark.parametrize(("points", "failed"), [("5", ["q2", "q8"]), ("20", ["q2"]), ("60", [])])
def test_a_script_is_told_of_a_loss_that_is_shown(
    rig: Rig, store: Path, points: str, failed: list[str]
) -> None:
    done = rig("compare", "latest", "--sequential", "--in-suite", "--fail-if-worse", points, "--json")
    assert done.code == bool(failed)
    assert done.json["failed"] == failed


def test_a_script_may_not_ask_for_a_loss_of_nothing(rig: Rig, store: Path) -> None:
    done = rig("compare", "latest", "--sequential", "--fail-if-worse", "0")
    assert (done.code, done.out) == (2, "")
    assert "--sequential tests for a loss; give --fail-if-worse more than 0 points" in done.err


def test_a_loss_of_just_the_size_is_at_least_that_much(rig: Rig, store: Path) -> None:
    asked = ("compare", "abcde/f16", "abcde/q8", "--sequential", "--in-suite", "--fail-if-worse", "10")
    assert rig(*asked).out.endswith("\nq8 is worse than f16 by at least 10 points\n")


def test_an_arm_without_results_is_not_silently_green(rig: Rig, store: Path) -> None:
    graded_talks.forget(store, 2, range(N))
    for asked in ((), ("--sequential",)):
        done = rig("compare", "latest", *asked, "--fail-if-worse", "60", "--fail-if-unsure", "--json")
        assert (done.code, done.json["unsure"][-1:]) == (3, ["q8"])
        assert "has finished no conversation" in done.json["left_out"]["q8"]


def test_what_could_have_gone_unseen_is_not_silently_green(rig: Rig, store: Path) -> None:
    asked = ("compare", "abcde/f16", "abcde/q8", "--fail-if-worse", "5")
    done = rig(*asked)
    assert done.code == 0
    assert "q8: cannot tell: a loss of more than 5 points could have gone unseen; that passes" in done.out
    assert rig(*asked, "--fail-if-unsure").code == 3
    as_json = rig(*asked, "--fail-if-unsure", "--json")
    assert (as_json.code, as_json.json["unsure"]) == (3, ["q8"])
    assert "q8: cannot tell" in as_json.err


def test_what_is_worse_is_worse_even_where_another_arm_is_unsure(rig: Rig, store: Path) -> None:
    done = rig("compare", "latest", "--fail-if-worse", "5", "--fail-if-unsure", "--json")
    assert (done.code, done.json["failed"], done.json["unsure"]) == (1, ["q2"], ["q8"])
