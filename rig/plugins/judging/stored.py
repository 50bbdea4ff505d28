"""Stored runs as judges read them: finished tasks as solutions; votes, their rates and files of results.

Rates are the pass rate, the solvable pass rate and the win rate, with intervals over queries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, NamedTuple, cast

import numpy as np

from rig import methods
from rig.core.calls import ByName, JsonObject
from rig.core.errors import RigError
from rig.plugins.judging import toolbench_paper
from rig.plugins.judging.method import JudgeSettings, JudgingSetup
from rig.plugins.rescore.setups import setup_of
from rig.plugins.solutions import judgements
from rig.plugins.solutions.judgements import Judgement, Results, Vote
from rig.plugins.solutions.rules import VoteRules
from rig.plugins.solutions.setup import SolutionSetup
from rig.plugins.solutions.solution import Finished, Solution, solution_of, tree_of
from rig.running.stored_settings import settings_of
from rig.stats import Estimate, Vector, interval, mean_interval
from rig.store import Runs, StoredRun


def finished(store: Path, text: str) -> tuple[StoredRun, list[Finished]]:
    """Return a run and its finished tasks. Raises RigError if there are none."""
    with Runs.open(store) as runs:
        run = runs.get(text)
        method, setup, settings_by_arm = methods.get(run.declaration.method), setup_of(run), settings_of(run)
        role, tasks = method.roles[0], []
        for where, transcript in runs.transcripts(run):
            task, turns = transcript.conversation, tuple(transcript.turns.values())
            settings, name = settings_by_arm[where.arm], run.arms[where.arm].name
            tools = method.opening(task, settings, role).tools
            solution: Solution | None
            success: bool | None = None
            more = setup if isinstance(setup, SolutionSetup) else None
            search = more.searched(task, turns, settings) if more else None
            tree = tree_of(turns, role, search)
            if setup.is_recorded:
                solution = more.solution(task, turns, settings) if more else None
                tree = solution.details if solution is not None and tree else ()
            else:
                path = method.path(task, turns, settings)
                way = search.name if search else method.name
                solution = solution_of(task, turns, tools, role, way, path and path.steps)
                success = run.declaration.succeeded(transcript.counts or {})
            label = f"{name} repeat {where.repeat + 1}" if where.repeat else name
            tasks.append(Finished(label, where.conversation, task.suite, solution, success, tree, search))
    if not tasks:
        raise RigError(f"run {run.id} has no finished conversation; `rig run --resume {run.id}` continues it")
    return run, tasks


def judgements_of_run(store: Path, text: str, votes: int) -> list[Judgement]:
    """Return the judgements of a run: its tasks, each with the answers of all arms."""
    run, rows = finished(store, text)
    answers: dict[str, dict[str, Solution | None]] = {}
    truths: dict[str, dict[str, bool]] = {}
    for row in rows:
        answers.setdefault(row.model, {})[row.name] = row.solution
        if row.success is not None and run.declaration.success:
            truths.setdefault(row.model, {})[row.name] = row.success
    suites = {row.name: row.suite for row in rows}
    answered = dict.fromkeys(name for name in run.conversations if name in suites)
    return [
        task
        for name in answered
        for task in judgements.joined(answers, votes, suites[name], truths, ids=[name])
    ]


class TaskVotes(NamedTuple):
    """The votes on one judgement. `model` gave the answer, `settings` say how it was judged."""

    model: str
    task: Judgement
    settings: JudgeSettings
    votes: Sequence[Any]
    """Each is a `StatusVote`, or a `PreferenceVote` if there is a reference."""

    @property
    def on_answer(self) -> tuple[Vote, ...]:
        """The votes on an answer."""
        return tuple(vote.vote for vote in self.votes)

    def tally(self, rules: VoteRules) -> judgements.Tally:
        """Count the votes on an answer by these rules."""
        return judgements.tally(self.on_answer, rules, f"{self.model}/{self.task.query_id}")


def read_votes(store: Path, run: StoredRun) -> tuple[VoteRules, list[TaskVotes]]:
    """Read the votes of a run's finished judgements. Raises RigError for a run of another method."""
    setup = setup_of(run)
    if not isinstance(setup, JudgingSetup):
        method = run.declaration.method
        raise RigError(f"run {run.id} is of the method {method}; it holds no votes of a judge")
    settings = cast(tuple[JudgeSettings, ...], settings_of(run))
    votes_of_run = []
    with Runs.open(store) as runs:
        for where, transcript in runs.transcripts(run):
            task, arm = cast(Judgement, transcript.conversation), settings[where.arm]
            votes = setup.votes(task, tuple(transcript.turns.values()), arm)
            votes_of_run.append(TaskVotes(arm.answers, task, arm, votes))
    return setup.rules, votes_of_run


