"""How the verbs print: aligned tables, JSON, and never a control character from a file."""

import shutil
import sys
from collections.abc import Sequence

import click

from rig.calls import Json, JsonObject
from rig.displays.pages.published import tables_markdown
from rig.displays.printable import printable as printable
from rig.displays.table import cells
from rig.files import json_text
from rig.methods.base import Table


def print_json(value: Json) -> None:
    """One JSON value, indented, on stdout. ASCII, so that no text in it can steer a terminal."""
    click.echo(json_text(value, indent=2))


def terminal_width() -> int | None:
    """The cells of a line of the terminal that stdout is; None where it is a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest cell."""
    click.echo("\n".join(cells(header, rows)))


def print_tables(tables: Sequence[Table], of: JsonObject, *, as_json: bool) -> None:
    """The tables of a method's paper, as Markdown; as JSON beside what they are of."""
    if as_json:
        print_json({**of, "tables": [table.as_json() for table in tables]})
    else:
        click.echo(printable(tables_markdown(tables) or "no conversation of these arms is finished yet"))
