"""Run stores with flipped bits, other bytes, or no end: every verb answers, or says so in a line."""

import atexit
import shutil
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp

from benchmarks.attack.campaign import ended, folder, main, rig
from benchmarks.attack.hostile import damaged

VERBS = (
    ("runs",),
    ("runs", "--json"),
    ("show", "latest"),
    ("show", "latest", "AddAlarm-easy"),
    ("score", "latest", "--similarity", "exact"),
    ("compare", "latest"),
    ("compare", "latest", "--sequential", "--json"),
    ("report", "latest", "--output", "REPORT"),
    ("leaderboard", "--json"),
    ("export", "latest", "--format", "tooltalk", "--output", "EXPORT"),
    ("export", "latest", "--format", "toolbench", "--output", "EXPORT"),
    ("export", "latest", "--format", "jsonl", "--rows", "calls"),
    ("watch", "latest", "--display", "log", "--speed", "max"),
    ("runs", "--backup", "COPY"),
    ("import", "STORE"),
    ("run", "--resume", "latest", "--display", "none"),
)


@cache
def whole() -> bytes:
    """A run of four conversations that the oracle has played as two arms."""
    place = Path(mkdtemp(prefix="attack-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    store = place / "runs.sqlite"
    rig(
        "run",
        "oracle",
        "oracle",
        "--limit",
        "4",
        "--similarity",
        "exact",
        "--display",
        "none",
        "--runs",
        store,
    )
    return store.read_bytes()


def case(random: Random) -> str:
    """A damaged store, and a verb."""
    verb = random.choice(VERBS)
    with folder() as place:
        store = place / "runs.sqlite"
        store.write_bytes(damaged(random, whole(), random.choice((1, 4, 20)), random.choice((3, 4, 6))))
        names = {"REPORT": "report.html", "EXPORT": "export", "COPY": "copy.sqlite", "STORE": "runs.sqlite"}
        words = [place / names[word] if word in names else word for word in verb]
        runs = place / "other.sqlite" if "STORE" in verb else store
        return f"{verb[0]} {ended(rig(*words, '--runs', runs))}"


if __name__ == "__main__":
    main("stores", case, 200)
