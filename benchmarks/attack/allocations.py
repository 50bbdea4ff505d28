"""Memory that runs out: the Nth allocation of a short run fails, and nothing that was announced is lost.

Each case is a fork of one process. Python's allocations fail one by one, or some in a row, by CPython's own
hook for its tests; those of SQLite and everything else by a limit on the process's address space.
"""

import atexit
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from benchmarks.attack.campaign import Broken, folder, main
from benchmarks.attack.killed import predictions, stored_turns

RUN = ("run", "oracle", "--only", "AddAlarm-easy", "--similarity", "exact", "--display", "none")
_ALLOCATIONS = 400_000
"""About as many as the run makes."""
_MOST_ROOM = 24 << 20
"""Bytes that a run is left with, at most; with more it lacks nothing."""
_PATIENCE_S = 600

_SWEEP = """
import json, os, resource, sys, traceback
from _testcapi import remove_mem_hooks, set_nomemory
from rig.cli import main
from rig.show import base
from rig.core.events import TurnFinished

answers = os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
told = []
base._ignore = lambda event: told.append(1) if isinstance(event, TurnFinished) else None

def limited(kind, number, lasting):
    if kind == "allocation":
        set_nomemory(number, number + lasting)
    elif kind == "limit":
        pages = int(open("/proc/self/statm").read().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + number,) * 2)

def played(kind, number, lasting, arguments, said):
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    handle = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(handle, 1), os.dup2(handle, 2)
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))  # what hangs is killed
    code = 0
    try:
        limited(kind, number, lasting)
        try:
            main(arguments)
        finally:
            remove_mem_hooks()
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        code = 1
        traceback.print_exc()
    try:
        print(f"\\ntold {len(told)}", flush=True)
        sys.stderr.flush()
    finally:
        os._exit(code)

try:
    main([*json.loads(sys.argv[1]), "--runs", sys.argv[2]])
except SystemExit as end:
    assert not end.code, end.code
told.clear()
for line in sys.stdin:
    print(played(*json.loads(line)), file=answers, flush=True)
"""


class _Sweep:
    """The process that forks; it has played the run once, so that all of rig is loaded."""

    def __init__(self, warm: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _SWEEP, json.dumps(RUN), str(warm)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def end(self) -> None:
        """Let go of it."""
        self._process.communicate(timeout=_PATIENCE_S)

    def play(self, kind: str, number: int, lasting: int, arguments: tuple[str, ...], store: Path) -> "_Ended":
        """The run in a fork of its own, with allocations that fail from the Nth on, or with little room."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        said = store.with_suffix(".said")
        asked = [kind, number, lasting, [*arguments, "--runs", str(store)], str(said)]
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise Broken("the process that forks is gone")
        text = said.read_text(encoding="utf-8", errors="replace")
        told = text.rpartition("\ntold ")
        return _Ended(int(line), told[0], int(told[2] or 0))


class _Ended(NamedTuple):
    """How a run ended: its exit code, what it said, and how many turns it announced."""

    code: int
    said: str
    told: int


@cache
def _started() -> tuple[_Sweep, list[Any]]:
    """The process, and what a run stores whose memory never runs out."""
    with folder() as place:
        sweep = _Sweep(place / "warm.sqlite")
        atexit.register(sweep.end)
        whole = place / "whole.sqlite"
        sweep.play("", 0, 0, RUN, whole)
        return sweep, predictions(whole)


def case(random: Random) -> str:
    """A run that is short of memory, then one that goes on with it."""
    sweep, expected = _started()
    with folder() as place:
        store = place / "runs.sqlite"
        kind = random.choice(("allocation", "allocation", "limit"))
        number = random.randrange(1, _ALLOCATIONS if kind == "allocation" else _MOST_ROOM)
        how = kind, number, random.choice((1, 1, 10, 100))
        ended = sweep.play(*how, RUN, store)
        said = _judged(f"{how}", ended, store, expected)
        resumed = ("run", "--resume", "latest", *RUN[-2:]) if stored_turns(store) is not None else RUN
        again = sweep.play("", 0, 0, resumed, store) if ended.code else ended
        if again.code or predictions(store) != expected:
            raise Broken(f"{how}: resumed: {again}")
    return said


def _judged(how: str, ended: _Ended, store: Path, expected: list[Any]) -> str:
    """In a word; raises Broken."""
    lines = [line for line in ended.said.splitlines() if line.startswith("rig: ")]
    # 1 is of an arm that could not go on.
    if "Traceback" in ended.said or ended.code not in (0, 1, 2) or bool(ended.code) != (len(lines) == 1):
        raise Broken(f"{how}: exit {ended.code}: {ended.said[-1500:]}")
    if (stored_turns(store) or 0) < ended.told:
        raise Broken(f"{how}: {ended.told} turns were announced, {stored_turns(store)} are stored")
    if ended.code == 0 and predictions(store) != expected:
        raise Broken(f"{how}: done, and other predictions are stored")
    return "not needed" if ended.code == 0 else "said so"


if __name__ == "__main__":
    main("allocations", case, 500)
