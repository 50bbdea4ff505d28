"""Recorded results as a run: the same figures as upstream's, whatever can be read, and no more."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rig.methods.autode.data import checkout
from rig.methods.autode.data.scenarios import Scenario
from rig.methods.autode.prompt import Mode
from rig.methods.autode.recorded import records
from rig.methods.autode.recorded.importing import recorded_run, turns
from rig.methods.autode.recorded.records import behaviour
from rig.methods.autode.talk import Talk

Rig = Callable[..., Any]

FIGURES = {
    "u_gpt35_a_gpt35_v2": (78.1395, 73.8389, 75.4260, 0.5584),
    "u_llama7b_a_gpt35_complementary": (78.2518, 73.9127, 75.4689, 0.4587),
    "a_gpt35_static_v2": (94.0484, 93.8012, 93.8597, 0.9667),
    "u_human_a_gpt35_complementary": (79.6161, 75.0696, 76.7724, None),
    "a_codellama13b_oasst_static_force_5rounds": (91.1784, 89.7417, 89.8963, 0.5456),
    "a_codellama13b_oasst_human_good_complementary": (59.4607, 59.9919, 58.9735, None),
    "a_llama70b_static_force_5rounds": (29.2983, 29.7778, 29.4000, 1.6130),
    "a_llama70b_human": (18.8043, 20.6341, 19.3987, None),
}
"""P, R, F1 and the deviation over trials of the files at hand, in percent."""


@pytest.fixture(scope="module")
def dialogues(autode: Path) -> dict[str, Scenario]:
    return {each.id: each for each in checkout.load(autode)}


@pytest.mark.parametrize("file", ["u_human_a_gpt35_complementary", "a_llama70b_human", "a_gpt35_static_v2"])
def test_every_recorded_dialogue_folds_into_itself(
    autode: Path, dialogues: dict[str, Scenario], file: str
) -> None:
    mode: Mode = "static" if "static" in file else "dynamic"
    for record in records.read(autode / "results" / f"{file}.jsonl").records:
        scenario = dialogues[record.id]
        talk = Talk(scenario, mode, 8).extend(turns(record, scenario, mode))
        assert (talk.end or "failed") == record.outcome
        assert len(talk.said) == record.messages
        assert (dict(talk.call.arguments) if talk.call else {}) == record.slots
        said = [(role, text.strip()) for role, text in talk.said[record.is_cut :]]
        assert said == [(role, text.strip()) for role, text in record.said]


def test_the_tables_of_recorded_files_are_upstreams(rig: Rig, autode: Path) -> None:
    names = [name for name in FIGURES if "static" not in name or "gpt35" in name]
    files = [autode / "results" / f"{name}.jsonl" for name in names]
    done = rig("import", *files, "--format", "autode", "--json")
    assert [each["arm"] for each in done.json["arms"]] == names
    tables = rig("show", done.json["run"], "--tables", "--json").json["tables"]
    rows = [row for row in tables[0]["rows"] if row["source"] == "run"]
    for name, row in zip(names, rows, strict=True):
        *rates, spread = FIGURES[name]
        assert [row["precision"], row["recall"], row["f1"]] == pytest.approx(rates, abs=6e-5)
        assert row["spread"] == (spread if spread is None else pytest.approx(spread, abs=6e-5))
    dialogues = {each.id: each for each in checkout.load(autode)}
    cases = next(table for table in tables if table["title"].startswith("Case study"))["rows"]
    for file, row in zip(files, cases, strict=True):
        trials = records.read(file).trials(list(dialogues))
        acted = behaviour([record for trial in trials for record in trial], dialogues)
        assert [row[part] for part in ("reluctant", "illusory", "malformed", "gave_up")] == [*acted[:4]]
        assert row["length"] == pytest.approx(acted.length)
    text = rig("show", done.json["run"], "--tables").out
    assert "| GPT 3.5 (paper)" in text
    assert "Agreement dialogue by dialogue" in text


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
    missing = [line for line in done.json["faults"] if "no result of dialogue" in line]
    assert len(missing) == len(dialogues) - 2
    others = [
        line.partition(": ")[0].rpartition("/")[2] for line in done.json["faults"] if line not in missing
    ]
    assert others == ["u_gpt35_a_x.jsonl, line 2", "u_gpt35_a_x.jsonl, line 6", *["u_gpt35_a_x.jsonl"] * 2]
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
    assert "no method is called 'x'" in rig("import", file, "--format", "x").err
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
