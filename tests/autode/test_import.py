"""Recorded results as a run: the same figures as upstream's, whatever can be read, and no more."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rig.plugins.autode import checkout
from rig.plugins.autode.scenarios import Scenario
from rig.plugins.papers.autode import recorded_run

Rig = Callable[..., Any]


@pytest.fixture(scope="module")
def dialogues(autode: Path) -> dict[str, Scenario]:
    return {each.id: each for each in checkout.load(autode)}


def result(scenario: Scenario, **changes: Any) -> str:
    said = [{"role": role, "message": text} for role, text in scenario.history[:1]]
    row = {
        "uuid": scenario.id,
        "content": said,
        "background": scenario.topic,
        "api": scenario.call.name,
        "slots": dict(scenario.slots),
        "state": "success",
        "reason": "",
        "trial_uuid": "t",
    }
    return json.dumps(row | changes)


def test_what_cannot_be_read_costs_a_line_and_nothing_else(
    rig: Rig, autode: Path, dialogues: dict[str, Scenario], tmp_path: Path
) -> None:
    first, second = list(dialogues.values())[:2]
    lines = [result(first), "{", result(first, uuid="nobody"), result(second), result(second), "[1]"]
    (tmp_path / "u_gpt35_a_x.jsonl").write_text("\n".join(lines))
    done = rig("import", tmp_path / "u_gpt35_a_x.jsonl", "--format", "autode", "--suite", autode, "--json")
    assert done.json["arms"] == [{"arm": "u_gpt35_a_x", "episodes": 2}]
    assert done.code == 1
    missing, extra = done.json["notes"]
    assert f"no result of {len(dialogues) - 2} dialogues, such as" in missing
    assert "1 results beyond trial 1 are left out" in extra
    places = [line.partition(": ")[0].rpartition("/")[2] for line in done.json["faults"]]
    assert places == ["u_gpt35_a_x.jsonl, line 2", "u_gpt35_a_x.jsonl, line 6", "u_gpt35_a_x.jsonl"]
    (arm,) = rig("show", "latest", "--json").json["arms"]
    assert (arm["conversations"], arm["f1"]) == (2, 1)


@pytest.mark.parametrize(
    ("text", "fault"),
    [("", "holds no result"), ("{}\n", "holds no result"), (None, "cannot be read")],
)
def test_a_file_without_results_is_refused(
    rig: Rig, autode: Path, tmp_path: Path, text: str | None, fault: str
) -> None:
    if text is not None:
        (tmp_path / "x.jsonl").write_text(text)
    done = rig("import", tmp_path / "x.jsonl", "--format", "autode", "--suite", autode)
    assert (done.code, fault in done.err) == (2, True)


def test_what_is_wrong_with_an_import_is_said_in_a_line(rig: Rig, autode: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text("{}")
    assert "lies in no checkout of AutoDE" in rig("import", file, "--format", "autode").err
    assert "reads no results" in rig("import", file, "--format", "tooltalk").err
    assert "there is no --format x; choose from" in rig("import", file, "--format", "x").err
    recorded = autode / "results" / "a_llama70b_human.jsonl"
    again = rig("import", recorded, recorded, "--format", "autode")
    assert "two files are called a_llama70b_human" in again.err


def test_an_exported_run_comes_back_as_it_was(rig: Rig, autode: Path, tmp_path: Path) -> None:
    options = ("--suite", autode, "--set", "compat=true", "--set", "max_rounds=8", "--limit", "5")
    run = rig("run", "oracle", *options, "--display", "none", "--json").json["run"]
    rig("export", run, "--format", "autode", "--output", tmp_path / "out")
    (file,) = (tmp_path / "out").iterdir()
    found = recorded_run([file], autode)
    assert len(found.arms[0].episodes) == 5
    rig("import", file, "--format", "autode", "--suite", autode)
    before, after = (rig("show", each, "--json").json["arms"][0] for each in (run, "latest"))
    for name in ("f1", "precision", "recall", "length", "call_rate", "redundancy", "success_rate"):
        assert before[name] == after[name]


def test_runs_of_ones_own_have_tables_too(rig: Rig) -> None:
    modes = ("--set", "mode=static", "--set", "mode=dynamic")
    asked = ("run", "oracle", "--suite", "dynamic", "--limit", "4", *modes, "--repeats", "2")
    run = rig(*asked, "--display", "none", "--json").json["run"]
    scores, cases, agreed = rig("show", run, "--tables", "--json").json["tables"]
    assert [(row["method"], row["trials"]) for row in scores["rows"]] == [("static", 2), ("scripted user", 2)]
    assert scores["rows"][1]["f1"] == 100
    assert cases["rows"][1]["against_static"]["messages"] > 0
    assert agreed["rows"][0]["methods"] == ["static", "scripted user"]


@pytest.mark.slow
def test_arms_of_several_runs_are_tabulated_together_and_reported(
    rig: Rig, autode: Path, dialogues: dict[str, Scenario], tmp_path: Path
) -> None:
    some = list(dialogues.values())[:6]
    names = [f"{way}a_{assistant}" for assistant in "xy" for way in ("u_gpt35_", "u_human_")]
    for number, name in enumerate(names):
        lines = [result(each, slots={}) if n < number else result(each) for n, each in enumerate(some)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    for arms in (names[:2], names[2:]):
        files = [tmp_path / f"{name}.jsonl" for name in arms]
        rig("import", *files, "--format", "autode", "--suite", autode, "--name", arms[0][-1])
    tables = rig("compare", "x", "y", "--tables", "--json").json["tables"]
    (over,) = next(each for each in tables if each["title"].startswith("Table 2"))["rows"]
    assert (over["assistants"], over["r"]["value"]) == (["x", "y"], pytest.approx(1))
    by_dialogue = next(each for each in tables if each["title"].startswith("Agreement"))["rows"]
    assert [each["assistant"] for each in by_dialogue] == ["x", "y"]
    asked = ("--metric", "f1", "--across-settings")
    (pair,) = rig("compare", "x", *asked, "--json").json["pairs"]
    assert pair["alike"]["r"]["value"] is None  # the first arm never varies
    (pair,) = rig("compare", "y", *asked, "--json").json["pairs"]
    assert pair["alike"]["r"]["low"] < pair["alike"]["r"]["value"] < pair["alike"]["r"]["high"] <= 1
    assert pair["alike"] == {key: by_dialogue[1][key] for key in ("icc3", "r")}
    assert "agreement by conversation: ICC3 of slot F1" in rig("compare", "y", *asked, "--full").out
    report = ("report", "x", "y", "--across-settings", "--tables", "--format")
    assert "Table 2. Agreement with human evaluation" in rig(*report, "md").out
    assert json.loads(rig(*report, "json").out)["tables"] == tables
    page = rig(*report, "html").out
    assert "<h2 id=tables>" in page
    assert "<td>u_gpt35_a_y" not in page
