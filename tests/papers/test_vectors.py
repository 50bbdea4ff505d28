"""What upstream was seen to make of its public answers: votes of stub judges, gates, tables, walks."""

import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from judging.test_runs import STATUSES, Stub, judged, planned, rates
from tool_answers import PUBLIC, needs_public_data

from rig.core.errors import RigError
from rig.plugins.judging.stored import write_results
from rig.plugins.papers.toolbench.method import load
from rig.plugins.papers.toolbench.raw import convert
from rig.plugins.papers.toolbench.results import read_results
from rig.plugins.solutions.solution import Node, score_of

Rig = Callable[..., Any]
STABLE = PUBLIC / "stabletoolbench" / "data_example"
CONVERTED = STABLE / "model_predictions_converted"
COT, DFS = "virtual_chatgpt_cot", "virtual_chatgpt_dfs"


@needs_public_data
@pytest.mark.parametrize(
    ("model", "verdicts", "passes", "asked"),
    [
        (COT, {}, 2, 2 * 4),
        (DFS, {}, 3, 3 * 4),
        (DFS, {"check_answer_status": "Unsolved"}, 0, 3 * 4 + 3),
        (DFS, {"check_answer_status": "Unsolved", "check_task_solvable": "Unsolvable"}, 3, 3 * 4 + 3),
        (DFS, {"check_answer_status": "Unsure", "parse_answer_status": "Solved"}, 3, 3 * 4 * 2),
    ],
)
def test_stub_judges_pass_what_upstreams_passed(
    tmp_path: Path, model: str, verdicts: dict[str, str], passes: int, asked: int
) -> None:
    """Whether a task can be solved is asked once here, where upstream asks it with every vote."""
    judge = Stub(**{**STATUSES, **verdicts})
    found = judged(planned(CONVERTED / model, tmp_path / "runs.sqlite", votes=4), judge)
    assert (rates(found), len(judge.asked)) == ([passes], asked)
    [arm] = found.arms
    assert arm.counts["tasks"] == 3
    votes = {0: 0, 2: 8, 3: 12}[passes]
    assert arm.counts["votes_for"] == votes


