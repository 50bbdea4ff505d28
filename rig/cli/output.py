"""How the verbs print: aligned tables, sizes for people, JSON, and never a control character from a file."""

import json
import shutil
import sys
from collections.abc import Sequence

import click

from rig.calls import Json
from rig.displays.printable import printable as printable


def print_json(value: Json) -> None:
    """One JSON value, indented, on stdout. ASCII, so that no text in it can steer a terminal."""
    click.echo(json.dumps(value, indent=2))


def terminal_width() -> int | None:
    """The cells of a line of the terminal that stdout is; None where it is a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest cell."""
    cells = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(padded).rstrip())


def mebibytes(size: int | None) -> str:
    """A size in bytes as MiB, or as GiB from 10 GiB on; `?` for None."""
    if size is None:
        return "?"
    return f"{size / 2**30:.1f} GiB" if size >= 10 * 2**30 else f"{size / 2**20:,.1f} MiB"


def millions(count: int) -> str:
    """A count of parameters: 134.5M, 7.24B."""
    return f"{count / 1e9:.2f}B" if count >= 1e9 else f"{count / 1e6:.1f}M"
