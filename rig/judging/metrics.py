"""How a judge's votes are counted: for each answer, and for each pair of answers."""

from collections.abc import Sequence
from statistics import fmean, pvariance
from typing import get_args

from rig.judging.voting import PreferenceVote, StatusVote
from rig.metrics import TASKS, Counts, Declaration, Metric, NamedCount, Part, Score
from rig.solutions.decisions import AnswerStatus, TaskStatus, VoteRules, tally
from rig.solutions.judgements import Judgement
from rig.solutions.solution import without_judge
from rig.tasks import PlayedTurn

VERSION = "2"
"""Of the scores; to be raised with any change that can change one. Since 2, only an answer is answered."""

_STATUSES: tuple[AnswerStatus, ...] = get_args(AnswerStatus)
_TASK_STATUSES: tuple[TaskStatus, ...] = get_args(TaskStatus)

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
        Metric("invalid_rate", "verdicts that are none", "invalid", "asked", "lower", place="tables"),
        Metric("cut_rate", "cut to fit", "cut", better="lower", place="tables"),
    ),
    success="passes",
    counts=(NamedCount("asked", "questions"),),
    outcome=(
        Part("votes_for", "votes for it", "votes", short="votes"),
        Part("invalid", "verdicts that are none", short="none", better="lower"),
    ),
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
        Metric("invalid_rate", "verdicts that are none", "invalid", "asked", "lower", place="tables"),
        Metric("cut_rate", "cut to fit", "cut", better="lower", place="tables"),
    ),
    success="wins",
    counts=(NamedCount("asked", "questions"),),
    outcome=(
        Part("votes_for", "votes for it", "votes", short="votes"),
        Part("flips", "flips", better="lower"),
        Part("invalid", "verdicts that are none", short="none", better="lower"),
    ),
)


def pass_score(
    task: Judgement, model: str, votes: Sequence[StatusVote], turns: Sequence[PlayedTurn], rules: VoteRules
) -> Score:
    """What votes on one answer are counted as. A query without an answer has failed."""
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
    """What votes on a pair are counted as, seen from the candidate."""
    shares = [vote.share for vote in votes]
    share = fmean(shares)
    compared = [vote for vote in votes if vote.is_compared]
    sides = [side for vote in compared for side in vote.orders]
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
        "shown": len(sides),
        "first_wins": sum(firsts),
        "variance": pvariance(shares),
        "gated": sum(vote.how == "gate" for vote in votes),
        "invalid": sum(vote.invalid for vote in votes),
        **asked(turns),
    }
    return Score(counts)


def asked(turns: Sequence[PlayedTurn]) -> dict[str, float]:
    """How many questions were put to the judge, and whether any of them had to be cut."""
    steps = [step for turn in turns for step in turn.steps]
    notes = [step.executed.response or {} for step in steps if step.executed is not None]
    return {
        "asked": len(steps) - sum("asked" in note for note in notes),
        "cut": int(any("cut" in note for note in notes)),
    }
