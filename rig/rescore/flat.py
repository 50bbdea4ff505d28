"""A stored run as rows: a view of the store, written as CSV or as JSON lines."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from rig.errors import RigError
from rig.store import EXPORTED_VIEWS, Runs, StoredRun

FlatFormat = Literal["csv", "jsonl"]

_JSON = frozenset({"arguments", "response", "differences", "expected", "got"})
"""Columns that hold JSON. As JSON lines they become values, as CSV they stay text."""


def flat_lines(runs: Runs, run: StoredRun, view: str, form: FlatFormat) -> Iterator[str]:
    """The rows of a run in this view, as the lines of a file, in the order in which the run was planned.

    Columns are those of docs/store.md. CSV begins with their names and is quoted as in RFC 4180; an absent
    value is an empty cell there, and null as JSON. Raises RigError for a view or a form that is none.
    """
    if view not in EXPORTED_VIEWS:
        raise RigError(f"no view {view!r}; there are: {', '.join(EXPORTED_VIEWS)}")
    if form not in get_args(FlatFormat):
        raise RigError(f"no format {form!r}; there are: {', '.join(get_args(FlatFormat))}")
    rows = runs.view(view, run)
    if form == "jsonl":
        return (json.dumps({name: _value(name, value) for name, value in row.items()}) for row in rows)
    return _csv(runs.view_columns(view), rows)


def write_lines(lines: Iterable[str], path: Path) -> int:
    """Write lines to a new file, all or nothing. Returns how many; RigError where it cannot be written."""
    if path.exists():
        raise RigError(f"{path}: exists; choose a new file")
    part = path.with_name(f"{path.name}.part")
    written = 0
    try:
        try:
            with part.open("x", encoding="utf-8", newline="") as file:
                for line in lines:
                    file.write(f"{line}\n")
                    written += 1
            part.rename(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise RigError(f"{path}: cannot be written: {error.strerror}") from error
    return written


def _csv(columns: Iterable[str], rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield _csv_line(columns)
    for row in rows:
        yield _csv_line(row.values())


def _csv_line(values: Iterable[Any]) -> str:
    text = io.StringIO()
    # Cells with one of the terminator's characters are quoted, so it must be one that is in texts.
    csv.writer(text, lineterminator="\r\n").writerow(values)
    return text.getvalue().removesuffix("\r\n")


def _value(name: str, value: Any) -> Any:
    return json.loads(value) if name in _JSON and value is not None else value
