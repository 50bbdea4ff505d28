"""AutoDE from the command line: two roles, what is shown, compared and resumed."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import upstream_autode as upstream

from rig.core.paths import CONVERSATIONS
from rig.plugins.autode.method import AutoDE
from rig.plugins.papers import autode as recorded

Rig = Callable[..., Any]
RUN = ("run", "oracle", "--suite", "dynamic", "--role", "user=scripted", "--display", "none", "--json")


def test_the_oracle_and_the_scripted_user_get_through_the_whole_suite(rig: Rig) -> None:
    (arm,) = rig(*RUN).json["arms"]
    assert (arm["conversations"], arm["f1"], arm["micro_f1"], arm["success_rate"]) == (65, 1, 1, 1)
    assert (arm["function_rate"], arm["reluctance"], arm["illusory_rate"]) == (1, 0, 0)
    assert arm["length"] > 3


def test_settings_are_options_and_arms(rig: Rig) -> None:
    done = rig(*RUN, "--set", "form=func", "--set", "form=rig", "--set", "max_rounds=1", "--limit", "6")
    func, ours = done.json["arms"]
    assert (func["arm"], ours["arm"]) == ("oracle form=func", "oracle form=rig")
    assert func["f1"] == ours["f1"] < 1
    assert func["round_limit_rate"] == func["reluctance"] > 0


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("--role", "judge=scripted"), "not a role of the method autode"),
        (("--set", "mode=human"), "takes one of dynamic, static"),
        (("--set", "rounds=3"), "no option of the method is called rounds"),
        (("--docs", "names"), "--docs has no effect on the method autode"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(rig: Rig, arguments: tuple[str, ...], fault: str) -> None:
    done = rig(*RUN, "--limit", "1", *arguments)
    assert done.code == 2
    assert fault in done.err
    assert len(done.err.splitlines()) == 1


def test_the_user_is_the_scripted_one_unless_somebody_else_is_named(rig: Rig) -> None:
    asked = ("run", "oracle", "--suite", "dynamic", "--limit", "2", "--display", "none", "--json")
    runs = [
        rig(*asked, *more).json["run"] for more in ((), ("--user", "scripted"), ("--role", "user=scripted"))
    ]
    fingerprints = [rig("show", run, "--json").json["arms"][0]["fingerprint"] for run in runs]
    assert fingerprints[0]["role.user.engine"] == "scripted user"
    assert fingerprints[0] == fingerprints[1] == fingerprints[2]


def test_nobody_is_asked_where_the_conversation_is_known_and_both_modes_are_arms_of_a_run(rig: Rig) -> None:
    modes = ("--set", "mode=static", "--set", "mode=dynamic")
    done = rig(
        "run", "oracle", "--suite", "dynamic", "--limit", "4", *modes, "--display", "none", "--json"
    ).json
    static, dynamic = done["arms"]
    assert (static["arm"], static["length"], dynamic["f1"]) == ("oracle mode=static", 2, 1)
    assert static["round_limit_rate"] == 1
    shown = rig("show", done["run"], "--json").json["arms"]
    assert [any(name.startswith("role.") for name in each["fingerprint"]) for each in shown] == [False, True]
    again = rig("score", done["run"], "--json").json
    assert [each["total"]["metrics"]["length"] for each in again["arms"]] == [2, dynamic["length"]]


def test_every_user_that_is_named_makes_an_arm(rig: Rig) -> None:
    asked = ("run", "oracle", "--suite", "dynamic", "--limit", "1", "--display", "none", "--json")
    twice = ("--user", "scripted", "--user", "scripted")
    assert [arm["arm"] for arm in rig(*asked, *twice).json["arms"]] == ["oracle"]
    other = rig(*asked, "--user", "scripted", "--user", "nobody")
    assert (other.code, "nobody" in other.err) == (2, True)


def test_arms_are_compared_over_dialogues(rig: Rig) -> None:
    run = rig(*RUN, "--set", "form=func", "--set", "form=rig", "--limit", "5").json["run"]
    assert rig("show", run).out.count("+ success") == 10
    assert "slot F1" in rig("compare", run).out


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_dialogues(rig: Rig, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole.sqlite", tmp_path / "killed.sqlite"
    rig(*RUN, "--runs", whole)
    started = subprocess.Popen([sys.executable, "-m", "rig", *RUN, "--runs", str(killed)], env=os.environ)
    while not killed.exists() or steps(killed)[6:7] == []:
        assert started.poll() is None, "the run was over before it could be killed"
    started.send_signal(signal.SIGKILL)
    started.wait()
    left = len(steps(killed))
    assert 0 < left < len(steps(whole))
    done = rig("run", "--resume", "latest", "--runs", killed, "--display", "none", "--json")
    assert done.json["arms"][0]["f1"] == 1
    assert steps(killed) == steps(whole)


def steps(store: Path) -> list[Any]:
    """What was said in a store, by whom."""
    import sqlite3

    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
        try:
            return db.execute(
                "SELECT turns.conversation, turns.turn, step, role, raw FROM predictions"
                " JOIN turns ON turns.id = predictions.turn ORDER BY 1, 2, 3"
            ).fetchall()
        except sqlite3.OperationalError:
            return []


def test_the_public_dialogues_dynamic_and_static(rig: Rig, autode: Path) -> None:
    options = ("run", "oracle", "--suite", autode, "--role", "user=scripted", "--display", "none", "--json")
    for more in ((), ("--set", "compat=true")):
        (arm,) = rig(*options, *more, "--limit", "40").json["arms"]
        assert arm["f1"] == 1
    dataset = autode / "datasets" / "data_v1_2.jsonl"
    done = rig(*options[:3], dataset, *options[4:], "--set", "mode=static", "--only", "Navigate-")
    assert "no conversation is called" in done.err


def test_check_covers_the_suite_and_public_data(rig: Rig, autode: Path, tmp_path: Path) -> None:
    found = rig("check", "--json").json
    assert [Path(each["directory"]).name for each in found] == ["easy", "hard", "dynamic", "queries"]
    assert found[2] == {**found[2], "conversations": 65, "faults": []}
    assert rig("check", autode).out == f"{autode}: 276 tasks, no faults\n"
    (tmp_path / "bad.json").write_text('{"domain": "x", "scenarios": [{}], "apis": []}')
    bad = rig("check", tmp_path)
    assert (bad.code, len(bad.out.splitlines())) == (1, 2)


def test_an_exported_run_scores_as_it_was_scored(rig: Rig, tmp_path: Path) -> None:
    options = (
        "--limit",
        "8",
        "--repeats",
        "2",
        "--set",
        "max_rounds=2",
        "--set",
        "form=rig",
        "--set",
        "form=func",
    )
    done = rig(*RUN, *options).json
    exported = rig("export", done["run"], "--format", "autode", "--output", tmp_path / "out", "--json").json
    truths = {each.id: each.slots for each in AutoDE().load(CONVERSATIONS / "dynamic")}
    assert len(exported["files"]) == 2
    for arm, file in zip(done["arms"], sorted(exported["files"], reverse=True), strict=True):
        rows = upstream.read(Path(file))
        figures = upstream.score(rows, {row["uuid"]: truths[row["uuid"]] for row in rows})
        assert (len(rows), len(figures.trials)) == (16, 2)
        assert figures.f1 == pytest.approx(100 * arm["f1"])
        assert 0 < arm["f1"] < 1
        outcomes = [each.outcome for each in recorded.read(Path(file))]
        assert outcomes.count("round_limit") / 16 == arm["round_limit_rate"] > 0
    other = rig("export", done["run"], "--format", "tooltalk", "--output", tmp_path / "other")
    assert "is of the method autode, not of tooltalk" in other.err


def test_a_stored_dialogue_can_be_read_with_both_voices(rig: Rig) -> None:
    run = rig(*RUN, "--only", "light-for-reading").json["run"]
    shown = rig("show", run, "light-for-reading").out
    lines = [line.strip() for line in shown.splitlines()]
    assert "Hanna, a night nurse" in shown
    assert lines.count("user: Could you put the bedroom light on for me?") == 1
    assert "1. reply: Could you tell me the colour and the brightness?" in lines
    assert "1. user: The colour is warm white and the brightness is 20 percent." in lines
    assert sum(line.startswith("2. call: SwitchLight") for line in lines) == 1
    assert sum(line.startswith("expected: SwitchLight") for line in lines) == 1
