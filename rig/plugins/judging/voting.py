"""How a vote is made: which questions a judge is asked, one after another, and what follows from the
verdicts; also how votes are counted, for each answer and for each pair of answers.

Source: the three evaluators of upstream's ToolEval. A vote is a generator of questions. It receives verdicts,
None for an invalid one. Where upstream draws lots, answers are equal here. docs/how-to/tooleval.md lists the
fixes to upstream's.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from statistics import fmean, pvariance
from typing import Literal, NamedTuple, TypeAlias, TypeVar, cast, get_args

from rig.core.calls import JsonObject
from rig.core.metrics import TASKS, Counts, Declaration, Metric, NamedCount, Part, Score
from rig.core.tasks import PlayedTurn
from rig.plugins.judging.evaluators import RULES, Evaluator
from rig.plugins.judging.questions import REASON, Cut, Question, answer_json, details_json, task_json
from rig.plugins.solutions.judgements import AnswerStatus, Judgement, TaskStatus, Vote, tally
from rig.plugins.solutions.rules import VoteRules
from rig.plugins.solutions.solution import (
    Solution,
    detail_score,
    keyword_pass,
    readable,
    score_of,
    without_judge,
)

MOST_FINAL = 1000
"""Characters of a final answer that are compared with another one."""

Side: TypeAlias = Literal[0, 1]
SIDES: tuple[Side, Side] = (0, 1)
"""The reference, or the candidate."""

SIDE_ORDERS: tuple[tuple[Side, Side], tuple[Side, Side]] = ((0, 1), (1, 0))
"""Both orders in which two answers can be shown."""

_HOPEFUL: tuple[AnswerStatus, ...] = ("Solved", "Unsure")


class StatusVote(NamedTuple):
    """A vote on one answer, with the reasons for both statuses, and the number of invalid verdicts."""

    vote: Vote
    reasons: tuple[str, str] = ("", "")
    invalid: int = 0


class PreferenceVote(NamedTuple):
    """A vote on two answers. `winner` is None for a tie, and `how` says what decided.

    `orders` has the winner in each order; it is empty if nothing had to be compared.
    """

    winner: Side | None
    how: Literal["gate", "absent", "status", "identical", "score", "compared"]
    orders: tuple[Side | None, ...] = ()
    reason: str = ""
    invalid: int = 0

    @property
    def is_flip(self) -> bool:
        """Whether the winner changed with the order."""
        return len(set(self.orders)) > 1

    @property
    def share(self) -> float:
        """How much of the vote is for the candidate: half of a tie."""
        return 0.5 if self.winner is None else float(self.winner)

    @property
    def is_compared(self) -> bool:
        """Whether each of several orders gave a winner."""
        return len(self.orders) > 1 and None not in self.orders


Verdict: TypeAlias = JsonObject | None
Result = TypeVar("Result")
Voting: TypeAlias = Generator[Question, Verdict, Result]
"""A vote under way: it asks questions, and is sent their verdicts."""


def vote_on_answer(
    evaluator: Evaluator, solution: Solution | None, truth: bool | None = None
) -> Voting[StatusVote]:
    """Vote on whether an answer solves its query. None, or an answer without an end, does not go to a judge.

    `truth` is what is known about the answer, for evaluators that are rules.
    """
    if solution is not None and evaluator.kind == "rule":
        status: AnswerStatus = "Solved" if _standing(evaluator, solution, truth) > 0 else "Unsolved"
        return StatusVote(Vote(status), (RULES[evaluator.name], "Not asked"))
    if solution is None or not solution.is_finished:
        return StatusVote(Vote("Unsolved", is_certain=True), ("No answer", "Not asked"))
    status, reason, invalid = yield from _status(evaluator, solution)
    if status == "Solved":
        return StatusVote(Vote(status), (reason, "Task has been solved before."), invalid)
    # An evaluator without this function takes every task to be solvable.
    if "check_task_solvable" not in evaluator.functions:
        return StatusVote(Vote(status), (reason, "Not asked"), invalid)
    verdict = yield Question(
        "check_task_solvable", lambda cut: {"task": task_json(solution, cut)}, is_of_task=True
    )
    task: TaskStatus = "Unsure" if verdict is None else verdict["task_status"]
    return StatusVote(Vote(status, task), (reason, _reason(verdict)), invalid + int(verdict is None))


class _Judged(NamedTuple):
    status: AnswerStatus
    reason: str
    invalid: int = 0


def _status(evaluator: Evaluator, solution: Solution) -> Voting[_Judged]:
    if solution.final != "answer":
        return _Judged("Unsolved", "Empty final answer!")
    if evaluator.kind == "normalized":
        return (yield from _solved(solution))
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


def _solved(solution: Solution) -> Voting[_Judged]:
    fields = {"query": solution.query, "final_answer": solution.final_answer}
    verdict = yield Question("check_solve_query", lambda cut: fields)
    if verdict is None:
        return _Judged("Unsure", "", 1)
    return _Judged("Solved" if verdict["is_solved"] else "Unsolved", _reason(verdict))


Order: TypeAlias = tuple[Side, Side]


def vote_on_pair(
    evaluator: Evaluator,
    pair: tuple[Solution | None, Solution | None],
    passes: tuple[bool, bool] | None,
    statuses: tuple[AnswerStatus, AnswerStatus] | None,
    orders: Sequence[Order],
    truths: tuple[bool | None, bool | None] = (None, None),
) -> Voting[PreferenceVote]:
    """Vote on which of two answers is better, shown in each of the orders.

    If only one of them `passes`, it wins; if one is missing, the other wins.
    """
    reference, candidate = pair
    if reference is None or candidate is None:
        present = [side for side in SIDES if pair[side] is not None]
        return PreferenceVote(present[0] if present else None, "absent")
    if passes is not None and passes[0] != passes[1]:
        return PreferenceVote(cast(Side, passes.index(True)), "gate")
    is_same = reference.final_answer == candidate.final_answer
    if is_same and details_json(reference, Cut()) == details_json(candidate, Cut()):
        return PreferenceVote(None, "identical")
    both = reference, candidate
    if evaluator.kind == "rule":
        winner = _higher([_standing(evaluator, *side) for side in zip(both, truths, strict=True)])
        return PreferenceVote(winner, "score", reason=RULES[evaluator.name])
    comparison = _Contest(evaluator, both, statuses, orders)
    if evaluator.kind == "status":
        return (yield from comparison.by_status())
    return (yield from comparison.by_steps() if evaluator.kind == "normalized" else comparison.in_chat())


def _standing(evaluator: Evaluator, solution: Solution, truth: bool | None) -> float:
    """Return how good an answer is by a rule; 0 if it fails, or nothing is known."""
    if evaluator.name == "truth":
        return float(bool(truth))
    return float(keyword_pass(solution)) if evaluator.name == "keyword" else detail_score(solution)


def _higher(scores: Sequence[float]) -> Side | None:
    return None if scores[0] == scores[1] else cast(Side, scores.index(max(scores)))


class _Contest(NamedTuple):
    """Two answers that have to be compared, in each of the orders; `statuses` if they are known."""

    evaluator: Evaluator
    pair: tuple[Solution, Solution]
    statuses: tuple[AnswerStatus, AnswerStatus] | None
    orders: Sequence[Order]

    def by_status(self) -> Voting[PreferenceVote]:
        """Let the only solved answer win, or else the only unsure one, and compare the others."""
        invalid, statuses = 0, self.statuses
        if statuses is None:
            judged = []
            for solution in self.pair:
                judged.append((yield from _status(self.evaluator, solution)))
            statuses = judged[0].status, judged[1].status
            invalid = judged[0].invalid + judged[1].invalid
        for status in _HOPEFUL:
            if statuses.count(status) == 1:
                winner = cast(Side, statuses.index(status))
                return PreferenceVote(winner, "status", reason=f"it alone is {status}", invalid=invalid)
            if status in statuses:
                break

        def fields(answers: Sequence[Solution], cut: Cut) -> Mapping[str, str]:
            first, second = (answer_json(answer, cut, MOST_FINAL) for answer in answers)
            return {"query": self.pair[0].query, "answer_0": first, "answer_1": second}

        vote = yield from self._asked("select_better_answer", "index", fields)
        return vote._replace(invalid=vote.invalid + invalid)

    def by_steps(self) -> Voting[PreferenceVote]:
        """Prefer a final answer to none, solved to unsolved, fewer steps to more, then the better details."""
        has_answer = [bool(solution.final_answer) for solution in self.pair]
        if (winner := _higher(has_answer)) is not None:
            return PreferenceVote(winner, "status", reason="it alone has an answer")
        invalid = 0
        solved = []
        for solution in self.pair if all(has_answer) else ():
            judged = yield from _solved(solution)
            invalid += judged.invalid
            solved.append(judged.status == "Solved")
        if solved and (winner := _higher(solved)) is not None:
            return PreferenceVote(winner, "status", reason="it alone is Solved", invalid=invalid)
        vote = yield from self._fewest_steps() if any(solved) else self._details()
        return vote._replace(invalid=vote.invalid + invalid)

    def _fewest_steps(self) -> Voting[PreferenceVote]:
        pair = self.pair
        winner = _higher([-solution.total_steps for solution in pair])
        if winner is not None:
            return PreferenceVote(winner, "score", reason="it has fewer steps")
        if pair[0].final_answer == pair[1].final_answer:
            return PreferenceVote(None, "identical")

        def fields(answers: Sequence[Solution], cut: Cut) -> Mapping[str, str]:
            finals = readable([answer.final_answer for answer in answers])
            return {"query": pair[0].query, "final_answers": finals}

        return (yield from self._asked("select_best_final_answer", "best_answer_index", fields))

    def _details(self) -> Voting[PreferenceVote]:
        scores: list[float] = []
        invalid = 0
        for solution in self.pair:
            verdict = yield Question("parse_answer_details", partial(_details_of, solution))
            invalid += int(verdict is None)
            details = verdict or {"succeed_tool_calling": 0, "used_tool_types": 0}
            succeeded, used = details["succeed_tool_calling"], details["used_tool_types"]
            scores.append(score_of(succeeded, used, solution.total_steps))
        reason = f"details score {scores[0]:.4f} and {scores[1]:.4f}"
        return PreferenceVote(_higher(scores), "score", reason=reason, invalid=invalid)

    def in_chat(self) -> Voting[PreferenceVote]:
        """Ask one question that states the rules in words."""

        def fields(answers: Sequence[Solution], cut: Cut) -> Mapping[str, str]:
            texts = ", ".join(answer_json(answer, cut, MOST_FINAL) for answer in answers)
            query, names = self.pair[0].query, list(self.pair[0].tool_names)
            told = readable({"query": query, "available_tools": names})
            return {"task_description": told, "answers": f"[{texts}]"}

        return (yield from self._asked("choose_preference", "preference", fields))

    def _asked(
        self, function: str, name: str, fields: Callable[[Sequence[Solution], Cut], Mapping[str, str]]
    ) -> Voting[PreferenceVote]:
        """Ask once in each order. An answer has to win in every order."""
        self.evaluator.function(function)
        won: list[Side | None] = []
        reasons = []
        for order in self.orders:
            ask = partial(fields, [self.pair[side] for side in order])
            verdict = yield Question(function, ask, values={name: (0, 1)})
            won.append(None if verdict is None else order[int(verdict[name])])
            reasons.append(_reason(verdict))
        winner = won[0] if len(set(won)) == 1 else None
        reason = " / ".join(filter(None, reasons))
        return PreferenceVote(winner, "compared", tuple(won), reason, sum(side is None for side in won))


def _details_of(solution: Solution, cut: Cut) -> Mapping[str, str]:
    return {"answer_details": details_json(solution, cut)}


def _reason(verdict: Verdict) -> str:
    return str((verdict or {}).get(REASON, ""))


VERSION = "1"
"""The version of the scores, raised when one can change."""

_STATUSES: tuple[AnswerStatus, ...] = get_args(AnswerStatus)
_TASK_STATUSES: tuple[TaskStatus, ...] = get_args(TaskStatus)

_OF_JUDGE = (
    Metric("invalid_rate", "invalid verdicts", "invalid", "asked", "lower", place="tables"),
    Metric("cut_rate", "cut to fit", "cut", better="lower", place="tables"),
)
_QUESTIONS = (NamedCount("asked", "questions"),)
_VOTES_FOR = Part("votes_for", "votes for it", "votes", short="votes")
_INVALID = Part("invalid", "invalid verdicts", short="invalid", better="lower")

PASSES = Declaration(
    method="judge-pass",
    metrics=(
        Metric("pass_rate", "pass rate", "passes"),
        Metric("true_pass_rate", "true pass rate", "true_passes", "known", place="meters"),
        Metric("judged_right", "judged right", "right", "known", place="tables"),
        Metric("sopr", "solvable pass rate", "sopr", label="SoPR", place="meters"),
        Metric("solved", "votes for solved", "votes_solved", "votes", place="tables"),
        Metric("unsure", "votes that are unsure", "votes_unsure", "votes", place="tables"),
        Metric("unsolved", "votes for unsolved", "votes_unsolved", "votes", "lower", place="tables"),
        Metric("passed_unsolvable", "passed as unsolvable", "passes_unsolvable", place="tables"),
        Metric("variance", "vote variance", "variance", TASKS, "lower", "number", place="tables"),
        Metric("answered", "answered", "finished", place="tables"),
        Metric("keyword_pass_rate", "keyword pass rate", "keyword_passes", place="tables"),
        Metric("detail_score", "detail score", "detail_score", "answered", format="number", place="tables"),
        Metric("invented_rate", "invented tool names", "invented", better="lower", place="tables"),
        *_OF_JUDGE,
    ),
    success="passes",
    counts=_QUESTIONS,
    outcome=(_VOTES_FOR, _INVALID),
)

WINS = Declaration(
    method="judge-win",
    metrics=(
        Metric("win_rate", "win rate", "wins"),
        Metric("tie_rate", "ties", "ties", place="meters"),
        Metric("loss_rate", "losses", "losses", better="lower", place="meters"),
        Metric("win_half", "wins and half the ties", "wins_and_half", label="win + tie/2"),
        Metric("position_bias", "flips with the order", "flips", "compared", "lower", place="meters"),
        Metric("first_rate", "first shown wins", "first_wins", "shown", "lower", place="tables"),
        Metric("variance", "vote variance", "variance", TASKS, "lower", "number", place="tables"),
        Metric("gated", "decided by who passes", "gated", "votes", place="tables"),
        *_OF_JUDGE,
    ),
    success="wins",
    counts=_QUESTIONS,
    outcome=(_VOTES_FOR, Part("flips", "flips", better="lower"), _INVALID),
)


def pass_score(
    task: Judgement, model: str, votes: Sequence[StatusVote], turns: Sequence[PlayedTurn], rules: VoteRules
) -> Score:
    """Return the score of the votes on one answer. A query without an answer has failed."""
    solution, truth = task.answers.get(model), task.truths.get(model)
    counted: Counts = {}
    if solution is not None:
        tallied = tally([vote.vote for vote in votes], rules, f"{model}/{task.query_id}")
        last = votes[-1].vote
        is_unsolvable = last.task == "Unsolvable" and last.answer != "Solved"
        statuses = [vote.vote.answer for vote in votes]
        counted = {
            "passes": int(tallied.passes),
            "votes_for": tallied.passed,
            "sopr": tallied.sopr,
            "variance": tallied.variance,
            "passes_unsolvable": int(tallied.passes and is_unsolvable),
            **{f"votes_{status.lower()}": statuses.count(status) for status in _STATUSES},
            **{f"task_{status.lower()}": int(last.task == status) for status in _TASK_STATUSES},
        }
    passes = counted.get("passes", 0)
    counts: Counts = {
        "votes": len(votes),
        **counted,
        **without_judge(solution),
        "known": int(truth is not None),
        "true_passes": int(bool(truth)),
        "right": int(truth is not None and bool(passes) == truth),
        "invalid": sum(vote.invalid for vote in votes),
        **asked(turns),
    }
    return Score(counts)


def win_score(votes: Sequence[PreferenceVote], turns: Sequence[PlayedTurn]) -> Score:
    """Return the score of the votes on a pair, from the candidate's side."""
    shares = [vote.share for vote in votes]
    share = fmean(shares)
    compared = [vote for vote in votes if vote.is_compared]
    firsts = [int(side == number) for vote in compared for number, side in enumerate(vote.orders)]
    counts: Counts = {
        "votes": len(votes),
        "votes_for": sum(shares),
        "wins": int(share > 0.5),
        "ties": int(share == 0.5),
        "losses": int(share < 0.5),
        "wins_and_half": float(share > 0.5) + float(share == 0.5) / 2,
        "compared": len(compared),
        "flips": sum(vote.is_flip for vote in compared),
        "shown": len(firsts),
        "first_wins": sum(firsts),
        "variance": pvariance(shares),
        "gated": sum(vote.how == "gate" for vote in votes),
        "invalid": sum(vote.invalid for vote in votes),
        **asked(turns),
    }
    return Score(counts)


def asked(turns: Sequence[PlayedTurn]) -> dict[str, float]:
    """Return how many questions were put to the judge, and whether any of them was cut."""
    steps = [step for turn in turns for step in turn.steps]
    notes = [step.executed.response or {} for step in steps if step.executed is not None]
    return {
        "asked": len(steps) - sum("asked" in note for note in notes),
        "cut": int(any("cut" in note for note in notes)),
    }
