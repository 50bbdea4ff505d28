"""A comparison on one screen, for a notebook or a prompt: the decision, and a row for each arm."""

from collections.abc import Sequence
from html import escape
from typing import TypeAlias

Table: TypeAlias = Sequence[Sequence[str]]
"""A table's header and its rows."""


def as_text(decision: str, cells: Table) -> str:
    """Return the decision, and the table in columns."""
    table = [[_inert(cell) for cell in row] for row in cells]
    decision = _inert(decision)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in table)
    return "\n".join([*([decision] if decision else []), *lines])


def as_html(decision: str, cells: Table) -> str:
    """Return the decision, and the table as HTML."""
    header, *rows = ([_inert(cell) for cell in row] for row in cells)
    decision = _inert(decision)
    lines = [("th", header), *(("td", row) for row in rows)]
    inner = ("".join(f"<{of}>{escape(cell)}</{of}>" for cell in row) for of, row in lines)
    table = "".join(f"<tr>{row}</tr>" for row in inner)
    return f"{f'<p>{escape(decision)}</p>' if decision else ''}<table>{table}</table>"


def _inert(text: str) -> str:
    """Return a text without control characters: names come from files, and may hold anything."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
