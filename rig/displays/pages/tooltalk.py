"""The paper's tables as Markdown, aligned so that they can be read as they are."""

import re
from collections.abc import Sequence

from rig.displays.numbers import percent
from rig.methods.tooltalk.error_types import ErrorType
from rig.tables import ErrorsRow, RatesRow, Table

_RATES = ("model", "suite", "success", "precision", "recall", "incorrect actions", "conversations")
_ERRORS = ("model", *(str(kind) for kind in ErrorType), "total")

CITED = (
    "Rows marked (paper) are cited from the tables of these numbers in Farn and Shin, ToolTalk (2023). They"
    " were measured on ToolTalk's own conversations, with another similarity of texts, and without a grammar."
)


def tables_markdown(tables: Sequence[Table]) -> str:
    """Each table under its title, and last what the cited rows are."""
    parts = [
        f"**Table {table.number}. {table.title}** (graded by {_inert(str(table.grader))})\n\n{_grid(table)}"
        for table in tables
    ]
    if any(row.source == "paper" for table in tables for row in table.rows):
        parts.append(CITED)
    return "\n\n".join(parts)


def _grid(table: Table) -> str:
    rows = [_cells(row) for row in table.rows]
    header = _RATES if len(rows[0]) == len(_RATES) else _ERRORS
    texts = sum(name in ("model", "suite") for name in header)
    widths = [max(3, *map(len, column)) for column in zip(header, *rows, strict=True)]
    ruler = ["-" * width if place < texts else f"{'-' * (width - 1)}:" for place, width in enumerate(widths)]
    return "\n".join(
        f"| {' | '.join(_aligned(row, widths, texts))} |" for row in (header, tuple(ruler), *rows)
    )


def _aligned(row: Sequence[str], widths: Sequence[int], texts: int) -> list[str]:
    """Texts to the left, numbers to the right."""
    return [
        cell.ljust(width) if place < texts else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]


def _cells(row: RatesRow | ErrorsRow) -> tuple[str, ...]:
    model = f"{_inert(row.model)} (paper)" if row.source == "paper" else _inert(row.model)
    if isinstance(row, ErrorsRow):
        return (model, *(percent(row.share(kind)) for kind in ErrorType), str(row.total))
    rates = (row.success_rate, row.precision, row.recall, row.incorrect_action_rate)
    return (model, _inert(row.suite) or "-", *map(percent, rates), str(row.conversations))


def _inert(text: str) -> str:
    """A name as it stands in a cell: on one line, and no markup whatever is in it."""
    return re.sub(r"([\\|<>`*\[\]])", r"\\\1", " ".join(text.split()))
