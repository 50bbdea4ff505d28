"""Odd values of every option and argument of every verb, drawn from the commands as they are declared.

Each ends in an answer or one line, within a minute and 2 GiB, and opens no socket.
"""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from tempfile import gettempdir
from typing import Any

import click

from benchmarks.attack import authored, calibrated, stores
from benchmarks.attack.campaign import Broken, ended, folder, main, within
from benchmarks.attack.hostile import TEXTS
from benchmarks.attack.scenes import SCENES, TOOLS
from rig.cli import cli

UNPLAYED = {
    "tour": "waits for keys",
    "models pull": "asks a package index",
    "bundle": "packs all that is installed",
    "bench": "measures for minutes",
}
"""Commands that are left out, and why."""
UNSET = frozenset(
    ("notify", "on", "plugin", "open", "toolbox", "servers", "tui", "datasette", "output", "export", "man")
)
"""Parameters whose values are run, wait for keys, or would be written to."""

_NUMBERS = (
    "0", "-1", "1", "2", "-0", "+1", "0x10", "1_000", "1e3", "1e400", "-1e400", "nan", "inf", "-inf",
    "1.5", "9" * 30, "9" * 5000, "2147483647", "2147483648", "4294967296", "9223372036854775808", "٣",
    "１", " 1", "0.5", "1e-320", "99999999", "-2147483649", "1,2", "1:2", "0-9", "1..5", "100%",
)  # fmt: skip
_NAMES = (
    "oracle", "latest", "latest/oracle", "latest/latest", "/", "//", ".", "..", "~", "~nobody-here/x",
    "-", "--", "=", "a=", "=b", "a=b", "a=b=c", "seed=1", "user=oracle", "temp=nan", "temperature=inf",
    "top_k=9" + "9" * 30, "@", "exact@", "exact@nan", "distilbert:", "minilm@0.8", ":", ",", ",,",
    "tiny", "tiny:0.5", "tiny@1", "*", "**", "http://127.0.0.1:1", "http://[::1",
    "http://127.0.0.1:99999", "http://", "https://a@b@c/", "mcp:", "cot@-1", "CUDA0=1", ".*=CPU",
    "(=CPU", "(a+)+$=CPU", "q4_0", "q4_0,q8_0,,", "f16:q4_0", "1MB", "-1MB", "1e999GB", "0", "f16",
    "k=f16", "auto", "none", "all", "default", "system=x", "fill:1..3", "fill", "seed", "AddAlarm-easy",
    "x" * 300, "x" * 100_000, "a\nb", "\n", "\t", "a\rb", "é" * 200, "\udcff", "[" * 5000, "{}", "[]",
    '"', "\\",
)  # fmt: skip
FILES = (
    *("empty", "folder", "pipe", "loop", "gone/x", "zero", "unreadable", "text", "tiny.gguf", "runs.sqlite"),
    *("hall", "hall/tools.json", "hall/scenes", "hall/scenes/hall.yaml", "long" * 70, "text/x", "sparse"),
)
"""What the place of a case has, by names of paths in it."""
_ARGUMENTS = {
    "models": ("oracle",), "model": ("tiny",), "run": ("latest",),
    "addresses": ("latest",), "address": ("latest/oracle",),
    "what": ("latest",), "files": ("@runs.sqlite",), "file": ("@text",), "places": ("latest",),
    "folder": ("@new",),
    "directory": ("@suite",), "toolbox": ("@hall",), "policy": ("@gate.toml",), "card": ("@card.json",),
    "arm": ("latest/oracle",), "first": ("tiny",), "second": ("tiny",), "other": ("tiny",),
    "labels": ("@text",), "suite": ("easy",), "tool": ("@hall",),
}  # fmt: skip
_BASES: dict[str, tuple[str, ...]] = {
    "run": ("--limit", "1", "--similarity", "exact", "--display", "none"),
    "noise": ("--limit", "1", "--similarity", "exact", "--display", "none"),
    "plan": ("--limit", "1", "--similarity", "exact", "--seconds", "0"),
    "watch": ("--speed", "max", "--display", "log"),
    "demo": ("--speed", "100000", "--display", "log"),
    "export": ("--format", "csv"),
    "screen": ("--threads", "1", "--limit", "1"),
    "judge answers": ("--evaluator", "truth", "--display", "none"),
    "judge calibrate": ("--evaluator", "truth", "--display", "none"),
    "models quantize": ("--to", "q4_0", "--threads", "1"),
    "models calibrate": ("--limit", "1", "--threads", "1"),
    "models tune": (
        *("--limit", "1", "--threads", "1", "--size", "1MB", "--candidates", "1", "--display", "none"),
    ),
    "author": ("--count", "2"),
}  # fmt: skip


