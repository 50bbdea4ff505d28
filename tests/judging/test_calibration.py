"""A judge is measured by labels, and what that came to is said wherever its rates are printed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from judging.test_runs import NOBODY, ONE, STATUSES, TWO, Stub, judged, planned
from tool_answers import solution

from rig.core.errors import RigError
from rig.core.models import Request, UserMessage
from rig.core.paths import CONVERSATIONS
from rig.plugins.judging import PASS, WIN, calibration
from rig.plugins.judging.calibration import OURS, load_labels
from rig.plugins.judging.evaluators import find
from rig.plugins.judging.planning import JudgingRequest, plan_votes
from rig.plugins.papers.toolbench.method import write
from rig.plugins.solutions.judgements import ModelAnswers
from rig.plugins.tooleval.queries import load
from rig.store import Runs, StoredRun

Rig = Callable[..., Any]


def calibrated(store: Path, judge: Stub, method: str, votes: int = 1) -> StoredRun:
    """A run of rig's own labels, judged by a stub."""
    labels = load_labels(OURS, votes, votes)
    tasks = labels.answers if method == PASS else labels.pairs
    against = "0" if method == WIN else None
    wanted = JudgingRequest((calibration.SUITE,), NOBODY, "default", against=against)
    return judged(plan_votes(wanted, find("default"), tasks, store), judge)


def words_of(request: Request) -> str:
    message = request.messages[0]
    assert isinstance(message, UserMessage)
    return message.text


def knowing() -> Stub:
    """A judge that knows the right answers by heart."""
    right = {query.answer for query in load(CONVERSATIONS / "queries")}
    truths = {task.answers["0"].final_answer for task in load_labels(OURS, 1, 1).answers if task.truths["0"]}  # type: ignore[union-attr]

    def status(request: Request) -> str:
        text = words_of(request)
        return "Solved" if any(each in text for each in truths) else "Unsolved"

    def better(request: Request) -> int:
        halves = words_of(request).split("Answer 1, as JSON:")
        return 0 if any(json.dumps(each)[1:-1] in halves[0] for each in right) else 1

    return Stub(**{**STATUSES, "check_answer_status": status, "select_better_answer": better})


def test_our_labels_are_balanced_and_follow_from_the_rule() -> None:
    labels = load_labels(OURS, 1, 1)
    assert (len(labels.answers), len(labels.pairs)) == (60, 60)
    assert sum(task.truths["0"] for task in labels.answers) == 30
    assert sum(task.preferred[0] for task in labels.pairs) == 30
    assert all(task.truths["01"[task.preferred[0]]] for task in labels.pairs)
    assert not any(task.truths["10"[task.preferred[0]]] for task in labels.pairs)


def test_a_judge_that_knows_is_better_than_chance(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    measured = calibration.measure(store, calibrated(store, knowing(), PASS))
    assert measured.kappa.value is not None
    assert measured.kappa.value > 0.5
    assert not measured.is_chance
    assert measured.upstream is not None
    assert measured.upstream.agreement == pytest.approx(measured.accuracy.value or 0)


@pytest.mark.slow
def test_a_judge_of_places_is_at_chance_and_flips(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    judge = Stub(**STATUSES)
    measured = calibration.measure(store, calibrated(store, judge, WIN, votes=2))
    assert measured.is_chance
    assert measured.position_bias is not None
    assert measured.position_bias.value == 1
    # 60 pairs, not 120 votes, are what was sampled.
    assert (measured.position_bias.low or 1) < 0.95
    always = calibration.measure(store, calibrated(store, Stub(**STATUSES), PASS))
    assert (always.is_chance, always.accuracy.value) == (True, pytest.approx(0.5))


@pytest.mark.slow
def test_what_a_calibration_came_to_is_said_with_every_run_of_the_judge(rig: Rig, tmp_path: Path) -> None:
    write([ModelAnswers("one", "G1", ONE), ModelAnswers("two", "G1", TWO)], tmp_path / "answers")
    store = tmp_path / "runs.sqlite"
    before = judged(planned(tmp_path / "answers", store), Stub(**STATUSES))
    assert "is not calibrated" in before.declaration.caution
    assert not before.declaration.decides
    found = calibrated(store, Stub(**STATUSES), PASS, votes=3)
    calibration.note(store, found)
    with Runs.open(store) as runs:
        again = runs.get(before.id)
    assert (
        "nobody is no better than chance: kappa 0.00 (0.00 to 0.00) on 60 labels" in again.declaration.caution
    )
    for asked in (
        *(("show", before.id), ("judge", "rates", before.id), ("runs",), ("compare", before.id)),
        *(
            ("leaderboard", "--method", "judge-pass", "--suite", "G1"),
            ("watch", before.id, "--display", "plain"),
        ),
    ):
        assert "no better than chance" in rig(*asked, "--runs", store).out, asked
        if asked[0] != "watch":
            assert "no better than chance" in rig(*asked, "--runs", store, "--json").out, asked
    for name in ("r.md", "r.html", "r.json"):
        rig("report", before.id, "-o", tmp_path / name, "--runs", store)
        assert "no better than chance" in (tmp_path / name).read_text(), name
    decided = rig("compare", before.id, "--fail-if-worse", "5", "--runs", store)
    assert (decided.code, "--fail-if-worse cannot decide here: the judge nobody" in decided.err) == (
        2,
        True,
    )
    after = planned(tmp_path / "answers", store)
    assert "no better than chance" in after.caution.text
    refused = rig(
        *("judge", str(tmp_path / "answers"), "--judge", NOBODY, "--fail-if-worse", "--runs", str(store))
    )
    assert (refused.code, "--fail-if-worse: the judge nobody is no better than chance" in refused.err) == (
        2,
        True,
    )


@pytest.mark.slow
def test_rules_are_calibrated_from_the_command_line(rig: Rig) -> None:
    done = rig("judge", "calibrate", "--evaluator", "truth", "--display", "none", "--json").json
    assert [done[name]["kappa"]["value"] for name in ("answers", "pairs")] == [1, 1]
    poor = rig("judge", "calibrate", "--evaluator", "keyword", "--display", "none")
    assert "kappa" in poor.out
    assert poor.code == 0


def test_labels_of_people_are_read(tmp_path: Path) -> None:
    made = solution().as_json()
    item = {**made, "answers": [made["answer"], made["answer"]], "preference": [0, 1, 1, 1]}
    (tmp_path / "human.json").write_text(json.dumps([item]))
    [pair] = load_labels(tmp_path, 3, 2).pairs
    assert (pair.preferred, pair.votes, list(pair.answers)) == ((0, 1, 1, 1), 2, ["0", "1"])


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ({}, "holds no list"),
        ([], "holds no labels"),
        ([{}], "query is missing"),
        ([{"answers": [], "query": "", "available_tools": [], "solved": True}], "is of one; got 0"),
        ([{"answers": [3], "query": "", "available_tools": [], "solved": True}], "not a converted answer"),
        (
            [{"answers": [], "query": "", "available_tools": [], "preference": [2]}],
            "1 should be less than or equal to 1",
        ),
    ],
)
def test_what_is_no_label_is_one_line(tmp_path: Path, data: Any, fault: str) -> None:
    (tmp_path / "labels.json").write_text(json.dumps(data))
    with pytest.raises(RigError, match=fault):
        load_labels(tmp_path, 1, 1)
