"""The paper's tables as Markdown, aligned so that they can be read as they are."""

from collections.abc import Sequence

from rig.displays.numbers import percent
from rig.displays.pages.tooltalk_tables import ErrorsRow, RatesRow, Table
from rig.displays.table import inert, markdown
from rig.methods.tooltalk.error_types import ErrorType

_RATES = ("model", "suite", "success", "precision", "recall", "incorrect actions", "conversations")
_ERRORS = ("model", *(str(kind) for kind in ErrorType), "total")

CITED = (
    "Rows marked (paper) are cited from the tables of these numbers in Farn and Shin, ToolTalk (2023). They"
    " were measured on ToolTalk's own conversations, with another similarity of texts, and without a grammar."
)


def tables_markdown(tables: Sequence[Table]) -> str:
    """Each table under its title, and last what the cited rows are."""
    parts = [
        f"**Table {table.number}. {table.title}** (graded by {inert(str(table.grader))})\n\n{_grid(table)}"
        for table in tables
    ]
    if any(row.source == "paper" for table in tables for row in table.rows):
        parts.append(CITED)
    return "\n\n".join(parts)


def _grid(table: Table) -> str:
    rows = [_cells(row) for row in table.rows]
    header = _RATES if len(rows[0]) == len(_RATES) else _ERRORS
    texts = sum(name in ("model", "suite") for name in header)
    return markdown(header, rows, texts)


def _cells(row: RatesRow | ErrorsRow) -> tuple[str, ...]:
    model = f"{inert(row.model)} (paper)" if row.source == "paper" else inert(row.model)
    if isinstance(row, ErrorsRow):
        return (model, *(percent(row.share(kind)) for kind in ErrorType), str(row.total))
    rates = (row.success_rate, row.precision, row.recall, row.incorrect_action_rate)
    return (model, inert(row.suite) or "-", *map(percent, rates), str(row.conversations))