@needs_public_data
def test_who_failed_loses_at_the_gate_and_nobody_is_asked(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    passed = judged(planned(CONVERTED, store), Stub(**STATUSES))
    assert rates(passed) == [2, 3]
    plan = planned(CONVERTED, store, against=COT, passes=passed.id)
    found = judged(plan, judge := Stub(**STATUSES))
    [arm] = found.arms
    assert (arm.counts["gated"], arm.counts["wins"], arm.counts["ties"]) == (1, 1, 2)
    assert Counter(request.key.conversation for request in judge.asked) == {"1073": 2, "608": 2}
    write_results(store, found, tmp_path / "out")
    rows = json.loads((tmp_path / "out" / f"G1_instruction_{COT}_{DFS}.json").read_text())
    assert rows["588"] == {COT: 0, DFS: 1, "round_0": "complete"}
    assert rows["608"] == {COT: 0, DFS: 0, "round_0": "complete"}


@needs_public_data
def test_recorded_votes_become_rates_and_the_table_that_goes_with_them(rig: Rig, tmp_path: Path) -> None:
    path = STABLE / "preference_results" / f"G1_instruction_{COT}_{DFS}.json"
    done = rig("judge", "rates", path, "--answers", CONVERTED, "--output", tmp_path / "out", "--json").json[0]
    assert (done["model"], done["reference"], done["queries"]) == (DFS, COT, 3)
    assert (done["win"]["value"], done["tie"]["value"], done["win_half"]["value"]) == (1, 0, 1)
    text = (tmp_path / "out" / f"{path.stem}.csv").read_bytes().decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t")
    assert header[-4:] == ["preference_label", "query_id", "ref_model", "output_model"]
    assert [row[6:] for row in rows] == [["2", name, COT, DFS] for name in ("588", "608", "1073")]
    recorded = {
        model: json.loads((STABLE / "pass_rate_results" / model / f"G1_instruction_{model}.json").read_text())
        for model in (COT, DFS)
    }
    for row in rows:
        ours, theirs = recorded[COT][row[7]], recorded[DFS][row[7]]
        assert row[:6] == [
            *(ours["query"], str(ours["tool_names"]), ours["answer_steps"], ours["final_step"]),
            *(theirs["answer_steps"], theirs["final_step"]),
        ]
    # Written as Python's csv module does by default: rows end in CR and LF, cells are quoted where need be.
    again = io.StringIO(newline="")
    csv.writer(again, delimiter="\t").writerows([header, *rows])
    assert text == again.getvalue()
    lacking = rig("judge", "rates", path, "--output", tmp_path / "no")
    assert (lacking.code, "name them with --answers" in lacking.err) == (2, True)


@needs_public_data
@pytest.mark.parametrize("model", [COT, DFS])
def test_recorded_pass_rates_have_their_table(rig: Rig, tmp_path: Path, model: str) -> None:
    path = STABLE / "pass_rate_results" / model / f"G1_instruction_{model}.json"
    done = rig("judge", "rates", path, "--output", tmp_path, "--json").json[0]
    assert (done["model"], done["sopr"]) == (model, pytest.approx(2 / 3 if model == COT else 1))
    assert (tmp_path / f"{path.stem}.csv").read_bytes() == path.with_suffix(".csv").read_bytes()


@needs_public_data
def test_steps_of_the_recorded_answers_have_their_hashes() -> None:
    """By total steps, tool nodes, characters of steps and of the final step, and the hash of the steps."""
    [found] = load(CONVERTED / COT)
    told = {
        name: (
            *(each.total_steps, len(each.steps), len(each.step_text), len(each.final_step)),
            hashlib.sha256(each.step_text.encode()).hexdigest()[:12],
        )
        for name, each in found.solutions.items()
    }
    assert told == {
        "1073": (6, 3, 1989, 540, "905d3cfc6255"),
        "588": (8, 6, 3955, 750, "ab3bd0b10022"),
        "608": (6, 3, 2373, 791, "5eeca1b398ee"),
    }
    assert not found.solutions["588"].is_finished


def lengths(node: Node, above: int) -> list[int]:
    """How many nodes each path has from the root to a leaf."""
    return [n for each in node.next for n in lengths(each, above + 1)] if node.next else [above + 1]


@needs_public_data
def test_a_walk_by_chance_is_one_of_the_paths_that_there_are() -> None:
    path = PUBLIC / "toolbench" / "answer" / "G1_answer" / "69_ChatGPT_DFS_woFilter_w2.json"
    given = json.loads(path.read_text(encoding="utf-8"))
    whole = convert(given, "DFS", "69", shape="tree")
    assert Counter(lengths(whole.details[0], 0)) == {7: 1, 8: 1, 9: 3, 10: 3, 11: 1}
    seeded = convert(given, "DFS", "69")
    names = [node.call.name if node.call else node.role for node in seeded.chain]
    assert (names[1], names[3], names[5:]) == ("user", "assistant", ["assistant", "Finish"])
    assert names[2].startswith("latest_news")
    assert names[4] == "authenticate_authentication_system"


def test_the_detail_score_of_upstreams_example() -> None:
    assert score_of(3, 2, 6) == pytest.approx(31.0412, abs=1e-4)
    assert score_of(3, 2, 0) == -100000


@pytest.mark.parametrize("rows", [{}, {"1": {"a": 1}}, {"1": {"a": 1, "b": 2, "c": 3}}, [1]])
def test_what_is_no_file_of_results_is_one_line(tmp_path: Path, rows: Any) -> None:
    (tmp_path / "x.json").write_text(json.dumps(rows))
    with pytest.raises(RigError, match="no file of results"):
        read_results(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({}, "a table also shows 'query', and a query lacks it"),
        (
            {"query": "q", "tool_names": [], "final_step": "", "is_solved": {"first": "AnswerStatus.Solved"}},
            "the votes of a query have no numbers",
        ),
    ],
)
def test_a_table_of_results_that_lack_something_is_one_line(
    tmp_path: Path, row: dict[str, object], why: str
) -> None:
    path = tmp_path / "x.json"
    rated = {"answer_steps": "", "is_solved": {"0": "AnswerStatus.Solved"}}
    path.write_text(json.dumps({"1": {**rated, **row}}))
    with pytest.raises(RigError, match=f"^{path}: {why}"):
        read_results(path).table([], False)
