"""How the verbs print: aligned tables, JSON, and never a control character from a file."""

import shutil
import sys
from collections.abc import Sequence

import click

from rig.calls import Json
from rig.displays.printable import printable as printable
from rig.displays.table import cells
from rig.files import json_text


def print_json(value: Json) -> None:
    """One JSON value, indented, on stdout. ASCII, so that no text in it can steer a terminal."""
    click.echo(json_text(value, indent=2))


def terminal_width() -> int | None:
    """The cells of a line of the terminal that stdout is; None where it is a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest cell."""
    click.echo("\n".join(cells(header, rows)))
