"""Runs that are killed at random moments and resumed: no prediction is lost, doubled, or another."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.attack.campaign import Broken, folder, main

_RUN = ("--display", "none", "--similarity", "exact")
_MOST_KILLS = 4


def rig(*arguments: object) -> subprocess.Popen[bytes]:
    """rig in a process of its own."""
    command = [sys.executable, "-P", "-m", "rig", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def predictions(store: Path) -> list[Any]:
    """Every prediction with its place."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as database:
        if database.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise Broken("the store is damaged")
        return database.execute(
            "SELECT conversations.name, turns.repeat, turns.turn, step, kind, raw, tool, arguments, match"
            " FROM predictions JOIN turns ON turns.id = predictions.turn"
            " JOIN conversations ON conversations.id = turns.conversation ORDER BY 1, 2, 3, 4"
        ).fetchall()


def play(store: Path, *resumed: str) -> subprocess.Popen[bytes]:
    """The run that is killed, from its start or from where it is."""
    asked = resumed or ("oracle", "--repeats", "3", "--limit", "8")
    return rig("run", *asked, *(_RUN if not resumed else _RUN[:2]), "--runs", store)


@cache
def left_alone() -> tuple[list[Any], float]:
    """What a run gives that nobody kills, and how long it takes in seconds."""
    with folder() as place:
        started = time.monotonic()
        process = play(place / "runs.sqlite")
        said = process.communicate()[1].decode("utf-8", "replace")
        if process.returncode:
            raise Broken(f"a run that was left alone failed: {said[-300:]}")
        return predictions(place / "runs.sqlite"), time.monotonic() - started


def case(random: Random) -> str:
    """Killed a few times, then left alone."""
    whole, seconds = left_alone()
    kills = 0
    with folder() as place:
        store = place / "runs.sqlite"
        for _ in range(random.randrange(1, _MOST_KILLS)):
            process = play(store, *again(store))
            time.sleep(random.uniform(0, 1.2 * seconds))
            kills += process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.communicate()
        process = play(store, *again(store))
        said = process.communicate()[1].decode("utf-8", "replace")
        # A run that was over before it could be killed has nothing to resume.
        if process.returncode and "Traceback" in said:
            raise Broken(said[-300:])
        if predictions(store) != whole:
            raise Broken(
                f"after {kills} kills other predictions than a run that was left alone: {said[-200:]}"
            )
    return f"{kills} kills"


def stored_turns(store: Path) -> int | None:
    """How many turns a store holds; None if no run has begun to be stored."""
    if not store.exists() or not os.path.getsize(store):
        return None
    try:
        with closing(sqlite3.connect(store)) as database:
            if database.execute("SELECT count(*) FROM runs").fetchone() == (0,):
                return None
            return int(database.execute("SELECT count(*) FROM turns").fetchone()[0])
    except sqlite3.OperationalError:
        return None


def again(store: Path) -> tuple[str, ...]:
    """The arguments with which a run goes on, or begins."""
    return () if stored_turns(store) is None else ("--resume", "latest")


if __name__ == "__main__":
    main("killed", case, 20)
