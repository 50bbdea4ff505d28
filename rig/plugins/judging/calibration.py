"""Whether a judge can be trusted: its votes on labelled answers and pairs, checked against the labels.

The votes are judging runs like any other. Their result is noted with every run that the same judge makes, or
has made, in the same store.

Labels are rig's own, the user's, or ToolBench's. A file holds a list. An item has `query`, `available_tools`
and `answers`; one answer with `solved`, or two with `preference`, a list of votes for the first (0) or the
second (1), as people cast them or as one label. For two answers, `solved` may also be a list.

The measures are ToolBench's four, accuracy, and Cohen's kappa with its interval. Sources: upstream's
`evaluators_comparison.py`; Cohen, Educational and Psychological Measurement 20 (1960). For its correlation,
upstream pairs votes by position, and draws lots if one side never varies; here, such an item counts by how
likely the draws were to agree.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, pvariance
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from rig.core import files
from rig.core.calls import ByName, Json, JsonObject
from rig.core.errors import RigError
from rig.core.intervals import with_interval
from rig.core.metrics import Remark
from rig.core.paths import CONVERSATIONS
from rig.core.tasks import require_unique
from rig.plugins.documents.documents import Foreign, Many, parsed
from rig.plugins.judging.stored import position_bias, read_votes, share
from rig.plugins.solutions.judgements import Judgement, parse
from rig.stats import Estimate, rates
from rig.store import Runs, RunWriter, StoredRun

SUITE = "labels"
"""The name of the suite in a run of labels."""

SEED = 20_231_001
OURS = CONVERSATIONS / "labels"
LARGEST = 256 << 20
"""The most bytes of a file of labels."""

FIRST, SECOND = "0", "1"
"""The names of an item's answers."""


_Vote = Annotated[int, Field(strict=True, ge=0, le=1)]


def _listed(value: Json) -> Json:
    return value if isinstance(value, list) else [value]


class Labels(NamedTuple):
    """The labels to measure a judge by."""

    answers: tuple[Judgement, ...]
    pairs: tuple[Judgement, ...]


class _Item(Foreign):
    name: str = ""
    query: str
    available_tools: Many[JsonObject]
    answers: Many[Json]
    preference: Annotated[Many[_Vote], BeforeValidator(_listed)] = Field([])
    solved: Annotated[Many[bool] | None, BeforeValidator(_listed)] = None


def load_labels(place: Path, votes: int, pair_votes: int) -> Labels:
    """Read the labels of a folder or file. Raises RigError if there are none, or one cannot be read."""
    paths = [place] if place.is_file() else sorted(place.glob("*.json"))
    answers: list[Judgement] = []
    pairs: list[Judgement] = []
    for path in paths:
        data = files.read_json(path, LARGEST)
        if not isinstance(data, list):
            raise RigError(f"{path}: not labels: it holds no list")
        for number, item in enumerate(data, start=1):
            task = _item(item, f"{path}, item {number}", f"{path.stem}-{number}", votes, pair_votes)
            (pairs if task.preferred else answers).append(task)
    if not answers and not pairs:
        raise RigError(f"{place}: holds no labels (*.json)")
    for tasks in (answers, pairs):
        require_unique(tasks, str(place))
    return Labels(tuple(answers), tuple(pairs))


def _item(value: Json, where: str, name: str, votes: int, pair_votes: int) -> Judgement:
    item = parsed(_Item, value, where, "a labelled item")
    shared = {"query": item.query, "available_tools": item.available_tools}
    solutions = [parse({**shared, "answer": answer}, where) for answer in item.answers]
    preferred = tuple(item.preference)
    if not preferred and item.solved is None:
        raise RigError(f"{where}: not a labelled item: solved is missing")
    if len(solutions) != (2 if preferred else 1):
        fault = f"a preference is between two answers, `solved` is of one; got {len(solutions)}"
        raise RigError(f"{where}: {fault}")
    answers = dict(zip((FIRST, SECOND), solutions, strict=False))
    truths = dict(zip((FIRST, SECOND), item.solved or (), strict=False))
    name, number = item.name or name, pair_votes if preferred else votes
    return Judgement(name, name, answers, number, truths, preferred=preferred)


