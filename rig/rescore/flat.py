"""A stored run as rows: a view of the store, written as CSV or as JSON lines."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from rig.errors import RigError
from rig.files import csv_line, json_text, writing
from rig.store import EXPORTED_VIEWS, Runs, StoredRun

FlatFormat = Literal["csv", "jsonl"]

_JSON = frozenset({"arguments", "response", "differences", "expected", "got"})
"""Columns that hold JSON. As JSON lines they become values, as CSV they stay text."""


def flat_lines(
    runs: Runs, run: StoredRun, view: str, form: FlatFormat, *, raw: bool = False
) -> Iterator[str]:
    """The rows of a run in this view, as the lines of a file, in the order in which the run was planned.

    Columns are those of docs/store.md. CSV begins with their names and is quoted as in RFC 4180; an absent
    value is an empty cell there, and null as JSON. Cells that a spreadsheet would execute are made inert,
    unless they are wanted `raw`. Raises RigError for a view or a form that is none.
    """
    if view not in EXPORTED_VIEWS:
        raise RigError(f"no view {view!r}; there are: {', '.join(EXPORTED_VIEWS)}")
    if form not in get_args(FlatFormat):
        raise RigError(f"no format {form!r}; there are: {', '.join(get_args(FlatFormat))}")
    rows = runs.view(view, run)
    if form == "jsonl":
        return (json_text({name: _value(name, value) for name, value in row.items()}) for row in rows)
    return _csv(runs.view_columns(view), rows, raw)


def write_lines(lines: Iterable[str], path: Path) -> int:
    """Write lines to a new file, all or nothing. Returns how many; RigError where it cannot be written."""
    written = 0
    with writing(path) as file:
        for line in lines:
            file.write(f"{line}\n")
            written += 1
    return written


def _csv(columns: Iterable[str], rows: Iterable[dict[str, Any]], raw: bool) -> Iterator[str]:
    yield csv_line(columns)
    for row in rows:
        yield csv_line(row.values(), raw=raw)


def _value(name: str, value: Any) -> Any:
    return json.loads(value) if name in _JSON and value is not None else value
