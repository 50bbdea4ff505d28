"""How a vote is made: which questions a judge is asked, one after another, and what follows from the
verdicts.

Source: the three evaluators of upstream's ToolEval. A vote is a generator of questions. It receives verdicts,
None for an invalid one. Where upstream draws lots, answers are equal here. docs/how-to/tooleval.md lists the
fixes to upstream's.
"""

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from rig.calls import JsonObject
from rig.judging.evaluators import RULES, Evaluator
from rig.judging.questions import (
    REASON,
    WHOLE,
    Cut,
    Question,
    answer_json,
    details_json,
    names_json,
    task_json,
)
from rig.solutions.baselines import detail_score, keyword_pass, score_of
from rig.solutions.decisions import AnswerStatus, TaskStatus, Vote
from rig.solutions.solution import Solution

MOST_FINAL = 1000
"""Characters of a final answer that are compared with another one."""

Orders: TypeAlias = Literal["both", "one"]
"""Whether two answers are shown in both orders, or as upstream in one that changes from vote to vote."""

Side: TypeAlias = Literal[0, 1]
SIDES: tuple[Side, Side] = (0, 1)
"""The reference, or the candidate."""

SIDE_ORDERS: tuple[tuple[Side, Side], tuple[Side, Side]] = ((0, 1), (1, 0))
"""Both orders in which two answers can be shown."""


_HOPEFUL: tuple[AnswerStatus, ...] = ("Solved", "Unsure")


class StatusVote(NamedTuple):
    """A vote on one answer, with the reasons for both statuses, and how many verdicts were none."""

    vote: Vote
    reasons: tuple[str, str] = ("", "")
    invalid: int = 0


class PreferenceVote(NamedTuple):
    """A vote on two answers. `winner` is None for a tie; `how` it was found, and what each order gave.

    There are no `orders` where nobody had to compare.
    """

    winner: Side | None
    how: Literal["gate", "absent", "status", "identical", "score", "compared"]
    orders: tuple[Side | None, ...] = ()
    reason: str = ""
    invalid: int = 0

    @property
    def is_flip(self) -> bool:
        """Whether another answer won when the order was another."""
        return len(set(self.orders)) > 1


Verdict: TypeAlias = JsonObject | None
Asking: TypeAlias = Generator[Question, Verdict, Any]


def vote_on_answer(
    evaluator: Evaluator, solution: Solution | None, truth: bool | None = None
) -> Generator[Question, Verdict, StatusVote]:
    """A vote on whether an answer solves its query. None, or one without an end, does not go to a judge.

    `truth` is what is known about the answer, for evaluators that are rules.
    """
    if solution is None:
        return StatusVote(Vote("Unsolved", is_certain=True), ("No answer", "Not asked"))
    if evaluator.kind == "rule":
        status: AnswerStatus = "Solved" if _standing(evaluator, solution, truth) > 0 else "Unsolved"
        return StatusVote(Vote(status, "Solvable"), (RULES[evaluator.name], "Not asked"))
    if not solution.is_finished:
        return StatusVote(Vote("Unsolved", "Solvable", is_certain=True), ("No answer", "Not asked"))
    status, reason, invalid = yield from _status(evaluator, solution)
    if status == "Solved":
        return StatusVote(Vote(status, "Solvable"), (reason, "Task has been solved before."), invalid)
    task, why, more = yield from _task_status(evaluator, solution)
    return StatusVote(Vote(status, task), (reason, why), invalid + more)


class _Judged(NamedTuple):
    status: AnswerStatus
    reason: str
    invalid: int = 0


def _status(evaluator: Evaluator, solution: Solution) -> Generator[Question, Verdict, _Judged]:
    if solution.final != "answer":
        return _Judged("Unsolved", "Empty final answer!")
    if evaluator.kind == "normalized":
        return _solved((yield _solving(solution)))
    evaluator.function("check_answer_status")
    fields = {"query": solution.query, "answer": solution.final_answer}
    verdict = yield Question("check_answer_status", lambda cut: fields)
    if verdict is not None and verdict["answer_status"] != "Unsure":
        return _Judged(verdict["answer_status"], _reason(verdict))
    invalid = int(verdict is None)
    if "parse_answer_status" not in evaluator.functions:
        return _Judged("Unsure", _reason(verdict), invalid)
    again = yield Question(
        "parse_answer_status", lambda cut: {"query": solution.query, "answer": answer_json(solution, cut)}
    )
    if again is None:
        return _Judged("Unsure", _reason(verdict), invalid + 1)
    return _Judged(again["answer_status"], _reason(again), invalid)


