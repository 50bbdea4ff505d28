"""Rates of judged answers, with intervals over queries: pass rate, solvable pass rate, win rate."""

from collections.abc import Mapping, Sequence
from statistics import fmean, pstdev
from typing import NamedTuple, cast

import numpy as np

from rig.calls import JsonObject
from rig.judging.files import TaskVotes
from rig.judging.voting import PreferenceVote, StatusVote
from rig.methods.paper import Results
from rig.rates import Estimate, interval, mean_interval
from rig.solutions.decisions import RecordedPasses, Rules, sopr, tally

ALPHA = 0.05


class PassRates(NamedTuple):
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
        return {
            **self._asdict(),
            "pass_rate": self.pass_rate.as_json(),
            "true_pass_rate": self.true_pass_rate.as_json() if self.true_pass_rate else None,
            "by_task": {name: {"passes": of[0], "queries": of[1]} for name, of in self.by_task.items()},
        }


class WinRates(NamedTuple):
    """What votes say of one model's answers against those of a reference."""

    model: str
    reference: str
    queries: int
    win: Estimate
    tie: Estimate
    lose: Estimate
    win_half: Estimate
    position_bias: Estimate

    def as_json(self) -> JsonObject:
        """All of it by name."""
        fields = self._asdict()
        return {
            name: value.as_json() if isinstance(value, Estimate) else value for name, value in fields.items()
        }


def pass_rates(votes: Sequence[TaskVotes], rules: Rules) -> list[PassRates]:
    """The rates of every model, by these rules. A query without an answer has failed."""
    by_model: dict[str, list[TaskVotes]] = {}
    for vote in votes:
        by_model.setdefault(vote.model, []).append(vote)
    return [_pass_rates(model, rows, rules) for model, rows in by_model.items()]


def _pass_rates(model: str, rows: Sequence[TaskVotes], rules: Rules) -> PassRates:
    passes: list[float] = []
    variances = []
    by_task: dict[str, tuple[int, int]] = {}
    for row in rows:
        cast_votes = [status_vote.vote for status_vote in _status_votes(row)]
        counted_votes = tally(cast_votes, rules, f"{model}/{row.task.query_id}")
        is_there = row.task.answers.get(model) is not None
        passes.append(float(counted_votes.passes and is_there))
        variances.append(counted_votes.variance)
        counted = by_task.get(cast_votes[-1].task, (0, 0))
        by_task[cast_votes[-1].task] = (counted[0] + int(passes[-1]), counted[1] + 1)
    rounds = _sopr_rounds(rows)
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


def _sopr_rounds(rows: Sequence[TaskVotes]) -> list[float]:
    """The solvable pass rate of each round of votes."""
    count = min((len(row.votes) for row in rows), default=0)
    return [fmean(sopr([_status_votes(row)[number].vote]) for row in rows) for number in range(count)]


def _status_votes(row: TaskVotes) -> Sequence[StatusVote]:
    return cast(Sequence[StatusVote], row.votes)


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
    by_model: dict[str, list[TaskVotes]] = {}
    for vote in votes:
        by_model.setdefault(vote.model, []).append(vote)
    return [_win_rates(model, rows) for model, rows in by_model.items()]


def _win_rates(model: str, rows: Sequence[TaskVotes]) -> WinRates:
    shares = []
    flips: list[float] = []
    compared: list[float] = []
    for row in rows:
        votes = cast(Sequence[PreferenceVote], row.votes)
        shares.append(fmean(0.5 if vote.winner is None else float(vote.winner) for vote in votes))
        seen = [vote for vote in votes if len(vote.orders) > 1 and None not in vote.orders]
        compared.append(len(seen))
        flips.append(sum(vote.is_flip for vote in seen))
    bias = interval(np.array(flips), np.array(compared), ALPHA)
    return _of_shares(model, rows[0].settings.reference, shares, bias)


def _of_shares(model: str, reference: str, shares: Sequence[float], bias: Estimate) -> WinRates:
    return WinRates(
        model,
        reference,
        len(shares),
        share([float(share > 0.5) for share in shares]),
        share([float(share == 0.5) for share in shares]),
        share([float(share < 0.5) for share in shares]),
        _mean([float(share > 0.5) + 0.5 * float(share == 0.5) for share in shares]),
        bias,
    )


def share(values: Sequence[float]) -> Estimate:
    """A share of queries with its interval."""
    return interval(np.array(values, dtype=float), np.ones(len(values)), ALPHA)


def _mean(values: Sequence[float]) -> Estimate:
    """A mean of halves, which is not a share; within 0 and 1."""
    mean = mean_interval(np.array(values), np.ones(len(values)), ALPHA)
    if mean.low is None or mean.high is None:
        return mean
    return Estimate(mean.value, max(mean.low, 0.0), min(mean.high, 1.0))