Label: TypeAlias = int | None
"""0 or 1; None for a vote or a majority that is undecided."""


class Upstream(NamedTuple):
    """Upstream's row for an evaluator: agreement with people, bias, variance, and correlation."""

    agreement: float
    bias: float
    variance: float
    correlation: float


def majority(votes: Sequence[int]) -> set[int]:
    """Return the most frequent votes."""
    counts = Counter(votes)
    return {vote for vote, count in counts.items() if count == max(counts.values())}


def agreement(votes: Sequence[int], reference: Sequence[int]) -> float:
    """Return the chance that a vote drawn from the most frequent ones of each side is the same."""
    ours, theirs = majority(votes), majority(reference)
    return len(ours & theirs) / (len(ours) * len(theirs))


def upstream(votes: Sequence[Sequence[int]], humans: Sequence[Sequence[int]]) -> Upstream | None:
    """Return upstream's measures of votes against those of people, item by item; None without items."""
    if not votes:
        return None
    scores = [[agreement([vote], human) for vote in ours] for ours, human in zip(votes, humans, strict=True)]
    return Upstream(
        agreement=fmean(fmean(score) for score in scores),
        bias=fmean(1 - agreement(human, of_item) for of_item, human in zip(votes, humans, strict=True)),
        variance=fmean(pvariance(1 - score for score in ours) for ours in scores),
        correlation=fmean(_correlation(of_item, human) for of_item, human in zip(votes, humans, strict=True)),
    )


def _correlation(votes: Sequence[int], humans: Sequence[int]) -> float:
    ours, theirs = (np.array(side[: min(len(votes), len(humans))], dtype=float) for side in (votes, humans))
    if len(ours) == 0 or not ours.std() or not theirs.std():
        return agreement(votes, humans)
    return float(np.corrcoef(ours, theirs)[0, 1])


def accuracy(labels: Sequence[Label], truth: Sequence[Label]) -> Estimate:
    """Return the share of items that are right, with its interval over items."""
    return share([float(one == other) for one, other in zip(labels, truth, strict=True)])


def kappa(decided: Sequence[Label], truth: Sequence[Label]) -> Estimate:
    """Return Cohen's kappa with the percentile interval of a bootstrap over items; 0 is chance."""
    labels = sorted({*decided, *truth}, key=str)
    numbers = {label: number for number, label in enumerate(labels)}
    ours = np.array([numbers[label] for label in decided])
    theirs = np.array([numbers[label] for label in truth])
    items = len(ours)
    if items == 0:
        return Estimate(None, None, None)
    value = _kappa(ours, theirs, len(labels))
    if items == 1:
        return Estimate(value, None, None)
    draws = (draw for part in rates.draws(items, SEED) for draw in part)
    drawn = [_kappa(ours[draw], theirs[draw], len(labels)) for draw in draws]
    return Estimate(value, *rates.percentiles(np.array(drawn), 0.05))


def _kappa(ours: NDArray[np.int64], theirs: NDArray[np.int64], count: int) -> float:
    observed = float((ours == theirs).mean())
    shares = [np.bincount(side, minlength=count) / len(side) for side in (ours, theirs)]
    expected = float(shares[0] @ shares[1])
    return 0.0 if expected > 1 - 1e-12 else (observed - expected) / (1 - expected)


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
        """Whether the judge may be no better than chance, by the interval of kappa."""
        return self.kappa.low is None or self.kappa.low <= 0

    def as_json(self) -> JsonObject:
        """Return all fields by name."""
        upstream = self.upstream._asdict() if self.upstream else None
        return {**ByName.as_json(self), "upstream": upstream, "is_chance": self.is_chance}