def _solving(solution: Solution) -> Question:
    fields = {"query": solution.query, "final_answer": solution.final_answer}
    return Question("check_solve_query", lambda cut: fields)


def _solved(verdict: Verdict) -> _Judged:
    if verdict is None:
        return _Judged("Unsure", "", 1)
    return _Judged("Solved" if verdict["is_solved"] else "Unsolved", _reason(verdict))


def _task_status(
    evaluator: Evaluator, solution: Solution
) -> Generator[Question, Verdict, tuple[TaskStatus, str, int]]:
    """Whether the task can be solved. An evaluator that cannot be asked takes it for solvable."""
    if "check_task_solvable" not in evaluator.functions:
        return "Solvable", "Not asked", 0
    verdict = yield Question(
        "check_task_solvable", lambda cut: {"task": task_json(solution, cut)}, is_of_task=True
    )
    if verdict is None:
        return "Unsure", "", 1
    return verdict["task_status"], _reason(verdict), 0


Pair: TypeAlias = tuple[Solution | None, Solution | None]


def vote_on_pair(
    evaluator: Evaluator,
    pair: Pair,
    passes: tuple[bool, bool] | None,
    statuses: tuple[AnswerStatus, AnswerStatus] | None,
    orders: Sequence[tuple[Side, Side]],
    truths: tuple[bool | None, bool | None] = (None, None),
) -> Generator[Question, Verdict, PreferenceVote]:
    """A vote on which of two answers is better, shown in each of the orders.

    Where it is known that one of them `passes` and the other does not, that one wins; where one is missing,
    the other.
    """
    reference, candidate = pair
    if reference is None or candidate is None:
        present = [side for side in SIDES if pair[side] is not None]
        return PreferenceVote(present[0] if present else None, "absent")
    if passes is not None and passes[0] != passes[1]:
        return PreferenceVote(cast(Side, passes.index(True)), "gate")
    if _is_same(reference, candidate):
        return PreferenceVote(None, "identical")
    if evaluator.kind == "rule":
        standings = [
            _standing(evaluator, solution, truth)
            for solution, truth in zip((reference, candidate), truths, strict=True)
        ]
        winner = None if standings[0] == standings[1] else cast(Side, standings.index(max(standings)))
        return PreferenceVote(winner, "score", reason=RULES[evaluator.name])
    way = _WAYS[evaluator.kind]
    vote: PreferenceVote = yield from way(evaluator, (reference, candidate), statuses, orders)
    return vote


def _standing(evaluator: Evaluator, solution: Solution, truth: bool | None) -> float:
    """How good an answer is by a rule; 0 if it fails, or where nothing is known."""
    if evaluator.name == "truth":
        return float(bool(truth))
    return float(keyword_pass(solution)) if evaluator.name == "keyword" else detail_score(solution)


Both: TypeAlias = tuple[Solution, Solution]
Statuses: TypeAlias = tuple[AnswerStatus, AnswerStatus] | None


def _by_status(
    evaluator: Evaluator, pair: Both, statuses: Statuses, orders: Sequence[tuple[Side, Side]]
) -> Generator[Question, Verdict, PreferenceVote]:
    """One that alone solved the query wins, else one that alone may have; the others are compared."""
    invalid = 0
    if statuses is None:
        judged = []
        for solution in pair:
            judged.append((yield from _status(evaluator, solution)))
        statuses = judged[0].status, judged[1].status
        invalid = judged[0].invalid + judged[1].invalid
    for status in _HOPEFUL:
        if statuses.count(status) == 1:
            winner = cast(Side, statuses.index(status))
            return PreferenceVote(winner, "status", reason=f"it alone is {status}", invalid=invalid)
        if status in statuses:
            break

    def fields(pair_shown: Both, cut: Cut) -> Mapping[str, str]:
        answers = [answer_json(answer, cut, MOST_FINAL) for answer in pair_shown]
        return {"query": pair[0].query, "answer_0": answers[0], "answer_1": answers[1]}

    vote = yield from _compare(evaluator, "select_better_answer", "index", pair, fields, orders)
    return vote._replace(invalid=vote.invalid + invalid)


def _by_steps(
    evaluator: Evaluator, pair: Both, statuses: Statuses, orders: Sequence[tuple[Side, Side]]
) -> Generator[Question, Verdict, PreferenceVote]:
    """A final answer wins over none, a solution over none, fewer steps over more, details over none."""
    has_answer = [bool(solution.final_answer) for solution in pair]
    if has_answer[0] != has_answer[1]:
        return PreferenceVote(cast(Side, has_answer.index(True)), "status", reason="it alone has an answer")
    invalid = 0
    if all(has_answer):
        solved = []
        for solution in pair:
            verdict = yield _solving(solution)
            invalid += int(verdict is None)
            solved.append(_solved(verdict).status == "Solved")
        if solved[0] != solved[1]:
            winner = cast(Side, solved.index(True))
            return PreferenceVote(winner, "status", reason="it alone is Solved", invalid=invalid)
        if all(solved):
            vote = yield from _fewest_steps(evaluator, pair, orders)
            return vote._replace(invalid=vote.invalid + invalid)
    vote = yield from _details(pair)
    return vote._replace(invalid=vote.invalid + invalid)


