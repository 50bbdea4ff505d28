"""A stored run as rows: a view of the store, written as CSV or as JSON lines."""

import os
import secrets
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from rig.core.budget import parse_json
from rig.core.errors import RigError
from rig.core.files import json_text, writing
from rig.plugins.documents.folders import csv_line
from rig.store import Runs, StoredRun

FlatFormat = Literal["csv", "jsonl", "parquet"]

_JSON = frozenset({"arguments", "response", "differences", "expected", "got"})
"""Columns that hold JSON. In JSON lines they become values; in CSV they stay text."""


def flat_lines(
    runs: Runs, run: StoredRun, view: str, form: FlatFormat, *, raw: bool = False
) -> Iterator[str]:
    """Yield the rows of a run in this view as lines of a file, in the order in which the run was planned.

    Columns are those of docs/reference/store.md. CSV begins with their names and is quoted as in RFC 4180; an
    absent value is an empty cell there, and null in JSON. Cells that a spreadsheet would execute are made
    inert unless `raw`.
    """
    rows = runs.view(view, run)
    if form == "csv":
        return chain([csv_line(runs.view_columns(view))], (csv_line(row.values(), raw=raw) for row in rows))
    return (json_text({name: _value(name, value) for name, value in row.items()}) for row in rows)


def write_lines(lines: Iterable[str], path: Path) -> int:
    """Write lines to a new file, all or nothing, and return their number. Raises RigError if it cannot."""
    written = 0
    with writing(path) as file:
        for line in lines:
            file.write(f"{line}\n")
            written += 1
    return written


def write_parquet(runs: Runs, run: StoredRun, view: str, path: Path) -> int:
    """Write the rows of a run in this view to a new Parquet file, all or nothing. Return their number.

    A column has integers, floating-point numbers, or else texts, depending on its values; JSON stays text.
    Raises RigError if pyarrow is not installed, or the file cannot be written.
    """
    try:
        arrow = import_module("pyarrow")
        parquet = import_module("pyarrow.parquet")
    except ImportError as error:
        raise RigError("--format parquet needs pyarrow: pip install pyarrow") from error
    if path.exists():
        raise RigError(f"{path}: exists; choose a new file")
    kinds: dict[str, set[type]] = {name: set() for name in runs.view_columns(view)}
    for row in runs.view(view, run):
        for name, value in row.items():
            kinds[name].add(type(value))
    types = {name: _kind(types_of_column) for name, types_of_column in kinds.items()}
    names = {int: arrow.int64(), float: arrow.float64(), str: arrow.string()}
    schema = arrow.schema([(name, names[kind]) for name, kind in types.items()])
    rows = ({name: _as(types[name], value) for name, value in row.items()} for row in runs.view(view, run))
    written = 0
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with parquet.ParquetWriter(part, schema) as writer:
            while batch := list(islice(rows, _BATCH)):
                writer.write_table(arrow.Table.from_pylist(batch, schema))
                written += len(batch)
        os.link(part, path)
    except OSError as error:
        raise RigError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    return written


_BATCH = 10_000
"""The number of rows in memory at once."""


def _kind(types: set[type]) -> type:
    """Return the type of a column from the types of its values."""
    kinds = types - {type(None)}
    if kinds and kinds <= {int}:
        return int
    return float if kinds and kinds <= {int, float} else str


def _as(kind: type, value: Any) -> Any:
    if value is None:
        return None
    if kind is str and not isinstance(value, str):
        return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    return value.encode("utf-8", "backslashreplace").decode() if kind is str else kind(value)


def _value(name: str, value: Any) -> Any:
    return parse_json(value) if name in _JSON and value is not None else value
