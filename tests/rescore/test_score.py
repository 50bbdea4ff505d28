"""`rig score`: stored runs and files of predictions, scored again."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_talks
import small_world

from rig.methods.scripted import Scripted
from rig.plugins.matching.matching import GRADER_VERSION
from rig.plugins.tooltalk.scoring import DECLARATION
from rig.store import Runs

Rig = Callable[..., Any]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of a poor model and of the oracle, in the small world."""
    path = tmp_path / "runs.sqlite"
    world = small_world.write(tmp_path / "databases")
    recipe = {"models": ["oracle"], "world": str(world), "grader": "default", "similarity": "exact"}
    models = (Scripted(small_talks.erratic), small_talks.oracle())
    small_talks.play(small_talks.plan(path, *models, recipe=recipe))
    monkeypatch.setenv("RIG_RUNS", str(path))
    return path


@pytest.fixture
def files(rig: Rig, store: Path, tmp_path: Path) -> Path:
    """The run's predictions as files."""
    assert rig("export", "abcde", "--format", "tooltalk", "--output", tmp_path / "out").code == 0
    return tmp_path / "out" / "arm0"


def test_a_run_is_scored_again_as_it_was(rig: Rig, store: Path) -> None:
    before = small_talks.content(store)
    done = rig("score", "abcde", "--json")
    assert (done.code, done.err) == (0, "")
    scored = done.json
    assert (scored["run"], scored["store"]) == ("abcde", str(store))
    assert scored["grader"]["grader"] == "default"
    assert scored["grader"]["similarity"] == "exact"
    assert small_talks.content(store) == before
    for found, stored in zip(scored["arms"], small_talks.stored(store).arms, strict=True):
        assert found["arm"] == stored.name
        assert found["total"]["metrics"] == DECLARATION.as_json(stored.counts)
        assert found["total"]["errors"] == stored.errors
        assert found["total"]["faults"] == stored.faults
        assert found["total"]["error_types"] == stored.error_types


def test_a_new_score_is_stored_and_shown_beside_the_old(rig: Rig, store: Path) -> None:
    out = rig("score", "latest", "--grader", "upstream").out
    line = rf"^arm1 +{{}} +{GRADER_VERSION} +exact +100.0% +100.0% +100.0% +0.0%$"
    for grader in ("default", "upstream"):
        assert re.search(line.format(grader), out, re.MULTILINE)
        assert re.search(line.format(grader), rig("show", "latest").out, re.MULTILINE)
    shown = rig("show", "latest", "--json").json["scores"]
    assert [(each["arm"], each["grader"], each["grader_version"]) for each in shown] == [
        ("arm0", "default", GRADER_VERSION),
        ("arm0", "upstream", GRADER_VERSION),
        ("arm1", "default", GRADER_VERSION),
        ("arm1", "upstream", GRADER_VERSION),
    ]
    with Runs.open(store) as runs:
        assert len(runs.scores(runs.get("abcde"))) == 4


def test_files_are_scored_conversation_by_conversation_and_in_total(
    rig: Rig, store: Path, files: Path
) -> None:
    done = rig("score", files, "--similarity", "exact", "--json")
    assert (done.code, done.err) == (0, "")
    scored = done.json
    assert list(scored) == ["source", "grader", "total", "conversations"]
    assert scored["grader"]["grader_version"] == GRADER_VERSION
    from_run = rig("score", "abcde", "--json").json["arms"][0]
    by_name = {each["conversation"]: each for each in from_run["conversations"]}
    assert {each["conversation"]: each for each in scored["conversations"]} == by_name
    assert scored["total"]["metrics"]["matches"] == sum(
        match["match"] for each in scored["conversations"] for match in each["matches"]
    )
    assert scored["total"]["metrics"]["ground_truths"] == sum(
        len(each["ground_truth"]) for each in scored["conversations"]
    )
    for each in scored["conversations"]:
        assert each["success"] is bool(each["metrics"]["successes"])
        held = [match["ground_truth"] for match in each["matches"] if match["match"]]
        matched = [[truth["turn"], truth["call"]] for truth in each["ground_truth"] if truth["match"]]
        assert sorted(held) == matched


def test_what_was_exported_of_several_arms_is_scored_arm_by_arm(rig: Rig, store: Path, files: Path) -> None:
    done = rig("score", files.parent, "--similarity", "exact", "--json")
    assert (done.code, done.err) == (0, "")
    by_arm = {each["arm"]: each["total"] for each in rig("score", "abcde", "--json").json["arms"]}
    assert {each["arm"]: each["total"] for each in done.json["arms"]} == by_arm
    out = rig("score", files.parent, "--similarity", "exact").out
    assert [line for line in out.splitlines() if line.startswith("arm")] == ["arm0", "arm1"]


def test_several_files_of_one_conversation_are_its_repeats(rig: Rig, files: Path) -> None:
    (files / "alarms again.json").write_bytes((files / "alarms.json").read_bytes())
    scored = rig("score", files, "--similarity", "exact", "--json").json
    names = [(each["conversation"], each["repeat"]) for each in scored["conversations"]]
    assert names == [("alarms", 0), ("alarms", 1), ("login", 0), ("reminders", 0)]
    assert scored["total"]["metrics"]["conversations"] == 4
    assert "\nalarms #2 " in rig("score", files, "--similarity", "exact").out


def test_one_file_is_enough_and_the_grader_is_named(rig: Rig, files: Path) -> None:
    out = rig("score", files / "alarms.json", "--grader", "per-turn", "--similarity", "exact").out
    assert re.search(r"^alarms +(\+ success|x failed|# incorrect) +\d/3 ", out, re.MULTILINE)
    assert out.endswith(f"graded by per-turn, version {GRADER_VERSION}, similarity exact\n")


