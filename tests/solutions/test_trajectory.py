"""Runs of any method are written as ToolBench's answers, and read again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tool_answers import given_up, solution

from rig.solutions.answers import load
from rig.solutions.converting import convert
from rig.solutions.raw import METHOD, raw_of

Rig = Callable[..., Any]


def test_a_solution_as_a_raw_answer_is_converted_to_the_same() -> None:
    for made in (solution(), solution("It is two.", calls=3, response="12")):
        assert convert(raw_of(made), METHOD, "here") == made
    lost = convert(raw_of(given_up()), METHOD, "here")
    assert (lost.final_answer, lost.is_finished) == ("", True)
    assert convert(raw_of(solution(None)), METHOD, "here").details == solution(None).details


def test_a_run_of_tooltalk_is_exported_and_judged_again(rig: Rig, tmp_path: Path) -> None:
    played = ("run", "oracle", "--limit", "2", "--similarity", "exact", "--display", "none", "--json")
    run = rig(*played).json["run"]
    out = tmp_path / "out"
    done = rig("export", run, "--format", "toolbench", "--output", str(out), "--json").json
    assert len(done["files"]) == 1 + 2 + 1
    [converted] = load(out / "converted")
    [raw] = load(out / "answer")
    assert (converted.model, converted.test_set) == (raw.model, raw.test_set) == ("oracle", "easy")
    ids = json.loads((out / "test_ids" / "easy.json").read_text())
    assert set(ids) == set(converted.solutions) == set(raw.solutions)
    for name, each in converted.solutions.items():
        assert each.is_finished
        assert each.final == "answer"
        assert not each.invented
        assert raw.solutions[name].final_answer == each.final_answer
        assert [step.call for step in raw.solutions[name].steps] == [step.call for step in each.steps]
        assert each.tool_names[-1] == "Finish"
    judged = rig(
        *("judge", str(out / "converted"), "--evaluator", "keyword", "--test-ids", str(out / "test_ids")),
        *("--display", "none", "--json"),
    ).json
    assert judged["arms"][0]["conversations"] == 2
    again = rig("export", run, "--format", "toolbench", "--output", str(out))
    assert (again.code, "not an empty directory" in again.err) == (2, True)
    assert "name a directory with --output" in rig("export", run, "--format", "toolbench").err


def test_a_dialogue_that_ends_with_a_call_has_it_for_an_answer(rig: Rig, tmp_path: Path) -> None:
    played = ("run", "oracle", "--suite", "dynamic", "--role", "user=scripted", "--limit", "1")
    run = rig(*played, "--display", "none", "--json").json["run"]
    rig("export", run, "--format", "toolbench", "--output", str(tmp_path / "out"))
    [found] = load(tmp_path / "out" / "converted")
    [made] = found.solutions.values()
    last = made.steps[-2].call
    assert last is not None
    assert last.name in made.final_words
    assert any(node.role == "user" for node in made.chain[2:])
