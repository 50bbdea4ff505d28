"""How the verbs print: aligned tables, JSON, and never a control character from a file."""

import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, cast

import click

from rig.cli import json_lines
from rig.core.errors import RigError
from rig.core.files import json_text
from rig.show.table import cells
from rig.show.texts import printable as printable

if TYPE_CHECKING:
    from rig.core.calls import Json

AnyForm = TypeVar("AnyForm", bound=str)


class _Unbroken:
    """A stream that does not fail when its reader is gone, as with `| head -1`: what is printed is lost.

    If it cannot be written for another reason, such as a full disk, writing raises RigError.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._fault: RigError | None = None

    def write(self, text: str) -> int:
        with self._lost():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._lost():
            self._stream.flush()

    @contextmanager
    def _lost(self) -> Iterator[None]:
        if self._fault is not None:  # click tries whether a stream can be written, and says nothing if not
            raise self._fault
        try:
            yield
        except OSError as error:
            # So that whatever is left in buffers is also dropped.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
            if not isinstance(error, BrokenPipeError):
                self._fault = RigError(f"stdout: cannot be written: {error.strerror}")
                raise self._fault from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def open_standard_streams() -> None:
    """Open the standard streams that were closed when rig started. Otherwise, the next files would get
    their numbers, and what is printed would end up in them.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is not None:
            continue
        try:
            os.fstat(number)
        except OSError:
            # A new file gets the lowest free number, which is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


@contextmanager
def unbroken_output() -> Iterator[None]:
    """A context in which nothing stops because stdout is closed."""
    stdout = sys.stdout
    sys.stdout = cast(TextIO, _Unbroken(stdout))
    try:
        yield
    finally:
        with suppress(ValueError, RigError):  # a closed stream, or a full disk that was reported already
            sys.stdout.flush()
        sys.stdout = stdout


def shortened(line: str) -> str:
    """Return a line with its middle left out if it is too long to read, as when it quotes a whole file."""
    left_out = len(line) - _LONGEST
    half = _LONGEST // 2
    return line if left_out <= 0 else f"{line[:half]} ({left_out:,} more characters) {line[-half:]}"


_LONGEST = 4_000


def say(text: str, *, err: bool = False) -> None:
    """Print a text without control characters for the terminal."""
    click.echo(printable(text), err=err)


def say_failures(failures: Iterable[tuple[str, str | None]]) -> bool:
    """Print on stderr what failed, by name. Return whether anything did."""
    lines = [f"{name}: {failure}" for name, failure in failures if failure]
    for line in lines:
        say(f"rig: {line}", err=True)
    json_lines.note_failures(lines)
    return bool(lines)


_STYLES: Mapping[str, Mapping[str, Any]] = {
    "success": {"fg": "green", "bold": True},
    "failure": {"fg": "red", "bold": True},
    "error": {"fg": "yellow", "bold": True},
    "alarm": {"fg": "magenta", "bold": True},
    "call": {"fg": "cyan"},
    "bar": {"fg": "cyan"},
    "strong": {"bold": True},
    "muted": {"dim": True},
    "rule": {"dim": True},
}


def paint(lines: Iterable[Iterable[tuple[str, str]]]) -> None:
    """Print tinted lines, in colour on a terminal unless `NO_COLOR` is set, without control characters."""
    plain = bool(os.environ.get("NO_COLOR"))
    for line in lines:
        spans = [(printable(text), {} if plain else _STYLES.get(tint, {})) for text, tint in line]
        text = "".join(click.style(text, **style) if style else text for text, style in spans)
        click.echo(text.rstrip())


def print_json(value: "Json") -> None:
    """Print one JSON value as a line on stdout. As it is ASCII, no text in it can control a terminal."""
    print(json_text(value), file=json_lines.result_stream(), flush=True)


def terminal_width() -> int | None:
    """Return the width of the terminal on stdout in cells; None if stdout is a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def form_of(output: Path | None, forms: Sequence[AnyForm], otherwise: AnyForm) -> AnyForm:
    """Return the form named by a file's ending, or `otherwise`."""
    ending = output.suffix.removeprefix(".").lower() if output else ""
    return next((form for form in forms if form == ending), otherwise)


def print_table(header: Sequence[str], rows: Iterable[Iterable[object]], width: int | None = None) -> None:
    """Print columns as wide as their widest cell, in blocks if lines would be longer than `width`."""
    click.echo("\n".join(cells(header, [[str(cell) for cell in row] for row in rows], width)))


def print_facts(facts: Mapping[str, object]) -> None:
    """Print a line for each known fact: its title and its value."""
    for title, fact in facts.items():
        if fact not in (None, "", 0):
            say(f"{title:<13} {fact}")


_REDRAW_S = 0.1
_drawn: dict[str, float] = {}


def show_progress(name: str, what: str, done: int, of: int, beside: str = "") -> None:
    """Show how far something is: on a terminal by a line that is redrawn, with a text `beside` it."""
    json_lines.progress(name, what, done, of)
    text = f"{printable(name)}: {what}"
    if sys.stderr.isatty() and (time.monotonic() - _drawn.get(text, 0.0) > _REDRAW_S or done == of):
        _drawn[text] = time.monotonic()
        text = f"{text} {done} of {of}" + (f"; {beside}" if beside else "")
        click.echo(f"\r\x1b[K{text}", nl=done == of, err=True)
