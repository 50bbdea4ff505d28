"""Whether a judge can be trusted: its votes on labelled answers and pairs, checked against the labels.

The votes are judging runs like any other. Their result is noted with every run that the same judge makes, or
has made, in the same store.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from rig.calls import ByName, JsonObject
from rig.judging import agreement
from rig.judging.agreement import Label, Upstream
from rig.judging.files import read_votes
from rig.judging.rates import share
from rig.judging.voting import PreferenceVote
from rig.metrics import Remark
from rig.rates import Estimate
from rig.store import Runs, RunWriter, StoredRun

SUITE = "labels"
"""What a run of labels names as what it judges."""


@dataclass(frozen=True)
class LabelAgreement(ByName):
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
        upstream = self.upstream._asdict() if self.upstream else None
        return {**ByName.as_json(self), "upstream": upstream, "is_chance": self.is_chance}


def measure(store: Path, run: StoredRun) -> LabelAgreement:
    """What a run of labels says of its judge, by those that it had to decide.

    An answer without an end, or that gives up, fails by rule.
    """
    rows = [
        row
        for row in read_votes(store, run)[1]
        if all(
            answer is not None and answer.is_finished and answer.final == "answer"
            for answer in row.task.answers.values()
        )
    ]
    votes = [vote for row in rows for vote in row.votes]
    flips: list[float] = []
    if rows and rows[0].settings.reference:
        labels = [row.task.preferred for row in rows]
        decided = [_winner(row.votes) for row in rows]
        # What each vote says, once for each order in which it was asked, unless it is undecided.
        asked = ([vote.orders or (vote.winner,) for vote in row.votes] for row in rows)
        cast_votes = [[side for sides in of_row for side in sides if side is not None] for of_row in asked]
        flips = [float(vote.is_flip) for vote in votes if vote.is_compared]
    else:
        labels = [(int(row.task.truths[row.model]),) for row in rows]
        cast_votes = [[int(vote.vote.answer == "Solved") for vote in row.votes] for row in rows]
        decided = [_majority(of_row) for of_row in cast_votes]
    truth = [_majority(label) for label in labels]
    both = [(sides, label) for sides, label in zip(cast_votes, labels, strict=True) if sides]
    return LabelAgreement(
        items=len(rows),
        accuracy=agreement.accuracy(decided, truth),
        kappa=agreement.kappa(decided, truth),
        upstream=agreement.upstream([sides for sides, _ in both], [label for _, label in both]),
        position_bias=share(flips) if flips else None,
        undecided=sum(label is None for label in decided),
        invalid=sum(vote.invalid for vote in votes),
    )


def _winner(votes: Sequence[PreferenceVote]) -> Label:
    share = fmean(vote.share for vote in votes)
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
    run = None
    if store.is_file():
        with Runs.open(store) as runs:
            run = next((run for run in runs.all() if _is_calibration(run, settings, method)), None)
    if run is None:
        text = f"the judge {name} is not calibrated: `rig judge calibrate` says how far it can be trusted"
        return Remark(text, decides=False)
    measured = measure(store, run)
    return Remark(line(name, measured, run.id), not measured.is_chance)


def line(judge: str, measured: LabelAgreement, run: str) -> str:
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