@pytest.mark.parametrize("what", ["abcde", "files"])
def test_calls_are_executed_again_where_they_were(
    rig: Rig, store: Path, files: Path, tmp_path: Path, what: str
) -> None:
    place = ("abcde",) if what == "abcde" else (files, "--world", tmp_path / "databases")
    done = rig("score", *place, "--similarity", "exact", "--reexecute", "--json")
    assert (done.code, done.err) == (0, "")
    part = done.json["arms"][0] if what == "abcde" else done.json
    assert part["reexecuted"] == {"calls": part["total"]["metrics"]["predictions"], "differences": []}


def test_another_response_is_reported(rig: Rig, files: Path, tmp_path: Path) -> None:
    path = files / "alarms.json"
    source = json.loads(path.read_text())
    response = {"alarms": [{"alarm_id": "\x1b[31m", "time": "06:00:00"}]}
    call = {"request": {"api_name": "FindAlarms", "parameters": {}}, "response": response, "role": "api"}
    source["conversation"][1]["predictions"] = [call]
    path.write_text(json.dumps(source))
    options = (path, "--similarity", "exact", "--reexecute", "--world", tmp_path / "databases")
    done = rig("score", *options)
    assert done.code == 1
    assert "1 response changed" in done.out
    assert "alarms turn 1, call 1, FindAlarms" in done.out
    assert "\x1b" not in done.out
    [difference] = rig("score", *options, "--json").json["reexecuted"]["differences"]
    assert difference["recorded"] == {"response": response, "exception": None}
    assert len(difference["executed"]["response"]["alarms"]) == 3


def test_the_public_files_can_be_scored_without_their_world(rig: Rig, files: Path) -> None:
    """Who made a call follows from the calls; only executing them again needs the world."""
    assert rig("score", files, "--similarity", "exact").code == 0
    again = rig("score", files, "--similarity", "exact", "--reexecute")
    assert again.code == 2
    assert "mara" in again.err


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [200, 450])
def test_deep_nesting_is_no_trouble(rig: Rig, files: Path, tmp_path: Path, opening: str, depth: int) -> None:
    path = files / "alarms.json"
    source = json.loads(path.read_text())
    nested = opening * depth + "1" + ("]" if opening == "[" else "}") * depth
    calls = [
        {"request": {"api_name": "SendMessage", "parameters": parameters}, "response": "@", "role": "api"}
        for parameters in ({"receiver": "@", "message": "@"}, "@", {"@": "@"})
    ]
    source["conversation"][1]["predictions"] = calls
    path.write_text(json.dumps(source).replace('"@"}', f"{nested}}}").replace('"@", "', f'{nested}, "'))
    for form in ("--json", "--grader=upstream"):
        options = ("--similarity", "exact", "--reexecute", "--world", tmp_path / "databases", form)
        assert rig("score", path, *options).code == 1


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("nothing",), "no run 'nothing'"),
        (("missing.json",), "cannot be read"),
        (("abcde", "--similarity", "no/such/model"), "no/such/model"),
        (("abcde", "--world", "no/such/world", "--reexecute"), "no/such/world"),
        (("abcde", "--runs", "no/such/store"), "no such file"),
    ],
)
def test_faults_are_one_line(rig: Rig, store: Path, arguments: tuple[str, ...], fault: str) -> None:
    before = small_talks.content(store)
    done = rig("score", *arguments)
    assert (done.code, done.out) == (2, "")
    assert fault in done.err
    assert done.err.count("\n") == 1
    assert small_talks.content(store) == before


@pytest.mark.parametrize("text", ["[]", "{", "{}", '{"name": 5}', "\x00", "[" * 5000, "1" * 5000])
def test_files_that_are_no_conversations_are_refused(rig: Rig, tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.json").write_text(text)
    for place in (tmp_path, tmp_path / "bad.json"):
        done = rig("score", place)
        assert done.code == 2
        assert "bad.json" in done.err
        assert done.err.count("\n") == 1


def test_what_went_wrong_is_in_show_and_summary(rig: Rig, store: Path) -> None:
    faults = small_talks.stored(store).arms[0].faults
    assert faults
    out = rig("show", "abcde").out
    for kind, count in faults.items():
        assert re.search(rf"^  {kind} +{count} +0$", out, re.MULTILINE)
    assert f"graded by default, version {GRADER_VERSION}, similarity exact" in out
    shown = rig("show", "abcde", "alarms", "--json").json["transcripts"][0]
    told = [fault for turn in shown["turns"] for fault in turn.get("faults", ())]
    assert told
    text = rig("show", "abcde", "alarms").out
    assert all(f"fault: {fault['kind']}: " in text for fault in told)
    assert rig("show", "abcde", "--json").json["arms"][0]["faults"] == faults


def test_a_threshold_makes_a_score_of_its_own(rig: Rig, store: Path) -> None:
    scored = rig("score", "abcde", "--similarity", "minilm@0.7", "--json").json
    assert scored["grader"]["threshold_body"] == 0.7
    again = rig("score", "abcde", "--similarity", "minilm@0.95", "--grader", "upstream", "--json")
    assert again.json["grader"]["threshold_event"] == 0.95
    out = rig("show", "abcde").out
    assert "minilm@0.7" in out
    assert "minilm@0.95" in out


def test_a_threshold_without_sense_is_refused(rig: Rig, store: Path) -> None:
    done = rig("score", "abcde", "--similarity", "exact@0.7")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "exact has no degrees" in done.err
