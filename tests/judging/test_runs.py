"""Judging as a run: driven, stored, killed and resumed at a vote, and shown; whoever judges."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tool_answers import given_up, solution

from rig.core.errors import ErrorKind, RigError
from rig.core.events import Event, Notice, TurnFinished
from rig.core.models import Prediction, Request, UserMessage
from rig.methods.scripted import Scripted, called, failed
from rig.plugins.judging.calibration import judge_of
from rig.plugins.judging.method import NOBODY
from rig.plugins.judging.planning import JudgingRequest, plan_judging
from rig.plugins.judging.stored import read_votes, write_results
from rig.plugins.papers.toolbench.method import write
from rig.plugins.solutions.judgements import ModelAnswers
from rig.plugins.solutions.solution import Solution
from rig.running.control import Control
from rig.running.plan import Plan
from rig.running.planning import plan_resume
from rig.running.runner import run
from rig.store import Runs, StoredRun

Rig = Callable[..., Any]

ONE = {"1": solution("It is noon."), "2": solution("Sorry, no."), "3": given_up(), "4": solution(None)}
TWO = {"1": solution("It is two.", calls=2), "2": solution("It is six."), "3": solution("It is one.")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    sets = [ModelAnswers(name, "G1", found) for name, found in (("one", ONE), ("two", TWO))]
    write(sets, tmp_path / "answers")
    return tmp_path / "answers"


class Stub(Scripted):
    """A judge that says what a function is told to say, and keeps what it was asked."""

    def __init__(self, *, room: int | None = None, **verdicts: Any) -> None:
        self.asked: list[Request] = []
        self._verdicts = verdicts
        if room is not None:
            self.room = lambda request: room - len(request.messages[0].text)  # type: ignore[union-attr]
        super().__init__(self._answer, name="stub")

    def _answer(self, request: Request) -> Prediction:
        self.asked.append(request)
        [tool] = request.tools
        said = self._verdicts[tool.name]
        value = said(request) if callable(said) else said
        names = [name for name in tool.parameters["properties"] if name != "reason"]
        return called(tool.name, {"reason": "so it is", names[0]: value})


STATUSES = {"check_answer_status": "Solved", "check_task_solvable": "Solvable", "select_better_answer": 0}


def judged(plan: Plan, judge: Stub, emit: Callable[[Event], None] = lambda _: None) -> StoredRun:
    """The run of a plan, judged by a stub."""

    def load(_: object) -> Stub:
        return judge

    arms = tuple(replace(arm, load=load) for arm in plan.arms)
    control = Control()
    run(replace(plan, arms=arms), emit, control)
    return stored(plan)


def stored(plan: Plan) -> StoredRun:
    with Runs.open(plan.store) as runs:
        return runs.get(plan.run)


def planned(folder: Path, store: Path, **more: Any) -> Plan:
    wanted = JudgingRequest(**{"places": (str(folder),), "judge": NOBODY, "evaluator": "default", **more})
    return plan_judging(wanted, store)


def rates(found: StoredRun) -> list[float]:
    return [arm.counts["passes"] for arm in found.arms]


def test_every_model_is_an_arm_and_a_missing_answer_has_failed(folder: Path, tmp_path: Path) -> None:
    judge = Stub(**STATUSES)
    found = judged(planned(folder, tmp_path / "runs.sqlite"), judge)
    assert [arm.name for arm in found.arms] == [f"nobody answers-of={name}" for name in ("one", "two")]
    assert rates(found) == [2, 3]
    assert [arm.counts["tasks"] for arm in found.arms] == [4, 4]
    assert [arm.counts["answered"] for arm in found.arms] == [4, 3]
    assert [arm.counts["keyword_passes"] for arm in found.arms] == [1, 3]
    left = planned(folder, tmp_path / "runs.sqlite", answered_only=True)
    assert [task.name for task in left.tasks] == ["1", "2", "3"]


def test_whether_a_task_can_be_solved_is_asked_once(folder: Path, tmp_path: Path) -> None:
    judge = Stub(**{**STATUSES, "check_answer_status": "Unsolved", "check_task_solvable": "Unsolvable"})
    found = judged(planned(folder, tmp_path / "runs.sqlite"), judge)
    counts = Counter(request.tools[0].name for request in judge.asked)
    # Queries 1 to 3, whoever answered them; an answer without an end is not put to a judge.
    assert counts == {"check_task_solvable": 3, "check_answer_status": 3 * (2 + 3)}
    assert rates(found) == [3, 3]
    assert [arm.counts["asked"] for arm in found.arms] == [6 + 3, 9]


def test_no_prompt_is_put_twice(folder: Path, tmp_path: Path) -> None:
    judge = Stub(**STATUSES)
    judged(planned(folder, tmp_path / "runs.sqlite", votes=6), judge)
    prompts = [(request.messages, repr(request.tools)) for request in judge.asked]
    assert len(prompts) == len(set(prompts)) == 6 * 5 + 1
    with pytest.raises(RigError, match="--votes 7: at temperature 0 there are 6 different ways to ask"):
        planned(folder, tmp_path / "runs.sqlite", votes=7)
    planned(folder, tmp_path / "runs.sqlite", votes=7, options={"temperature": (0.5,)})
    sampled = planned(folder, tmp_path / "runs.sqlite", votes=7, options={"sampling": ("top_k=20",)})
    assert judge_of(sampled.recipe) != judge_of({**sampled.recipe, "sampling": None})
    with pytest.raises(RigError, match="--votes 7: at temperature 0"):
        planned(folder, tmp_path / "runs.sqlite", votes=7, options={"sampling": ("greedy",)})


def interrupted(plan: Plan, judge: Stub, turns: int) -> None:
    control = Control()
    seen: list[Event] = []

    def emit(event: Event) -> None:
        seen.append(event)
        if sum(isinstance(each, TurnFinished) for each in seen) == turns:
            control.stop()

    arms = tuple(replace(arm, load=lambda _: judge) for arm in plan.arms)
    run(replace(plan, arms=arms), emit, control)


@pytest.mark.parametrize("turns", [1, 4, 13])
def test_a_judge_that_was_stopped_goes_on_at_the_next_vote(folder: Path, tmp_path: Path, turns: int) -> None:
    verdicts = {
        **STATUSES,
        "check_answer_status": lambda request: ["Solved", "Unsolved"][request.key.turn % 2],
    }
    whole = judged(planned(folder, tmp_path / "whole.sqlite"), first := Stub(**verdicts))
    store = tmp_path / "parts.sqlite"
    plan = planned(folder, store)
    before, after = Stub(**verdicts), Stub(**verdicts)
    interrupted(plan, before, turns)
    assert stored(plan).turns_done == turns
    found = judged(plan_resume(plan.run, {}, store), after)
    assert [arm.counts for arm in found.arms] == [arm.counts for arm in whole.arms]
    assert len(before.asked) + len(after.asked) == len(first.asked)
    assert read_votes(store, found)[1] == read_votes(tmp_path / "whole.sqlite", whole)[1]


class Failing(Stub):
    """Fails because memory is short at some of the questions that it is asked, counted from 0."""

    def __init__(self, *places: int) -> None:
        super().__init__(**STATUSES)
        self._places = places

    def _answer(self, request: Request) -> Prediction:
        answer = super()._answer(request)
        fails = len(self.asked) - 1 in self._places
        return failed(ErrorKind.MEMORY, "no room") if fails else answer


def test_votes_that_failed_by_the_machine_are_cast_again(folder: Path, tmp_path: Path) -> None:
    whole = judged(planned(folder, tmp_path / "whole.sqlite"), Stub(**STATUSES))
    store = tmp_path / "runs.sqlite"
    plan = planned(folder, store)
    first = judged(plan, Failing(0, 4))
    assert sum(arm.errors.get("memory", 0) for arm in first.arms) == 2
    left = judged(plan_resume(plan.run, {}, store), judge := Stub(**STATUSES))
    assert ([arm.errors for arm in left.arms], judge.asked) == ([arm.errors for arm in first.arms], [])
    found = judged(plan_resume(plan.run, {}, store, retry_failed=True), Stub(**STATUSES))
    assert [arm.counts for arm in found.arms] == [arm.counts for arm in whole.arms]
    assert sum(arm.attempts.get("memory", 0) for arm in found.arms) == 2
    votes = [[vote.vote for vote in each.votes] for each in read_votes(store, found)[1]]
    assert votes == [[v.vote for v in each.votes] for each in read_votes(tmp_path / "whole.sqlite", whole)[1]]


def test_votes_are_cast_again_of_a_run_alone(rig: Rig, folder: Path, tmp_path: Path) -> None:
    refused = rig("judge", folder, "--evaluator", "truth", "--retry-failed", "--runs", tmp_path / "no.sqlite")
    assert (refused.code, "go with --resume" in refused.err) == (2, True)
    assert "--retry-failed" not in rig("judge", "calibrate", "--help").out


def test_two_answers_are_shown_in_both_orders(folder: Path, tmp_path: Path) -> None:
    def better(request: Request) -> int:
        message = request.messages[0]
        assert isinstance(message, UserMessage)
        return int(message.text.index("It is two") > message.text.index("It is noon"))

    judge = Stub(**{**STATUSES, "select_better_answer": better})
    plan = planned(folder, tmp_path / "runs.sqlite", against="one", options={"limit": 1})
    [arm] = judged(plan, judge).arms
    assert (arm.counts["wins"], arm.counts["compared"], arm.counts["flips"]) == (1, 1, 0)
    biased = Stub(**STATUSES)
    plan = planned(folder, tmp_path / "runs.sqlite", against="one", options={"limit": 1})
    [arm] = judged(plan, biased).arms
    assert (arm.counts["ties"], arm.counts["flips"], arm.counts["first_wins"]) == (1, 1, 2)


def test_against_itself_everything_is_a_tie(folder: Path, tmp_path: Path) -> None:
    plan = planned(folder / "one", tmp_path / "runs.sqlite", against="one")
    [arm] = judged(plan, judge := Stub(**STATUSES)).arms
    assert (arm.counts["ties"], arm.counts["tasks"], judge.asked) == (4, 4, [])


def test_who_passed_before_wins_without_a_judge(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    passed = judged(planned(folder, store), Stub(**{**STATUSES, "check_answer_status": _noon}))
    assert rates(passed) == [1, 0]
    plan = planned(folder, store, against="one", passes=passed.id)
    [arm] = judged(plan, judge := Stub(**STATUSES)).arms
    assert (arm.counts["gated"], arm.counts["losses"]) == (1, 1 + 1)
    assert {request.tools[0].name for request in judge.asked} == {"select_better_answer"}


def _noon(request: Request) -> str:
    message = request.messages[0]
    return "Solved" if isinstance(message, UserMessage) and "noon" in message.text else "Unsolved"


def test_what_does_not_fit_is_cut_and_said(tmp_path: Path) -> None:
    long: dict[str, Solution] = {"1": solution("It is noon.", response="tick " * 2000)}
    write([ModelAnswers("one", "G1", long)], tmp_path / "long")
    verdicts = {**STATUSES, "check_answer_status": "Unsure", "parse_answer_status": "Solved"}
    judge, notices = Stub(room=3000, **verdicts), []
    plan = planned(tmp_path / "long", tmp_path / "runs.sqlite", votes=1)
    [arm] = judged(
        plan, judge, lambda event: notices.append(event) if isinstance(event, Notice) else None
    ).arms
    assert arm.counts["cut"] == 1
    assert any("cut to fit the judge's context: responses after" in notice.text for notice in notices)
    message = judge.asked[-1].messages[0]
    assert isinstance(message, UserMessage)
    assert 2500 < len(message.text) <= 3000
    assert message.text.count("It is noon.") == 2


def test_verdicts_that_are_none_are_asked_again_without_a_reason(folder: Path, tmp_path: Path) -> None:
    def clumsy(request: Request) -> str:
        return "Solved" if "reason" not in request.tools[0].parameters["properties"] else "Perhaps"

    judge = Stub(**{**STATUSES, "check_answer_status": clumsy})
    plan = planned(folder, tmp_path / "runs.sqlite", votes=1)
    found = judged(plan, judge)
    assert rates(found) == [2, 3]
    assert [arm.counts["invalid"] for arm in found.arms] == [0, 0]
    assert [arm.counts["asked"] for arm in found.arms] == [2 * 2 + 1, 2 * 3]


def test_files_of_upstream_are_written_from_a_run(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    found = judged(planned(folder, store), Stub(**STATUSES))
    paths = write_results(store, found, tmp_path / "results")
    assert [path.name for path in paths] == [
        f"G1_{name}.{kind}" for name in ("one", "two") for kind in ("json", "csv")
    ]
    rows = json.loads(paths[0].read_text())
    assert {name: (row["passed"], row["failed"]) for name, row in rows.items()} == {
        "1": (3, 0),
        "2": (3, 0),
        "3": (0, 3),
        "4": (0, 3),
    }
    wins = judged(planned(folder, store, against="one"), Stub(**STATUSES))
    names = [path.name for path in write_results(store, wins, tmp_path / "wins")]
    assert names == ["G1_one_two.json", "G1_one_two.csv"]
    with pytest.raises(RigError, match="is not an empty directory"):
        write_results(store, wins, tmp_path / "wins")


def test_a_run_of_any_method_can_be_judged(rig: Rig) -> None:
    run_id = rig(
        "run", "oracle", "--limit", "3", "--similarity", "exact", "--display", "none", "--json"
    ).json["run"]
    done = rig("judge", run_id, "--evaluator", "truth", "--display", "none", "--json").json
    [arm] = done["arms"]
    assert (arm["pass_rate"], arm["true_pass_rate"], arm["judged_right"]) == (1, 1, 1)
    shown = rig("show", done["run"]).out
    assert "true pass rate" in shown
    assert "pass rate" in rig("judge", "rates", done["run"]).out
    again = rig("judge", run_id, "--evaluator", "truth", "--against", "oracle", "--display", "none", "--json")
    assert again.json["arms"][0]["tie_rate"] == 1


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("answers",), "what is to be judged?"),
        (("FOLDER",), "who judges? Give --judge MODEL"),
        (("FOLDER", "--judge", "nobody", "--evaluator", "nothing"), "no evaluator is called 'nothing'"),
        (("FOLDER", "--judge", "nobody", "--against", "three"), "no arm of that name has answers"),
        (("FOLDER", "--judge", "nobody", "--evaluator", "fn"), "cannot say whether an answer solves a query"),
        (("FOLDER", "--judge", "nobody", "--orders", "one"), "--orders needs --against"),
        (("nothing", "--judge", "nobody"), "no such file"),
    ],
)
def test_what_cannot_be_judged_is_one_line(
    rig: Rig, folder: Path, arguments: tuple[str, ...], fault: str
) -> None:
    done = rig("judge", *(str(folder) if each == "FOLDER" else each for each in arguments))
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert fault in done.err
