"""The command that plays some files with some tools for about as long as somebody wants to wait."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rig.core.errors import RigError, counted
from rig.plugins.mcp.server_config import CONFIG, read_config
from rig.plugins.start.places import FoundFile

PATIENCE = {"10 minutes": 600.0, "1 hour": 3_600.0, "over night": 8 * 3_600.0}
"""How long somebody waits, in seconds."""

_BYTES, _CORES = 1.1e9, 2
_OPENING_S, _CONVERSATION_S = 75.0, 15.0
"""What a file of so many bytes takes on so many cores to read rig's tools once, and for a conversation: 48
tokens a second read, 15 written, four answers of 40 tokens.
"""
_FEWEST = 5
"""Fewer conversations tell nothing."""
_MOST_FOLDERS = 500


class Tools(NamedTuple):
    """The tools to choose: their title, and the folder they are in, None for rig's own."""

    title: str
    folder: str | None = None


OWN = Tools("rig's own tools")


def tools_here() -> tuple[list[Tools], str]:
    """Return rig's tools, the user's own in folders of this one, and a remark on servers in `mcp.json`.

    No server is started.
    """
    choices = [OWN]
    with suppress(OSError), os.scandir() as entries:
        for entry, _ in zip(entries, range(_MOST_FOLDERS), strict=False):
            place = Path(entry.name)
            has_tools = (place / "tools.json").is_file() or (place / "toolbox.py").is_file()
            if has_tools and (place / "conversations").is_dir():
                runs = "its server" if (place / CONFIG).is_file() else "its code"
                choices.append(Tools(f"your own in {entry.name} (runs {runs})", named(entry.name)))
    remark = ""
    if Path(CONFIG).is_file():
        try:
            servers = read_config(Path(), is_started=False)
            remark = f"{CONFIG} names {', '.join(servers)}: `rig tools import` makes tools of a server"
        except RigError as error:
            remark = str(error)
    return choices, remark


def named(path: str) -> str:
    """Return a path that no program takes for an option."""
    return f"./{path}" if path.startswith("-") else path


def conversations(files: Sequence[FoundFile], seconds: float, cores: int) -> int:
    """Return about how many conversations all these files can play in some seconds, at least a few."""
    pace = sum(file.size for file in files) / _BYTES * _CORES / max(cores, 1)
    return max(int((seconds - pace * _OPENING_S) / max(pace * _CONVERSATION_S, 0.5)), _FEWEST)


def command(
    files: Sequence[FoundFile], seconds: float, tools: Tools, suites: Mapping[str, int], cores: int
) -> list[str]:
    """Return the words of `rig run` for these files, the largest first: it is what others are compared with.

    `suites` are rig's own by their conversations. Several files are played until a verdict.
    """
    ordered = sorted(files, key=lambda file: -file.size)
    many = conversations(ordered, seconds, cores)
    words = ["run", *(named(str(file.path)) for file in ordered)]
    most = None
    if tools.folder is not None:
        words += ["--toolbox", tools.folder]
    else:
        larger = (suite for suite in sorted(suites, key=lambda name: suites[name]) if suites[suite] >= many)
        suite = next(larger, max(suites, key=lambda name: suites[name]))
        words += ["--suite", suite]
        most = suites[suite]
    if most is None or many < most:
        words += ["--limit", str(many)]
    return [*words, "--until", "verdict"] if len(files) > 1 else words


def in_words(files: Sequence[FoundFile]) -> str:
    """Say how many files are chosen."""
    return counted(len(files), "file") if files else "no file yet"
