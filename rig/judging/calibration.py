"""Whether a judge can be trusted: its votes on labelled answers and pairs, checked against the labels.

The votes are judging runs like any other. Their result is noted with every run that the same judge makes, or
has made, in the same store.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, cast

from rig.calls import JsonObject
from rig.judging import agreement
from rig.judging.agreement import Label, Upstream
from rig.judging.files import TaskVotes, read_votes
from rig.judging.rates import share
from rig.judging.voting import PreferenceVote, StatusVote
from rig.metrics import Remark
from rig.rates import Estimate
from rig.solutions.solution import Solution
from rig.store import Runs, RunWriter, StoredRun

SUITE = "labels"
"""What a run of labels names as what it judges."""


class Measured(NamedTuple):
    """How a judge's majorities compare with labels, of answers or of pairs."""

    items: int
    accuracy: Estimate
    kappa: Estimate
    upstream: Upstream | None
    position_bias: Estimate | None = None
    undecided: int = 0
    invalid: int = 0

    @property
    def is_chance(self) -> bool:
        """Whether it is no better than chance, as far as its interval can tell."""
        return self.kappa.low is None or self.kappa.low <= 0

    def as_json(self) -> JsonObject:
        """All of it by name."""
        bias = self.position_bias
        return {
            **self._asdict(),
            "accuracy": self.accuracy.as_json(),
            "kappa": self.kappa.as_json(),
            "upstream": self.upstream._asdict() if self.upstream else None,
            "position_bias": bias.as_json() if bias else None,
            "is_chance": self.is_chance,
        }


def measure(store: Path, run: StoredRun) -> Measured:
    """What a run of labels says of its judge, by those that it had to decide."""
    _, votes = read_votes(store, run)
    rows = [row for row in votes if all(map(_needs_a_judge, row.task.answers.values()))]
    return _of_pairs(rows) if rows and rows[0].settings.reference else _of_answers(rows)


def _needs_a_judge(solution: Solution | None) -> bool:
    """Whether nothing but a judge can tell: an answer without an end, or that gives up, fails by rule."""
    return solution is not None and solution.is_finished and solution.final == "answer"


def _of_answers(rows: Sequence[TaskVotes]) -> Measured:
    truth = [int(row.task.truths[row.model]) for row in rows]
    cast_votes = [[int(vote.vote.answer == "Solved") for vote in _statuses(row)] for row in rows]
    majorities = [_majority(votes) for votes in cast_votes]
    return Measured(
        items=len(rows),
        accuracy=agreement.accuracy(majorities, truth),
        kappa=agreement.kappa(majorities, truth),
        upstream=agreement.upstream(cast_votes, [[label] for label in truth]),
        undecided=sum(majority is None for majority in majorities),
        invalid=sum(vote.invalid for row in rows for vote in _statuses(row)),
    )


def _of_pairs(rows: Sequence[TaskVotes]) -> Measured:
    votes = [cast(Sequence[PreferenceVote], row.votes) for row in rows]
    truth = [_majority(row.task.preferred) for row in rows]
    winners = [_winner(vote) for vote in votes]
    samples = [[side for vote in cast_votes for side in _sides(vote)] for cast_votes in votes]
    humans = [row.task.preferred for row in rows]
    both = [(sides, human) for sides, human in zip(samples, humans, strict=True) if sides]
    compared = [
        vote
        for cast_votes in votes
        for vote in cast_votes
        if len(vote.orders) > 1 and None not in vote.orders
    ]
    flips = [float(vote.is_flip) for vote in compared]
    return Measured(
        items=len(rows),
        accuracy=agreement.accuracy(winners, truth),
        kappa=agreement.kappa(winners, truth),
        upstream=agreement.upstream([sides for sides, _ in both], [human for _, human in both]),
        position_bias=share(flips) if flips else None,
        undecided=sum(winner is None for winner in winners),
        invalid=sum(vote.invalid for cast_votes in votes for vote in cast_votes),
    )


def _statuses(row: TaskVotes) -> Sequence[StatusVote]:
    return cast(Sequence[StatusVote], row.votes)


def _sides(vote: PreferenceVote) -> list[int]:
    """What a vote says, once for each order in which it was asked; nothing for one that is undecided."""
    sides = vote.orders or (vote.winner,)
    return [side for side in sides if side is not None]


def _winner(votes: Sequence[PreferenceVote]) -> Label:
    share = fmean(0.5 if vote.winner is None else float(vote.winner) for vote in votes)
    return None if share == 0.5 else int(share > 0.5)


def _majority(votes: Iterable[int]) -> Label:
    majority = agreement.majority(list(votes))
    return majority.pop() if len(majority) == 1 else None


def judge_of(settings: JsonObject) -> JsonObject:
    """Who judges and how, out of what a run was started with: equal for equal judges."""
    of_engine = ("models", "temperature", "max_tokens", "kv", "chat_template", "grammar", "format", "seed")
    set_options = dict(text.split("=", 1) for text in settings.get("set", ()))
    of_method = {name: set_options.get(name) for name in ("evaluator", "reason")}
    return {**{name: settings.get(name) for name in of_engine}, **of_method}


def remark_on(store: Path, settings: JsonObject, method: str) -> Remark:
    """What has to be said about the judge of a run with these settings, by its latest calibration."""
    name = Path(judge_of(settings)["models"][0]).stem
    run = _latest(store, settings, method)
    if run is None:
        text = f"the judge {name} is not calibrated: `rig judge calibrate` says how far it can be trusted"
        return Remark(text, decides=False)
    measured = measure(store, run)
    return Remark(line(name, measured, run.id), not measured.is_chance)


def _latest(store: Path, settings: JsonObject, method: str) -> StoredRun | None:
    if not store.is_file():
        return None
    with Runs.open(store) as runs:
        return next((run for run in runs.all() if _is_calibration(run, settings, method)), None)


def line(judge: str, measured: Measured, run: str) -> str:
    """What a calibration says of a judge, in a line."""
    kappa = estimate(measured.kappa)
    if measured.is_chance:
        return (
            f"the judge {judge} is no better than chance: kappa {kappa} on {measured.items} labels, run {run}"
        )
    return f"the judge {judge} agrees with {measured.items} labels by a kappa of {kappa}, run {run}"


def estimate(number: Estimate) -> str:
    """A number with its interval."""
    if number.value is None:
        return "-"
    if number.low is None or number.high is None:
        return f"{number.value:.2f}"
    return f"{number.value:.2f} ({number.low:.2f} to {number.high:.2f})"


def note(store: Path, calibrated: StoredRun) -> None:
    """Say with every run of the same judge what its calibration says, those being written excepted."""
    settings, method = calibrated.settings, calibrated.declaration.method
    caution = remark_on(store, settings, method)
    with Runs.open(store) as runs:
        others = [
            run
            for run in runs.all()
            if run.declaration.method == method and judge_of(run.settings) == judge_of(settings)
        ]
    for run in others:
        again = run.declaration.cautioned(caution)
        if not run.is_running and run.declaration != again:
            with RunWriter.claim(store, run.id) as writer:
                writer.set_remark(again)


def _is_calibration(run: StoredRun, settings: Any, method: str) -> bool:
    is_whole = run.state == "finished" and run.settings.get("suite") == SUITE
    return is_whole and run.declaration.method == method and judge_of(run.settings) == judge_of(settings)