def write_results(store: Path, run: StoredRun, directory: Path, *, raw: bool = False) -> list[Path]:
    """Write upstream's files of pass rates or preferences, all or none (`rig.plugins.papers.paper`)."""
    rules, votes_of_run = read_votes(store, run)
    rows: list[Any] = []
    for row in votes_of_run:
        model, task, reference = row.model, row.task, row.settings.reference
        solution = task.answers[model]
        if reference:
            won = [vote.winner for vote in row.votes]
            counts = judgements.Preference(won.count(0), won.count(1), won.count(None), len(won))
            pair = task.answers[reference], solution
            rows.append(judgements.Compared(task.suite, reference, model, task.own_id, pair, counts))
        elif solution is not None:
            of_votes = row.on_answer, row.tally(rules), row.votes[-1].reasons
            rows.append(judgements.Judged(task.suite, model, task.own_id, solution, *of_votes))
    return list(toolbench_paper().write_results(rows, directory, raw=raw))


@dataclass(frozen=True)
class PassRates(ByName):
    """The rates of one model's answers to `queries`. `by_task` counts passes and queries by task status.

    The status is that of the last vote. `sopr` is StableToolBench's solvable pass rate: the mean over rounds
    of votes; `sopr_std` is its deviation from round to round.
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
        """Return all fields by name."""
        by_task = {name: {"passes": of[0], "queries": of[1]} for name, of in self.by_task.items()}
        return ByName.as_json(self) | {"by_task": by_task}


@dataclass(frozen=True)
class WinRates(ByName):
    """The rates of one model's answers against those of a reference."""

    model: str
    reference: str
    queries: int
    win: Estimate
    tie: Estimate
    lose: Estimate
    win_half: Estimate
    position_bias: Estimate


def _by_model(votes: Sequence[TaskVotes]) -> dict[str, list[TaskVotes]]:
    rows: dict[str, list[TaskVotes]] = {}
    for vote in votes:
        rows.setdefault(vote.model, []).append(vote)
    return rows


def pass_rates(votes: Sequence[TaskVotes], rules: VoteRules) -> list[PassRates]:
    """Return the rates of every model, by these rules. A query without an answer has failed."""
    rates = []
    for model, rows in _by_model(votes).items():
        tallies = [row.tally(rules) for row in rows]
        passes: list[float] = []
        by_task: dict[str, tuple[int, int]] = {}
        for row, tallied in zip(rows, tallies, strict=True):
            passed = tallied.passes and row.task.answers.get(model) is not None
            passes.append(float(passed))
            part, whole = by_task.get(row.on_answer[-1].task, (0, 0))
            by_task[row.on_answer[-1].task] = (part + int(passed), whole + 1)
        # The solvable pass rate of each round of votes.
        rounds = [judgements.sopr(votes) for votes in zip(*(row.on_answer for row in rows), strict=False)]
        truths = [float(row.task.truths[model]) for row in rows if model in row.task.truths]
        measures = fmean(tallied.variance for tallied in tallies), share(truths) if truths else None
        rates.append(PassRates(model, len(rows), share(passes), *_of_rounds(rounds), by_task, *measures))
    return rates


def _of_rounds(rounds: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the mean over rounds and their standard deviation."""
    return (fmean(rounds), pstdev(rounds)) if rounds else (None, None)


def rates_of(results: Results) -> PassRates | WinRates:
    """Return the rates of one of upstream's files of results."""
    if isinstance(results.votes, judgements.RecordedPasses):
        passes = [float(vote) for vote in results.votes.passes.values()]
        of_rounds = _of_rounds(results.votes.sopr)
        return PassRates(results.models[0], len(passes), share(passes), *of_rounds, {}, None)
    shares = [{1: 0.0, 2: 1.0, 3: 0.5}[vote.label] for vote in results.votes.values()]
    return _of_shares(results.models[1], results.models[0], shares, Estimate(None, None, None))


def win_rates(votes: Sequence[TaskVotes]) -> list[WinRates]:
    """Return the rates of every candidate."""
    rates = []
    for model, rows in _by_model(votes).items():
        shares = [fmean(vote.share for vote in row.votes) for row in rows]
        rates.append(_of_shares(model, rows[0].settings.reference, shares, position_bias(rows)))
    return rates


def position_bias(rows: Sequence[TaskVotes]) -> Estimate:
    """Return the share of votes that exchanging the answers turned over; the votes on a query are alike."""
    compared = [[vote for vote in row.votes if vote.is_compared] for row in rows]
    flips = [sum(vote.is_flip for vote in of_row) for of_row in compared]
    return interval(np.array(flips), np.array([len(of_row) for of_row in compared]), 0.05)


def _of_shares(model: str, reference: str, shares: Sequence[float], bias: Estimate) -> WinRates:
    halves = np.array([float(share > 0.5) + 0.5 * float(share == 0.5) for share in shares])
    win_half = mean_interval(halves, np.ones(len(halves)), 0.05)
    if win_half.low is not None and win_half.high is not None:
        # A mean of halves is not a share, but it is within 0 and 1.
        win_half = Estimate(win_half.value, max(win_half.low, 0.0), min(win_half.high, 1.0))
    ahead = np.sign(np.array(shares) - 0.5)
    win, tie, lose = (share((ahead == sign).astype(float)) for sign in (1, 0, -1))
    return WinRates(model, reference, len(shares), win, tie, lose, win_half, bias)


def share(values: Sequence[float] | Vector) -> Estimate:
    """Return a share of queries with its interval."""
    return interval(np.array(values, dtype=float), np.ones(len(values)), 0.05)
