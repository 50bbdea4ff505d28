"""Stored runs: one in short, its heat map, and several compared in a separate process."""

import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rig.calls import Json
from rig.displays.summary import summary
from rig.displays.texts import clock_time, out_of
from rig.errors import RigError
from rig.store import Runs, StoredRun
from tui.text.lines import Tint, fit, inert_line
from tui.text.page_writer import PageWriter

if TYPE_CHECKING:
    from rig.compare.groups import Groups

_SETTINGS = (
    *("suite", "conversations", "world", "only", "limit", "docs", "tools", "history"),
    *("temperature", "seed", "repeats", "max_calls", "max_tokens", "grader"),
)


def write_run(page: PageWriter, run: StoredRun) -> None:
    """The run's settings and its summary."""
    page.title(f"run {run.id}", (f"  {inert_line(run.name or '')}", Tint.STRONG))
    took = sum(arm.speed.wall_s for arm in run.arms)
    state = f"{run.state}, {out_of(run.turns_done, run.turns, between=' of ')} turns in {clock_time(took)}"
    page.words(("state", Tint.MUTED), state)
    if run.state == "interrupted":
        page.words(("", Tint.MUTED), "resume it with r, or with rig run --resume", Tint.ERROR)
    values = ((name, run.settings.get(name)) for name in _SETTINGS)
    if settings := [f"{name} {_plain(value)}" for name, value in values if value not in (None, [], ())]:
        page.words(("settings", Tint.MUTED), ", ".join(settings))
    page.gap()
    for line in summary(run, page.width - 1).splitlines():
        page.lines.append(fit([(f" {inert_line(line)}", Tint.PLAIN)], page.width))


def _plain(value: Json) -> str:
    return "/".join(map(str, value)) if isinstance(value, list) else str(value)


def heat_maps(store: Path, run: str) -> "list[Groups]":
    """What is stored of a run by now, in as many ways as there is more than one group. Raises RigError."""
    # Loads what compares arms, which a live view has no other use for.
    from rig.compare.groups import WAYS, groups_of

    maps = []
    with Runs.open(store) as runs:
        stored = runs.get(run)
        for by in WAYS:
            with suppress(RigError):
                maps.append(groups_of(runs, stored, by))
    return [groups for groups in maps if groups.by == "tool" or len(groups.rows) > 1]


class CompareProcess:
    """`rig compare` of these runs, across any settings, in progress.

    It runs in a separate process: the statistics take seconds, which a view and a run beside it cannot spare.
    Raises RigError if it cannot be started.
    """

    def __init__(self, store: Path, runs: Sequence[str]) -> None:
        self.runs = tuple(runs)
        self._began = time.monotonic()
        command = [
            sys.executable,
            "-m",
            "rig",
            "compare",
            "--full",
            "--across-settings",
            "--runs",
            str(store),
            "--",
        ]
        try:
            self._process = subprocess.Popen(
                [*command, *runs],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
            )
        except OSError as error:
            raise RigError(f"rig compare: {error}") from error

    @property
    def elapsed_s(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._began

    def text(self) -> str:
        """What it says, once it is through. Raises RigError with its fault."""
        out, errors = self._process.communicate()
        if self._process.returncode not in (0, 1):
            last = errors.strip().splitlines()[-1:] or [f"it ended with {self._process.returncode}"]
            raise RigError(last[0].removeprefix("rig: "))
        return out

    def give_up(self) -> None:
        """End it; nobody waits for what it says."""
        self._process.kill()