def measure(store: Path, run: StoredRun) -> LabelAgreement:
    """Measure a judge by a run of labels, over the answers that it had to decide.

    Answers without an end, or that give up, are left out: they fail by rule.
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
    bias = Estimate(None, None, None)
    if rows and rows[0].settings.reference:
        labels = [row.task.preferred for row in rows]
        shares = (fmean(vote.share for vote in row.votes) for row in rows)
        decided = [None if share == 0.5 else int(share > 0.5) for share in shares]
        # The side that each vote chose, once for each order in which it was asked, unless undecided.
        asked = ([vote.orders or (vote.winner,) for vote in row.votes] for row in rows)
        cast_votes = [[side for sides in of_row for side in sides if side is not None] for of_row in asked]
        bias = position_bias(rows)
    else:
        labels = [(int(row.task.truths[row.model]),) for row in rows]
        cast_votes = [[int(vote.answer == "Solved") for vote in row.on_answer] for row in rows]
        decided = [_majority(of_row) for of_row in cast_votes]
    truth = [_majority(label) for label in labels]
    both = [(sides, label) for sides, label in zip(cast_votes, labels, strict=True) if sides]
    return LabelAgreement(
        items=len(rows),
        accuracy=accuracy(decided, truth),
        kappa=kappa(decided, truth),
        upstream=upstream([sides for sides, _ in both], [label for _, label in both]),
        position_bias=None if bias.value is None else bias,
        undecided=sum(label is None for label in decided),
        invalid=sum(vote.invalid for vote in votes),
    )


def _majority(votes: Iterable[int]) -> Label:
    most = majority(list(votes))
    return most.pop() if len(most) == 1 else None


def judge_of(settings: JsonObject) -> JsonObject:
    """Return who judges and how, from the settings of a run: equal for equal judges."""
    how = ("temperature", "sampling", "max_tokens", "kv", "chat_template", "grammar", "format", "seed")
    set_options = dict(text.split("=", 1) for text in settings.get("set", ()))
    of_method = {name: set_options.get(name) for name in ("evaluator", "reason")}
    return {**{name: settings.get(name) for name in ("models", *how)}, **of_method}


def remark_on(store: Path, settings: JsonObject, method: str) -> Remark:
    """Return the remark on the judge of a run with these settings, by its latest calibration."""
    name = Path(str(judge_of(settings)["models"][0])).name.removesuffix(".gguf")
    run = None
    if store.is_file():
        with Runs.open(store) as runs:
            same = _by_same_judge(runs, settings, method)
            of_labels = (run for run in same if run.settings.get("suite") == SUITE)
            run = next((run for run in of_labels if run.state == "finished"), None)
    if run is None:
        text = f"the judge {name} is not calibrated: `rig judge calibrate` says how far it can be trusted"
        return Remark(text, decides=False)
    measured = measure(store, run)
    items, kappa = measured.items, with_interval("{:.2f}".format, measured.kappa)
    if measured.is_chance:
        text = f"the judge {name} is no better than chance: kappa {kappa} on {items} labels, run {run.id}"
        return Remark(text, decides=False)
    text = f"the judge {name} agrees with {items} labels by a kappa of {kappa}, run {run.id}"
    return Remark(text, decides=True)


def note(store: Path, calibrated: StoredRun) -> None:
    """Add the result of a calibration to every run of the same judge that is not running."""
    settings, method = calibrated.settings, calibrated.declaration.method
    caution = remark_on(store, settings, method)
    with Runs.open(store) as runs:
        others = list(_by_same_judge(runs, settings, method))
    for run in others:
        again = run.declaration.cautioned(caution)
        if not run.is_running and run.declaration != again:
            with RunWriter.claim(store, run.id) as writer:
                writer.set_remark(caution)


def _by_same_judge(runs: Runs, settings: JsonObject, method: str) -> Iterator[StoredRun]:
    judge = judge_of(settings)
    return (run for run in runs.all() if run.declaration.method == method and judge_of(run.settings) == judge)
