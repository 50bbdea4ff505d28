"""ToolBench's file of a leaderboard, read and written."""

import csv
import io
from collections.abc import Mapping, Sequence
from math import isfinite, nan, sqrt
from statistics import fmean
from typing import NamedTuple

from rig.compare.leaderboard import Leaderboard
from rig.errors import RigError
from rig.files import csv_line


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


def entries(found: Leaderboard) -> list[Entry]:
    """The rows of a board: by wins and half the ties where there are ties, else by successes.

    A query that was answered several times scores the mean.
    """
    names = {metric.name: metric for metric in found.declaration.metrics}
    metric = names.get("win_half") or found.declaration.success_metric or found.declaration.metrics[0]
    return [
        entry(
            place.arm.name,
            {
                suite: [
                    fmean(each.get(metric.numerator, 0) for each in counts) for counts in by_task.values()
                ]
                for suite, by_task in place.suites.items()
            },
        )
        for place in found.places
    ]


def write_csv(rows: Sequence[Entry]) -> str:
    """ToolBench's file. Every method has one row, and methods are ordered by their win rate.

    A name that a spreadsheet would take for a formula is made inert.
    """
    sets = list(dict.fromkeys(name for row in rows for name in row.by_set))
    header = ["Method", "WinRate", "StdError"]
    lines: list[list[str | float]] = [
        [*header, *(f"{name}_WinRate" for name in sets), *(f"{name}_StdError" for name in sets)]
    ]
    for row in sorted(rows, key=lambda each: -each.win_rate):
        cells = [row.by_set.get(name) for name in sets]
        numbers = [*(cell[0] if cell else "" for cell in cells), *(cell[1] if cell else "" for cell in cells)]
        lines.append([row.method, row.win_rate, row.std_error, *numbers])
    return "".join(f"{csv_line(line)}\n" for line in lines)


def read_csv(text: str, where: str) -> list[Entry]:
    """The rows of ToolBench's file, the last of several for one method. Raises RigError if it is not one."""
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    try:
        names = reader.fieldnames or ()
        missing = [name for name in ("Method", "WinRate") if name not in names]
        if missing:
            raise RigError(f"{where}: not a leaderboard: it has no column {' or '.join(missing)}")
        sets = [name.removesuffix("_WinRate") for name in names if name.endswith("_WinRate")]
        found = {each.method: each for each in (_entry(row, sets) for row in reader)}
    except (ValueError, csv.Error) as error:
        raise RigError(f"{where}, line {reader.line_num}: not a leaderboard: {error}") from error
    if not found:
        raise RigError(f"{where}: not a leaderboard: it has no rows")
    return list(found.values())


def _entry(row: Mapping[str, str | None], sets: Sequence[str]) -> Entry:
    if not row["Method"]:
        raise ValueError("a method without a name")
    by_set = {
        name: (_number(row[f"{name}_WinRate"]), _error(row.get(f"{name}_StdError")))
        for name in sets
        if row[f"{name}_WinRate"]
    }
    return Entry(row["Method"], _number(row["WinRate"]), _error(row.get("StdError")), by_set)


def _number(text: str | None) -> float:
    value = float(text or "")
    if not isfinite(value):
        raise ValueError(f"{text} is no rate")
    return value


def _error(text: str | None) -> float:
    """A standard error; NaN where there is none, as upstream leaves them out."""
    return _number(text) if text else nan
