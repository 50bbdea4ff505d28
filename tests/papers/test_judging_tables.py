"""Upstream's files of results, byte for byte."""

import json
from math import inf, nan
from pathlib import Path

import pytest
from tool_answers import PUBLIC, needs_public_data, solution

from rig.core.errors import RigError
from rig.plugins.papers.toolbench.method import load
from rig.plugins.papers.toolbench.results import (
    pass_json,
    pass_table,
    preference_json,
    preference_table,
    read_passes,
    read_preferences,
    read_results,
)
from rig.plugins.solutions.judgements import Judged, Preference, Vote, tally
from rig.plugins.solutions.rules import VoteRules

STABLE = PUBLIC / "stabletoolbench" / "data_example"


@needs_public_data
@pytest.mark.parametrize(("model", "rate"), [("cot", 2 / 3), ("dfs", 1.0)])
def test_tables_of_recorded_pass_rates_are_written_byte_for_byte(model: str, rate: float) -> None:
    name = f"virtual_chatgpt_{model}"
    path = STABLE / "pass_rate_results" / name / f"G1_instruction_{name}.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    for raw in (False, True):
        table = pass_table(rows, name, raw=raw)
        assert table.encode() == path.with_suffix(".csv").read_bytes()
    recorded = read_passes(rows, name)
    assert recorded.sopr == pytest.approx([rate] * 3)
    assert sum(recorded.passes.values()) / len(recorded.passes) == pytest.approx(rate)


@needs_public_data
def test_recorded_preferences_are_read_and_written() -> None:
    names = "virtual_chatgpt_cot", "virtual_chatgpt_dfs"
    text = (STABLE / "preference_results" / f"G1_instruction_{'_'.join(names)}.json").read_text()
    votes = read_preferences(json.loads(text), *names, "recorded")
    assert preference_json(votes, *names) == text
    assert {query: vote.label for query, vote in votes.items()} == {"588": 2, "608": 2, "1073": 2}
    found = {each.model: each.solutions for each in load(STABLE / "model_predictions_converted")}
    pairs = {query: (found[names[0]][query], found[names[1]][query]) for query in votes}
    header, *_ = preference_table(votes, pairs, *names).split("\r\n")
    assert header.split("\t")[6:] == ["preference_label", "query_id", "ref_model", "output_model"]


def test_a_table_of_pass_rates_has_upstreams_columns_and_line_ends() -> None:
    made = solution()
    votes = (Vote("Solved"), Vote("Unsure"))
    text = pass_json(
        {"7": Judged("", "m", "7", made, votes, tally(votes, VoteRules(), "7"), ("right", "can be"))}
    )
    [row] = json.loads(text).values()
    assert (row["passed"], row["failed"], row["is_solved"]) == (1.5, 0.5, "AnswerStatus.Unsure")
    assert row["reason"] == "Is solved: right\nTask solvable: can be"
    assert row["not_hallucinate"] is True
    lines = pass_table(json.loads(text), "m").split("\r\n")
    assert lines[0].startswith("query\tsolvable\tavailable_tools\tmodel_intermediate_steps")
    assert "\tm\t7\tAnswerStatus.Unsure\tpassed\t" in lines[1]
    assert lines[-1] == ""


def test_a_spreadsheet_executes_no_cell_of_a_table() -> None:
    votes = (Vote("Solved"),)
    judged = {"=1": Judged("", "m", "7", solution(), votes, tally(votes, VoteRules(), "7"), ("", ""))}
    rows = json.loads(pass_json(judged))
    rows["=1"]["reason"] = "-2+3"
    for raw, cells in ((False, ["'@m", "'=1", "'-2+3"]), (True, ["@m", "=1", "-2+3"])):
        line = pass_table(rows, "@m", raw=raw).split("\r\n")[1].split("\t")
        assert [line[5], line[6], line[9]] == cells
    pair = solution(), solution()
    preferences = {"=1": Preference(1, 0)}
    for raw, cells in ((False, ["'=1", "'+a", "'@m"]), (True, ["=1", "+a", "@m"])):
        table = preference_table(preferences, {"=1": pair}, "+a", "@m", raw=raw)
        assert table.split("\r\n")[1].split("\t")[7:] == cells


def test_rows_of_another_shape_are_one_line(tmp_path: Path) -> None:
    votes = (Vote("Solved"),)
    rows = json.loads(
        pass_json({"7": Judged("", "m", "7", solution(), votes, tally(votes, VoteRules(), "7"), ("", ""))})
    )
    for other in ({**rows, "8": []}, {**rows, "8": {**rows["7"], "passed": "many"}}):
        (tmp_path / "G1_instruction_m.json").write_text(json.dumps(other))
        with pytest.raises(RigError, match="G1_instruction_m"):
            read_results(tmp_path / "G1_instruction_m.json").table([], False)


def test_labels_of_preferences() -> None:
    assert [Preference(2, 1).label, Preference(0, 1).label, Preference(1, 1).label] == [1, 2, 3]


STEPS = {"answer_steps": "", "is_solved": "AnswerStatus.Solved"}


@pytest.mark.parametrize(
    "rows",
    [
        {},
        {"1": 3},
        {"1": {"answer_steps": "", "is_solved": {"0": "Maybe"}}},
        {"1": {"answer_steps": "", "is_solved": {"0": 5}}},
        {"1": {"answer_steps": "", "is_solved": {}}},
        {"1": {"answer_steps": "", "is_solved": {"0": "AnswerStatus.Solved"}}, "2": []},
        {"1": STEPS},
        {"1": {**STEPS, "passed": "2", "failed": 1}},
        {"1": {**STEPS, "passed": True, "failed": 1}},
        {"1": {**STEPS, "passed": nan, "failed": 1}},
    ],
)
def test_what_is_no_file_of_pass_rates_is_one_line(rows: dict[str, object]) -> None:
    with pytest.raises(RigError, match=r"^here: not a file of pass rates[^\n]*$"):
        read_passes(rows, "here")


def test_votes_on_others_are_refused() -> None:
    with pytest.raises(RigError, match="here, 1: not votes on a and c: c is missing"):
        read_preferences({"1": {"a": 1, "b": 0}}, "a", "c", "here")


@pytest.mark.parametrize("votes", ["x", None, [1], -1, inf, nan, True, {}])
def test_what_is_no_number_of_votes_is_refused(votes: object) -> None:
    with pytest.raises(RigError, match=r"^here, 1: not votes on a and b: b should be .*$"):
        read_preferences({"1": {"a": 1, "b": votes}}, "a", "b", "here")
