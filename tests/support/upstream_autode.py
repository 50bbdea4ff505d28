"""AutoDE's scorer of result files, written from what is known of it, to hold rig's figures against."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

Rows = list[dict[str, Any]]


class Figures(NamedTuple):
    """Means over trials of the means over dialogues, and the F1 of each trial; all in percent."""

    precision: float
    recall: float
    f1: float
    trials: tuple[float, ...]


def read(path: Path) -> Rows:
    """The rows of a result file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def trials(rows: Rows, ids: Sequence[str]) -> list[Rows]:
    """The rows of each trial: the t-th of every dialogue, as many trials as the rarest dialogue has rows."""
    found: dict[str, Rows] = {name: [row for row in rows if row["uuid"] == name] for name in ids}
    return [[found[name][trial] for name in ids] for trial in range(min(map(len, found.values())))]


def score(rows: Rows, golds: Mapping[str, Mapping[str, Any]]) -> Figures:
    """What the scorer prints of a file."""
    scored = [
        [_scores(golds[row["uuid"]], row["slots"]) for row in trial] for trial in trials(rows, list(golds))
    ]
    means = [[fmean(column) for column in zip(*trial, strict=True)] for trial in scored]
    precision, recall, f1 = (100 * fmean(column) for column in zip(*means, strict=True))
    return Figures(precision, recall, f1, tuple(100 * each[2] for each in means))


def _scores(gold: Mapping[str, Any], predicted: Mapping[str, Any]) -> tuple[float, float, float]:
    if not gold and not predicted:
        return 1.0, 1.0, 1.0
    if not gold or not predicted:
        return 0.0, 0.0, 0.0
    correct = len([name for name in predicted if name in gold and gold[name] == predicted[name]])
    precision, recall = correct / len(predicted), correct / len(gold)
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both else 0.0
