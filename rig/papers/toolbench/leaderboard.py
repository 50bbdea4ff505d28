"""ToolBench's file of a leaderboard, read and written."""

import csv
import io
from collections.abc import Mapping, Sequence
from math import isfinite, nan
from pathlib import Path

from rig.errors import RigError
from rig.files import csv_line, read_text
from rig.methods.paper import Standing


def text(rows: Sequence[Standing]) -> str:
    """ToolBench's file. Every method has one row, and methods are ordered by their win rate.

    A name that a spreadsheet would take for a formula is made inert.
    """
    sets = list(dict.fromkeys(name for row in rows for name in row.by_set))
    header = ["Method", "WinRate", "StdError"]
    lines: list[list[str | float]] = [
        [*header, *(f"{name}_WinRate" for name in sets), *(f"{name}_StdError" for name in sets)]
    ]
    for row in sorted(rows, key=lambda standing: -standing.win_rate):
        cells = [row.by_set.get(name) for name in sets]
        numbers = [*(cell[0] if cell else "" for cell in cells), *(cell[1] if cell else "" for cell in cells)]
        lines.append([row.method, row.win_rate, row.std_error, *numbers])
    return "".join(f"{csv_line(line)}\n" for line in lines)


def read(path: Path) -> list[Standing]:
    """The rows of a file. Raises RigError if it is not one of ToolBench's."""
    return parsed(read_text(path), str(path))


def parsed(text: str, where: str) -> list[Standing]:
    """The rows of ToolBench's file, the last of several for one method. Raises RigError if it is not one."""
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    try:
        names = reader.fieldnames or ()
        missing = [name for name in ("Method", "WinRate") if name not in names]
        if missing:
            raise RigError(f"{where}: not a leaderboard: it has no column {' or '.join(missing)}")
        sets = [name.removesuffix("_WinRate") for name in names if name.endswith("_WinRate")]
        by_method = {standing.method: standing for standing in (_standing(row, sets) for row in reader)}
    except (ValueError, csv.Error) as error:
        raise RigError(f"{where}, line {reader.line_num}: not a leaderboard: {error}") from error
    if not by_method:
        raise RigError(f"{where}: not a leaderboard: it has no rows")
    return list(by_method.values())


def _standing(row: Mapping[str, str | None], sets: Sequence[str]) -> Standing:
    if not row["Method"]:
        raise ValueError("a method without a name")
    by_set = {
        name: (_number(row[f"{name}_WinRate"]), _error(row.get(f"{name}_StdError")))
        for name in sets
        if row[f"{name}_WinRate"]
    }
    return Standing(row["Method"], _number(row["WinRate"]), _error(row.get("StdError")), by_set)


def _number(text: str | None) -> float:
    value = float(text or "")
    if not isfinite(value):
        raise ValueError(f"{text} is no rate")
    return value


def _error(text: str | None) -> float:
    """A standard error; NaN where there is none, as upstream leaves them out."""
    return _number(text) if text else nan
