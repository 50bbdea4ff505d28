"""The votes of stored judging runs: read again, their rates, and upstream's result files of them.

Rates are the pass rate, the solvable pass rate and the win rate, with intervals over queries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, NamedTuple, cast

import numpy as np

from rig.calls import ByName, JsonObject
from rig.errors import RigError
from rig.judging.method import JudgeSettings, JudgingSetup
from rig.methods import paper
from rig.methods.paper import Results
from rig.rates import Estimate, Vector, interval, mean_interval
from rig.rescore import settings_of, setup_of
from rig.solutions.judgements import (
    Compared,
    Judged,
    Judgement,
    Preference,
    RecordedPasses,
    VoteRules,
    sopr,
    tally,
)
from rig.store import Runs, StoredRun


class TaskVotes(NamedTuple):
    """The votes on one judgement: `model` is whose answer was judged, `settings` how."""

    model: str
    task: Judgement
    settings: JudgeSettings
    votes: Sequence[Any]
    """Each a `StatusVote`, or a `PreferenceVote` where there is a reference."""


def read_votes(store: Path, run: StoredRun) -> tuple[VoteRules, list[TaskVotes]]:
    """The votes of the finished judgements of a run. Raises RigError for a run of another kind."""
    setup = setup_of(run)
    if not isinstance(setup, JudgingSetup):
        raise RigError(
            f"run {run.id} is of the method {run.declaration.method}; it holds no votes of a judge"
        )
    settings = cast(tuple[JudgeSettings, ...], settings_of(run))
    votes_of_run = []
    with Runs.open(store) as runs:
        for where, transcript in runs.finished(run):
            task, arm = cast(Judgement, transcript.conversation), settings[where.arm]
            votes = setup.votes(task, tuple(transcript.turns.values()), arm)
            votes_of_run.append(TaskVotes(arm.answers, task, arm, votes))
    return setup.rules, votes_of_run


def write_results(store: Path, run: StoredRun, directory: Path, *, raw: bool = False) -> list[Path]:
    """Write upstream's files, of pass rates or preferences, all or none (`rig.methods.paper`)."""
    rules, votes_of_run = read_votes(store, run)
    rows: list[Any] = []
    for model, task, settings, votes in votes_of_run:
        solution, reference = task.answers[model], settings.reference
        if reference:
            won = [vote.winner for vote in votes]
            counts = Preference(won.count(0), won.count(1), won.count(None), len(won))
            pair = task.answers[reference], solution
            rows.append(Compared(task.suite, reference, model, task.own_id, pair, counts))
        elif solution is not None:
            cast_votes = tuple(vote.vote for vote in votes)
            tallied = tally(cast_votes, rules, f"{model}/{task.query_id}")
            of_answer = task.suite, model, task.own_id, solution, cast_votes, tallied, votes[-1].reasons
            rows.append(Judged(*of_answer))
    return paper.toolbench().write_results(rows, directory, raw=raw)


ALPHA = 0.05


@dataclass(frozen=True)
class PassRates(ByName):
    """What votes say of one model's answers to `queries`; the pass rate by how the last votes saw the task.

    `sopr` is StableToolBench's: the mean over rounds of votes, `sopr_std` its deviation from round to round.
    """

    model: str
    queries: int
    pass_rate: Estimate
    sopr: float | None
    sopr_std: float | None
    by_task: Mapping[str, tuple[int, int]]
    variance: float | None
    true_pass_rate: Estimate | None = None

    def as_json(self) -> JsonObject:
        """All of it by name."""
        by_task = {name: {"passes": of[0], "queries": of[1]} for name, of in self.by_task.items()}
        return ByName.as_json(self) | {"by_task": by_task}


@dataclass(frozen=True)
class WinRates(ByName):
    """What votes say of one model's answers against those of a reference."""

    model: str
    reference: str
    queries: int
    win: Estimate
    tie: Estimate
    lose: Estimate
    win_half: Estimate
    position_bias: Estimate


