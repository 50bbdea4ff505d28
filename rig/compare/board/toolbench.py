"""ToolBench's file of a leaderboard, read and written."""

import csv
import io
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import NamedTuple

from rig.compare.board.leaderboard import Board
from rig.errors import RigError


class Entry(NamedTuple):
    """A row: the win rate over all queries with its standard error, and both by test set."""

    method: str
    win_rate: float
    std_error: float
    by_set: Mapping[str, tuple[float, float]]


def entry(name: str, scores: Mapping[str, Sequence[float]]) -> Entry:
    """A row from the score of each query, by test set; overall all queries weigh the same."""
    pooled = [score for each in scores.values() for score in each]
    by_set = {test_set: _mean_and_error(each) for test_set, each in scores.items()}
    return Entry(name, *_mean_and_error(pooled), by_set)


def _mean_and_error(scores: Sequence[float]) -> tuple[float, float]:
    """The mean, and the population's standard deviation over the root of the number."""
    mean = sum(scores) / len(scores)
    variance = sum((score - mean) ** 2 for score in scores) / len(scores)
    return mean, sqrt(variance / len(scores))


def entries(found: Board) -> list[Entry]:
    """The rows of a board: by wins and half the ties where there are ties, else by successes."""
    names = {metric.name: metric for metric in found.declaration.metrics}
    metric = names.get("win_half") or found.declaration.success_metric or found.declaration.metrics[0]
    return [
        entry(
            place.arm.name,
            {name: [each.get(metric.numerator, 0) for each in rows] for name, rows in place.suites.items()},
        )
        for place in found.places
    ]


def write_csv(rows: Sequence[Entry]) -> str:
    """ToolBench's file. Every method has one row, and methods are ordered by their win rate."""
    sets = list(dict.fromkeys(name for row in rows for name in row.by_set))
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    header = ["Method", "WinRate", "StdError"]
    writer.writerow([*header, *(f"{name}_WinRate" for name in sets), *(f"{name}_StdError" for name in sets)])
    for row in sorted(rows, key=lambda each: -each.win_rate):
        cells = [row.by_set.get(name) for name in sets]
        numbers = [*(cell[0] if cell else "" for cell in cells), *(cell[1] if cell else "" for cell in cells)]
        writer.writerow([row.method, row.win_rate, row.std_error, *numbers])
    return file.getvalue()


def read_csv(text: str, where: str) -> list[Entry]:
    """The rows of ToolBench's file, the last of several for one method. Raises RigError if it is not one."""
    found: dict[str, Entry] = {}
    try:
        reader = csv.DictReader(io.StringIO(text))
        sets = [
            name.removesuffix("_WinRate") for name in reader.fieldnames or () if name.endswith("_WinRate")
        ]
        for row in reader:
            by_set = {
                name: (float(row[f"{name}_WinRate"]), float(row.get(f"{name}_StdError") or "nan"))
                for name in sets
                if row[f"{name}_WinRate"]
            }
            found[row["Method"]] = Entry(
                row["Method"], float(row["WinRate"]), float(row.get("StdError") or "nan"), by_set
            )
    except (KeyError, ValueError, TypeError, csv.Error) as error:
        raise RigError(f"{where}: not a leaderboard: {error}") from error
    if not found:
        raise RigError(f"{where}: not a leaderboard: it has no rows")
    return list(found.values())
