"""The progress of making a model file."""

import sys
import time
from collections.abc import Callable

import click

from rig.cli.output import printable

_REDRAW_S = 0.1


def bar(name: str, doing: str) -> Callable[[int, int], None]:
    """Shows on a terminal how far it is; elsewhere that a file is begun."""
    label = printable(name)
    if not sys.stderr.isatty():
        click.echo(f"{label}: {doing}", err=True)
        return lambda _done, _of: None
    shown = 0.0

    def draw(done: int, of: int) -> None:
        nonlocal shown
        if time.monotonic() - shown > _REDRAW_S or done == of:
            shown = time.monotonic()
            click.echo(f"\r\x1b[K{label}: tensor {done} of {of}", nl=done == of, err=True)

    return draw
