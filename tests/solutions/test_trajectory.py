"""Runs of any method are written as ToolBench's answers, and read again."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from searches import GIVE_UP, Answer, astray, calls_in, finish, searched
from tool_answers import given_up, solution

from rig.core.errors import RigError
from rig.core.models import Prediction, Request
from rig.methods.scripted import called, replied
from rig.plugins.papers.toolbench.method import load
from rig.plugins.papers.toolbench.raw import convert, raw_of
from rig.plugins.solutions.rules import Shape
from rig.plugins.solutions.solution import Solution, chain_of, tool_node

Rig = Callable[..., Any]


def test_a_solution_as_a_raw_answer_is_converted_to_the_same() -> None:
    for made in (solution(), solution("It is two.", calls=3, response="12")):
        assert again(made) == made
    lost = again(given_up())
    assert (lost.final_answer, lost.is_finished) == ("", True)
    assert again(solution(None)).details == solution(None).details


@pytest.mark.parametrize("steps", [300, 5_000])
def test_an_answer_of_too_many_steps_for_a_file_is_one_line(steps: int) -> None:
    made = replace(solution(), details=chain_of([tool_node("a", "{}", "")] * steps))
    with pytest.raises(RigError, match="more than 248 steps"):
        made.as_json()
    json.dumps(replace(made, details=chain_of([tool_node("a", "{}", "")] * 248)).as_json())


def again(made: Solution, shape: Shape = "seeded") -> Solution:
    """A solution as a raw answer, converted."""
    method, written = raw_of(made)
    assert method == "CoT@1"
    return convert(written, method, "here", shape)


def test_a_search_is_exported_with_its_tree(rig: Rig, tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    run = searched(store, astray(), "dfs_w2", "later-alarm").id
    rig("export", run, "--format", "toolbench", "--output", tmp_path / "out", "--runs", store)
    path = tmp_path / "out" / "answer" / "scripted" / "queries" / "later-alarm_DFS_woFilter_w2.json"
    written = json.loads(path.read_text())
    assert written["win"] is True
    assert (written["tree"]["size"], written["tree"]["max_length"]) == (17, 7)
    assert [node["depth"] for node in written["compare_candidates"][0]] == [1, 2, 3, 4, 5, 6]
    [raw], [converted] = load(tmp_path / "out" / "answer"), load(tmp_path / "out" / "converted")
    assert [step.call for step in raw.solutions["later-alarm"].steps] == [
        step.call for step in converted.solutions["later-alarm"].steps
    ]
    whole = convert(written, "DFS_woFilter_w2", "here", "tree")
    assert whole.total_steps == 2 + 8
    assert [len(node.next) for node in whole.details[0].walk()].count(2) == 2
    taken = rig(
        "import", path, "--format", "toolbench", "--set", "invalid=tree", "--runs", store, "--json"
    ).json
    assert "tree of 8 steps" in rig("show", taken["run"], "later-alarm", "--runs", store).out


def test_who_gave_up_in_a_tree_has_an_answer_that_says_so(tmp_path: Path, rig: Rig) -> None:
    store = tmp_path / "runs.sqlite"

    def answer(request: Request) -> Prediction:
        return GIVE_UP if calls_in(request) else called("FindAlarms", {})

    run = searched(store, answer, "dfs_w2", "later-alarm").id
    rig("export", run, "--format", "toolbench", "--output", tmp_path / "out", "--runs", store)
    [raw] = load(tmp_path / "out" / "answer")
    assert raw.solutions["later-alarm"].final == "give_up"


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


def exported(
    rig: Rig, place: Path, answer: Answer, search: str, *more: str
) -> tuple[str, dict[str, Any], Solution]:
    """A search as a raw answer: what its file is called, what is in it, and the converted answer."""
    store = place / "runs.sqlite"
    run = searched(store, answer, search, "later-alarm", more=more).id
    rig("export", run, "--format", "toolbench", "--output", place / "out", "--runs", store)
    [path] = (place / "out" / "answer").rglob("*.json")
    [converted] = load(place / "out" / "converted")
    [raw] = load(place / "out" / "answer")
    if converted.solutions["later-alarm"].final == "answer":
        assert raw.solutions == converted.solutions
    return path.stem.partition("_")[2], json.loads(path.read_text()), converted.solutions["later-alarm"]


def test_a_search_that_compares_is_exported_without_its_comparisons(rig: Rig, tmp_path: Path) -> None:
    def answer(request: Request) -> Prediction:
        if not request.tools:
            return replied("It is A")
        return finish("Done.") if calls_in(request) == 2 else called("FindAlarms", {})

    name, written, converted = exported(rig, tmp_path, answer, "dfs_w2_filter")
    assert (name, converted.method) == ("DFS_w2", "DFS_w2")
    assert written["forward_args"] == {
        "single_chain_max_step": 12,
        "tree_beam_size": 2,
        "max_query_count": 200,
        "answer": 1,
        "with_filter": True,
    }
    assert (written["tree"]["size"], written["tree"]["max_length"]) == (13, 7)
    assert written["answer_generation"]["query_count"] == 6 + 6
    assert "It is A" not in json.dumps(written)
    assert [step.call.name for step in converted.steps if step.call] == ["FindAlarms", "FindAlarms", "Finish"]


def test_a_tree_that_never_branched_is_a_tree_all_the_same(rig: Rig, tmp_path: Path) -> None:
    name, written, _ = exported(rig, tmp_path, lambda _: finish("Done."), "dfs_w3")
    assert (name, written["tree"]["size"], written["win"]) == ("DFS_woFilter_w3", 3, True)
    assert written["forward_args"]["tree_beam_size"] == 3


def test_chains_that_were_tried_one_after_the_other_are_exported_as_such(rig: Rig, tmp_path: Path) -> None:
    number = iter(range(1, 10))

    def answer(request: Request) -> Prediction:
        return finish("Done.") if next(number) == 3 else GIVE_UP

    name, written, converted = exported(rig, tmp_path, answer, "cot@3")
    assert (name, converted.method, "tree" in written) == ("CoT@3", "CoT@3", False)
    assert (written["try_count"], [each["win"] for each in written["trys"]]) == (3, [False, False, True])
    assert [len(each["chain"]) for each in written["trys"]] == [2, 2, 2]
    assert written["forward_args"] == {"single_chain_max_step": 12, "pass_at": 3, "answer": 1}


def test_an_answer_that_came_too_late_is_in_no_tree(rig: Rig, tmp_path: Path) -> None:
    """The reply to the last question is not looked at, whatever it was."""

    def answer(request: Request) -> Prediction:
        return finish("Late.") if calls_in(request) == 2 else called("FindAlarms", {})

    name, written, converted = exported(rig, tmp_path, answer, "dfs_w2", "max_queries=3")
    assert (name, written["tree"]["size"], written["win"]) == ("DFS_woFilter_w2", 5, False)
    assert (written["forward_args"]["max_query_count"], written["answer_generation"]["query_count"]) == (3, 3)
    assert "Late." not in json.dumps(written)
    assert (converted.is_finished, converted.final) == (False, "none")
    (tmp_path / "one").mkdir()
    name, written, converted = exported(rig, tmp_path / "one", answer, "dfs_w2", "max_queries=1")
    assert (name, written["tree"]["size"], converted.total_steps) == ("DFS_woFilter_w2", 1, 2)


def test_two_who_give_up_in_chains_have_no_answer_as_upstreams(rig: Rig, tmp_path: Path) -> None:
    name, written, converted = exported(rig, tmp_path, lambda _: GIVE_UP, "cot@2")
    assert (name, written["win"], written["try_count"]) == ("CoT@2", False, 2)
    assert written["answer_generation"]["valid_data"] is False
    assert converted.final == "give_up"
