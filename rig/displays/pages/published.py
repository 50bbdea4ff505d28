"""The tables of a method's paper as Markdown, aligned so that you can read them as they are."""

from collections.abc import Sequence

from rig.displays.numbers import percent
from rig.displays.table import inert, markdown
from rig.methods.paper import Table


def tables_markdown(tables: Sequence[Table]) -> str:
    """Each table under its title, and last what the paper's own rows are."""
    parts = [f"**{table.title}** (graded by {inert(table.grader)})\n\n{_grid(table)}" for table in tables]
    cited = dict.fromkeys(table.cited for table in tables)
    return "\n\n".join([*parts, *filter(None, cited)])


def _grid(table: Table) -> str:
    texts = sum(isinstance(cell, str) for cell in table.cells[0])
    rows = [tuple(inert(cell_text(cell)) for cell in row) for row in table.cells]
    return markdown(table.header, rows, texts)


def cell_text(value: str | int | float | None) -> str:
    """What stands in a cell; shares are in percent."""
    return str(value) if isinstance(value, str | int) else percent(value)