def by_model(votes: Sequence[TaskVotes]) -> dict[str, list[TaskVotes]]:
    """The votes on each model's answers."""
    rows: dict[str, list[TaskVotes]] = {}
    for vote in votes:
        rows.setdefault(vote.model, []).append(vote)
    return rows


def pass_rates(votes: Sequence[TaskVotes], rules: VoteRules) -> list[PassRates]:
    """The rates of every model, by these rules. A query without an answer has failed."""
    return [_pass_rates(model, rows, rules) for model, rows in by_model(votes).items()]


def _pass_rates(model: str, rows: Sequence[TaskVotes], rules: VoteRules) -> PassRates:
    passes: list[float] = []
    variances = []
    by_task: dict[str, tuple[int, int]] = {}
    for row in rows:
        cast_votes = [vote.vote for vote in row.votes]
        tallied = tally(cast_votes, rules, f"{model}/{row.task.query_id}")
        is_there = row.task.answers.get(model) is not None
        passes.append(float(tallied.passes and is_there))
        variances.append(tallied.variance)
        part, whole = by_task.get(cast_votes[-1].task, (0, 0))
        by_task[cast_votes[-1].task] = (part + int(passes[-1]), whole + 1)
    # The solvable pass rate of each round of votes.
    count = min((len(row.votes) for row in rows), default=0)
    rounds = [fmean(sopr([row.votes[number].vote]) for row in rows) for number in range(count)]
    truths = [float(row.task.truths[model]) for row in rows if model in row.task.truths]
    return PassRates(
        model,
        len(rows),
        share(passes),
        fmean(rounds) if rounds else None,
        pstdev(rounds) if rounds else None,
        by_task,
        fmean(variances) if variances else None,
        share(truths) if truths else None,
    )


def rates_of(results: Results) -> PassRates | WinRates:
    """The rates of a file of results of upstream's."""
    if isinstance(results.votes, RecordedPasses):
        passes, rounds = [float(vote) for vote in results.votes.passes.values()], results.votes.sopr
        deviation = pstdev(rounds) if rounds else None
        mean = fmean(rounds) if rounds else None
        return PassRates(results.models[0], len(passes), share(passes), mean, deviation, {}, None)
    shares = [{1: 0.0, 2: 1.0, 3: 0.5}[vote.label] for vote in results.votes.values()]
    return _of_shares(results.models[1], results.models[0], shares, Estimate(None, None, None))


def win_rates(votes: Sequence[TaskVotes]) -> list[WinRates]:
    """The rates of every candidate."""
    rates = []
    for model, rows in by_model(votes).items():
        shares = [fmean(vote.share for vote in row.votes) for row in rows]
        compared = [[vote for vote in row.votes if vote.is_compared] for row in rows]
        flips = [sum(vote.is_flip for vote in of_row) for of_row in compared]
        bias = interval(np.array(flips), np.array([len(of_row) for of_row in compared]), ALPHA)
        rates.append(_of_shares(model, rows[0].settings.reference, shares, bias))
    return rates


def _of_shares(model: str, reference: str, shares: Sequence[float], bias: Estimate) -> WinRates:
    halves = np.array([float(share > 0.5) + 0.5 * float(share == 0.5) for share in shares])
    win_half = mean_interval(halves, np.ones(len(halves)), ALPHA)
    if win_half.low is not None and win_half.high is not None:
        # A mean of halves is not a share, but within 0 and 1.
        win_half = Estimate(win_half.value, max(win_half.low, 0.0), min(win_half.high, 1.0))
    ahead = np.sign(np.array(shares) - 0.5)
    win, tie, lose = (share((ahead == sign).astype(float)) for sign in (1, 0, -1))
    return WinRates(model, reference, len(shares), win, tie, lose, win_half, bias)


def share(values: Sequence[float] | Vector) -> Estimate:
    """A share of queries with its interval."""
    return interval(np.array(values, dtype=float), np.ones(len(values)), ALPHA)