def _fewest_steps(
    evaluator: Evaluator, pair: Both, orders: Sequence[tuple[Side, Side]]
) -> Generator[Question, Verdict, PreferenceVote]:
    steps = [solution.total_steps for solution in pair]
    if steps[0] != steps[1]:
        return PreferenceVote(cast(Side, steps.index(min(steps))), "score", reason="it has fewer steps")
    if pair[0].final_answer == pair[1].final_answer:
        return PreferenceVote(None, "identical")

    def fields(pair_shown: Both, cut: Cut) -> Mapping[str, str]:
        answers = [answer.final_answer for answer in pair_shown]
        return {"query": pair[0].query, "final_answers": json.dumps(answers, ensure_ascii=False)}

    return (
        yield from _compare(evaluator, "select_best_final_answer", "best_answer_index", pair, fields, orders)
    )


def _details(pair: Both) -> Generator[Question, Verdict, PreferenceVote]:
    scores: list[float] = []
    invalid = 0
    for solution in pair:
        verdict = yield _parsing(solution)
        invalid += int(verdict is None)
        details = verdict or {"succeed_tool_calling": 0, "used_tool_types": 0}
        succeeded, used = details["succeed_tool_calling"], details["used_tool_types"]
        scores.append(score_of(succeeded, used, solution.total_steps))
    winner = None if scores[0] == scores[1] else cast(Side, scores.index(max(scores)))
    reason = f"details score {scores[0]:.4f} and {scores[1]:.4f}"
    return PreferenceVote(winner, "score", reason=reason, invalid=invalid)


def _parsing(solution: Solution) -> Question:
    return Question("parse_answer_details", lambda cut: {"answer_details": details_json(solution, cut)})


def _in_chat(
    evaluator: Evaluator, pair: Both, statuses: Statuses, orders: Sequence[tuple[Side, Side]]
) -> Generator[Question, Verdict, PreferenceVote]:
    """The rules are given in words, and one question is asked."""

    def fields(pair_shown: Both, cut: Cut) -> Mapping[str, str]:
        answers = [answer_json(answer, cut, MOST_FINAL) for answer in pair_shown]
        return {"task_description": names_json(pair[0], cut), "answers": f"[{', '.join(answers)}]"}

    return (yield from _compare(evaluator, "choose_preference", "preference", pair, fields, orders))


Way: TypeAlias = Callable[
    [Evaluator, Both, Statuses, Sequence[tuple[Side, Side]]], Generator[Question, Verdict, PreferenceVote]
]
_WAYS: Mapping[str, Way] = {"status": _by_status, "normalized": _by_steps, "chat": _in_chat}


def _compare(
    evaluator: Evaluator,
    function: str,
    name: str,
    pair: Both,
    fields: Callable[[Both, Cut], Mapping[str, str]],
    orders: Sequence[tuple[Side, Side]],
) -> Generator[Question, Verdict, PreferenceVote]:
    """Ask once in each order. An answer wins that wins in every order."""
    evaluator.function(function)
    won: list[Side | None] = []
    reasons = []
    for order in orders:
        verdict = yield _which(function, name, (pair[order[0]], pair[order[1]]), fields)
        won.append(None if verdict is None else order[int(verdict[name])])
        reasons.append(_reason(verdict))
    winner = won[0] if len(set(won)) == 1 else None
    reason = " / ".join(filter(None, reasons))
    return PreferenceVote(winner, "compared", tuple(won), reason, sum(side is None for side in won))


def _which(
    function: str, name: str, pair_shown: Both, fields: Callable[[Both, Cut], Mapping[str, str]]
) -> Question:
    return Question(function, lambda cut: fields(pair_shown, cut), values={name: (0, 1)})


def _is_same(one: Solution, other: Solution) -> bool:
    """Whether there is nothing to compare."""
    same = one.final_answer == other.final_answer
    return same and details_json(one, _WHOLE) == details_json(other, _WHOLE)


_WHOLE = Cut(WHOLE, WHOLE, WHOLE)


def _reason(verdict: Verdict) -> str:
    return str((verdict or {}).get(REASON, ""))
