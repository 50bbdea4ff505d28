"""ToolBench's answers are taken in as a run, shown, judged, and written again as they were."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from solutions.test_converting import BRANCHED
from tool_answers import BEGINNING, PUBLIC, finish, given_up, needs_public_data, raw, solution

from rig.core.tasks import PlayedTurn
from rig.plugins.papers.toolbench.method import load, path_of, steps_of, write
from rig.plugins.papers.toolbench.raw import convert
from rig.plugins.solutions.judgements import ModelAnswers
from rig.plugins.solutions.solution import Solution

Rig = Callable[..., Any]
STABLE = PUBLIC / "stabletoolbench" / "data_example"


def folder(place: Path) -> Path:
    """Raw and converted answers, and a file that is neither."""
    called = {"role": "assistant", "content": None, "function_call": {"name": "clock", "arguments": "{}"}}
    ended = {"role": "assistant", "function_call": {"name": "Finish", "arguments": finish()}}
    said = {"role": "function", "name": "clock", "content": json.dumps({"error": "broken", "response": ""})}
    (place / "raw" / "G1").mkdir(parents=True)
    (place / "raw" / "G1" / "1_CoT@1.json").write_text(json.dumps(raw([*BEGINNING, called, said, ended])))
    (place / "raw" / "G1" / "2_DFS_woFilter_w2.json").write_text(json.dumps(BRANCHED))
    (place / "raw" / "G1" / "3_CoT@1.json").write_text("{")
    made: dict[str, Solution] = {"1": solution("It is two."), "2": given_up()}
    write([ModelAnswers("made", "G1", made)], place)
    return place


def imported(rig: Rig, *arguments: object) -> Any:
    return rig("import", *arguments, "--format", "toolbench", "--json").json


def test_answers_become_a_run_that_is_shown_and_judged(rig: Rig, tmp_path: Path) -> None:
    run = imported(rig, folder(tmp_path / "answers"))
    assert [each["arm"] for each in run["arms"]] == ["made", "raw"]
    [fault] = run["faults"]
    assert "3_CoT@1.json: not JSON" in fault
    made, rough = rig("show", run["run"], "--json").json["arms"]
    assert (made["keyword_pass_rate"], made["give_up_rate"]) == (0.5, 0.5)
    assert (rough["keyword_pass_rate"], rough["answer_rate"], rough["failed_calls"]) == (
        0.5,
        0.5,
        pytest.approx(1 / 3),
    )
    shown = rig("show", run["run"], "1").out
    assert "user: What time is it?" in shown
    assert "call: clock {}" in shown
    assert "refused: broken" in shown
    compared = rig("compare", run["run"])
    assert "raw differs in answers_of" in compared.out
    judged = rig("judge", run["run"], "--evaluator", "keyword", "--display", "none", "--json").json
    assert [arm["pass_rate"] for arm in judged["arms"]] == [0.5, 0.5]
    assert [arm["true_pass_rate"] for arm in judged["arms"]] == [None, None]
    won = rig(
        *("judge", run["run"], "--evaluator", "details", "--against", "raw"), "--display", "none", "--json"
    )
    assert won.json["arms"][0]["conversations"] == 2


def test_a_tree_is_stored_and_shown_as_one(rig: Rig, tmp_path: Path) -> None:
    place = folder(tmp_path / "answers") / "raw" / "G1" / "2_DFS_woFilter_w2.json"
    run = imported(rig, place, "--set", "invalid=tree")["run"]
    shown = rig("show", run, "2").out
    assert "tree of 5 steps; those with * are what counts, without an answer:" in shown
    assert '`- 5. Finish "GU"' in shown
    assert "back: again from the beginning" in shown
    rig("export", run, "--format", "toolbench", "--output", tmp_path / "out")
    [found] = load(tmp_path / "out" / "converted")
    assert found.solutions["2"] == convert(BRANCHED, "DFS_woFilter_w2", "here", shape="tree")


def test_a_query_that_had_to_be_answered_and_was_not_has_failed(rig: Rig, tmp_path: Path) -> None:
    place = folder(tmp_path / "answers") / "made"
    (tmp_path / "ids").mkdir()
    (tmp_path / "ids" / "G1.json").write_text(json.dumps({"1": 0, "7": 0}))
    run = imported(rig, place, "--suite", tmp_path / "ids")["run"]
    [arm] = rig("show", run, "--json").json["arms"]
    assert (arm["conversations"], arm["keyword_pass_rate"]) == (2, 0.5)
    judged = rig("judge", run, "--evaluator", "keyword", "--display", "none", "--json").json["arms"][0]
    assert (judged["conversations"], judged["pass_rate"]) == (2, 0.5)


@needs_public_data
@pytest.mark.parametrize("place", ["answer", "model_predictions_converted"])
def test_recorded_answers_are_written_again_byte_for_byte(rig: Rig, tmp_path: Path, place: str) -> None:
    run = imported(rig, STABLE / place)["run"]
    rig("export", run, "--format", "toolbench", "--output", tmp_path / "out")
    for path in sorted((STABLE / "model_predictions_converted").rglob("*.json")):
        recorded = json.loads(path.read_text())
        again = tmp_path / "out" / "converted" / path.parent.name / path.name
        found = json.loads(again.read_text())
        assert {**found} == {name: recorded[name] for name in found}
        assert json.dumps(found) == json.dumps({name: recorded[name] for name in found})


@pytest.mark.slow
@needs_public_data
def test_several_test_sets_keep_their_own_ids(rig: Rig, tmp_path: Path) -> None:
    results = PUBLIC / "toolbench" / "results"
    run = imported(rig, results / "G1_instruction.json", results / "G2_category.json")["run"]
    rig("export", run, "--format", "toolbench", "--output", tmp_path / "out")
    for name in ("G1_instruction", "G2_category"):
        path = tmp_path / "out" / "converted" / "results" / f"{name}.json"
        assert json.loads(path.read_text()) == json.loads((results / f"{name}.json").read_text())
    judged = rig(
        *("judge", run, "--evaluator", "keyword", "--output", tmp_path / "judged"),
        *("--display", "none", "--json"),
    ).json
    rows = json.loads((tmp_path / "judged" / "G1_instruction_results.json").read_text())
    assert len(rows) == 100
    assert not any("/" in name for name in rows)
    assert judged["arms"][0]["conversations"] == 200


def test_the_path_of_a_tree_is_what_metrics_read() -> None:
    tree = convert(BRANCHED, "DFS", "here", shape="tree")
    steps = steps_of(tree)
    assert [step.parent for step in steps] == [-1, 0, 1, 1, -1]
    path = path_of([PlayedTurn(0, steps)])
    shown = [step.prediction.reply or step.prediction.raw for step in path]
    assert shown == [node.call.arguments if node.call else node.text for node in tree.chain[2:]]
    assert steps_of(None) == ()
    assert all(step.parent is None for step in steps_of(solution()))


def test_what_cannot_be_taken_in_is_one_line(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for arguments, fault in (
        ((tmp_path / "empty",), "holds no answers"),
        ((folder(tmp_path / "a"), "--set", "invalid=none"), "no shape of answers is called none"),
        ((tmp_path / "nothing",), "no such folder or file"),
    ):
        done = rig("import", *arguments, "--format", "toolbench")
        assert (done.code, fault in done.err.splitlines()[-1]) == (2, True)
    run = imported(rig, tmp_path / "a" / "made")["run"]
    done = rig("score", run)
    assert done.code == 0