def commands(command: click.Command = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command, by its words."""
    context = click.Context(command)
    if isinstance(command, click.Group):
        if command.invoke_without_command:
            yield " ".join(path), command
        for name in command.list_commands(context):
            if (inner := command.get_command(context, name)) is not None:
                yield from commands(inner, (*path, name))
    else:
        yield " ".join(path), command


@cache
def _commands() -> dict[str, click.Command]:
    calibrated._vocabulary()  # which loads what the forks need
    return {name: command for name, command in commands() if name not in UNPLAYED}


def furnish(place: Path) -> None:
    """What the paths of `FILES` are."""
    authored.toolbox(place, TOOLS, SCENES)
    (place / "tiny.gguf").write_bytes(calibrated.model())
    (place / "runs.sqlite").write_bytes(stores.whole())
    (place / "text").write_text("Some words.\n" * 20)
    (place / "gate.toml").write_text('[[required]]\nmetric = "success_rate"\nmax_loss = 5\n')
    (place / "empty").touch()
    for name in ("folder", "suite"):
        (place / name).mkdir()
    os.mkfifo(place / "pipe")
    (place / "loop").symlink_to("loop")
    (place / "zero").symlink_to("/dev/zero")
    (place / "unreadable").touch(0o000)
    with (place / "sparse").open("wb") as file:
        file.truncate(60 << 30)


def value(random: Random, parameter: click.Parameter) -> str:
    """An odd value: of the parameter's own kind, or of any other."""
    kind = parameter.type
    chosen = random.random()
    if isinstance(kind, click.Choice) and chosen < 0.6:
        return str(random.choice(list(kind.choices)))
    if "path" in kind.name or "file" in kind.name or "dir" in kind.name:
        chosen = chosen / 2 + 0.5
    elif "integer" in kind.name or "float" in kind.name:
        chosen /= 3
    if chosen < 0.3:
        return random.choice(_NUMBERS)
    if chosen < 0.55:
        return random.choice(_NAMES)
    if chosen < 0.65:
        return random.choice(TEXTS).replace("\0", "")
    return f"@{random.choice(FILES)}"


def words(random: Random, name: str, command: click.Command) -> list[str]:
    """A call of a command with some odd values."""
    odd = [*_BASES.get(name, ())]
    options = [one for one in command.params if isinstance(one, click.Option) and one.name not in UNSET]
    for option in random.sample(options, min(len(options), random.choice((0, 1, 1, 1, 2, 4)))):
        flag = random.choice([*option.opts, *option.secondary_opts])
        odd += [flag] if option.is_flag else [flag, value(random, option)]
    for argument in command.params:
        if isinstance(argument, click.Argument):
            usual = _ARGUMENTS.get(argument.name or "", ("latest",))
            is_odd = random.random() < 0.35
            # `report` needs none with --all alone.
            is_needed = argument.required or (argument.name == "addresses" and random.random() < 0.7)
            odd += [value(random, argument)] if is_odd else list(usual) if is_needed else []
    if any(one.name == "output" for one in options + command.params) and name not in ("export", "report"):
        odd += ["--output", "@made"]
    return [*name.split(), *odd]


def sockets(event: str, arguments: tuple[Any, ...]) -> str | None:
    """What is wrong: it listens, or connects elsewhere."""
    outside = event == "socket.connect" and isinstance(arguments[1], tuple) and arguments[1][0] not in _HERE
    listens = event == "socket.bind" and not _is_own(arguments[1])
    return f"{event} {arguments[1]!r}" if listens or outside else None


_HERE = ("127.0.0.1", "::1", "localhost")


def _is_own(place: object) -> bool:
    """Whether it is the socket with which rig tries from inside what a sandbox leaves open."""
    return isinstance(place, str) and place.startswith(f"{gettempdir()}/rig-")


def case(random: Random) -> str:
    """A call of rig with odd values, in a folder of its own far down."""
    name = random.choice(list(_commands()))
    with folder() as top:
        place = top.joinpath(*"abcdef")
        place.mkdir(parents=True)
        furnish(place)
        asked = [
            word[1:] if word[:1] == "@" and word[1:] else word
            for word in words(random, name, _commands()[name])
        ]
        told = [word if len(word) < 80 else f"{word[:20]}…({len(word)})" for word in asked]
        done = within(place, asked, sockets, told, RIG_RUNS=place / "runs.sqlite", PIP_NO_INDEX="1")
        if elsewhere := [path for path in top.rglob("*") if place not in (path, *path.parents)][5:]:
            raise Broken(f"rig {told}: wrote {elsewhere}")
    return f"{name.split()[0]} {ended(done)}"


if __name__ == "__main__":
    main("options", case, 300)
