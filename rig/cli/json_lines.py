"""What other programs read: under `--json`, stdout has JSON lines, the last of them the result or an error.

docs/reference/json.md describes the lines, and json.schema.json beside it is their schema. Whatever else a
verb prints on stdout becomes the text of its result if it has no other.
"""

import io
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TextIO

import click
from click.core import ParameterSource

from rig import __version__
from rig.cli.mistakes import usual_remedy
from rig.core.budget import parse_json
from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.core.files import json_text

LINES = "Print JSON lines: start, progress, and the result last; a display uses stderr."
"""The help of `--json` of verbs that take long, by which they are known."""

_EVERY_S = 1.0
"""Progress is told at once, then this often, and at the end."""
_KILLED = 128
"""Exit codes above this are of processes that a signal ended, as shells have it."""
_INTERRUPTED = "interrupted, and what was stored is intact; `rig run --resume RUN` continues a run"
_SILENT = "ended without a result; what stderr has says why"
_MEANT = re.compile(r" \(([Dd]id you mean .*?\?)\)")
_REMEDIES = [
    re.compile(r"(.*); ((?:[^()]|\([^()]*\))+)"),
    re.compile(r"(.*?\?) ([A-Z].*)"),
    re.compile(r"(Missing .*? of `[^`]*`): (.*)"),
]
"""What to do stands behind the last semicolon outside brackets, a question, or what is missing."""


@dataclass(eq=False)
class _Told:
    """What a command under `--json` has told so far, and the stdout that it tells it on."""

    stdout: TextIO
    path: str = "rig"
    is_long: bool = False
    is_ended: bool = False
    failures: list[str] = field(default_factory=list)
    progress: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)


_told: list[_Told] = []
"""One if the command runs under `--json`, else none."""


@contextmanager
def answering(arguments: Sequence[str]) -> Iterator[None]:
    """A context in which a command is told in JSON lines if its arguments have `--json`."""
    if "--json" in arguments:
        _begin()
    try:
        yield
    finally:
        while _told:
            sys.stdout = _told.pop().stdout


def _begin() -> _Told:
    _told.append(_Told(sys.stdout))
    encoding = sys.stdout.encoding or "utf-8"  # It decides which signs are drawn.
    sys.stdout = io.TextIOWrapper(io.BytesIO(), encoding, "backslashreplace", write_through=True)
    return _told[0]


def start(context: click.Context) -> None:
    """Take note of the verb, and tell its start if it takes long."""
    told = _told[0] if _told else _begin()  # A file of settings can give `--json`, too.
    told.path = context.command_path
    parameters = {parameter.name: parameter for parameter in context.command.get_params(context)}
    told.is_long = getattr(parameters["as_json"], "help", "") == LINES
    options: dict[str, Json] = {}
    for name, value in context.params.items():
        is_set = value is not None and context.get_parameter_source(name) is not ParameterSource.DEFAULT
        if is_set and name != "as_json":
            flag = max(parameters[name].opts, key=len).lstrip("-")
            options[flag] = parse_json(json.dumps(value, default=str))
    if told.is_long:
        about: JsonObject = {"verb": told.path.removeprefix("rig "), "version": __version__}
        _line({"event": "start", **about, "pid": os.getpid(), "options": options})


def progress(name: str, what: str, done: int, of: int) -> None:
    """Tell how far a verb that takes long is, if the last line on that is long enough ago.

    On a terminal a display shows it, which lines between would break.
    """
    if not _told or not _told[0].is_long or not of or _told[0].stdout.isatty():
        return
    now, (told_s, before) = time.monotonic(), _told[0].progress.get((name, what), (-_EVERY_S, -1))
    if done != before and (now - told_s >= _EVERY_S or done == of):
        _told[0].progress[name, what] = now, done
        _line({"event": "progress", "name": name, "what": what, "done": done, "of": of})


def result_stream() -> TextIO:
    """Return the stdout that a result is written to, as one line."""
    if _told:
        _told[0].is_ended = True
    return _told[0].stdout if _told else sys.stdout


def note_failures(lines: Sequence[str]) -> None:
    """Keep lines on what failed for the error that is told if no result follows."""
    for told in _told:
        told.failures += lines


def end(code: int, line: str = "", error: BaseException | None = None) -> None:
    """Tell an error as the last line, or what was printed if nothing else was told."""
    told = next(iter(_told), None)
    if told is None or (told.is_ended and not line):
        return
    if not line and not code:
        sys.stdout.seek(0)
        _line({"text": sys.stdout.read()})
        return
    line = line or _INTERRUPTED * (code > _KILLED) or "; ".join(told.failures) or _SILENT
    path = getattr(getattr(error, "ctx", None), "command_path", told.path)
    message, remedy = parted(" ".join(line.split()))
    _line({"error": {"message": message, "remedy": remedy or usual_remedy(message, path), "code": code}})


def parted(line: str) -> tuple[str, str]:
    """Return what a line says is wrong, and what it says to do about it, which is empty if it does not."""
    match = next(filter(None, (remedy.fullmatch(line) for remedy in _REMEDIES)), None)
    message, remedy = match.groups() if match else (line, "")
    if meant := _MEANT.search(message):
        message, remedy = message.replace(meant[0], "", 1), f"{meant[1]} {remedy}".strip()
    return message, remedy


def _line(value: Json) -> None:
    with suppress(RigError):  # A full disk is reported when the result is written.
        print(json_text(value), file=_told[0].stdout, flush=True)
