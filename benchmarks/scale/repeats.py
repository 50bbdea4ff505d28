"""What verbs cost on a run of many repeats, without playing them: the turns of a short run are copied in SQL.

    .venv/bin/python benchmarks/scale/repeats.py [--repeats 300] [--folder DIR]

The oracle plays every conversation of rig's own once in each of two runs, which are then given repeats:
205,200 predictions each at 300. Prints seconds of CPU and peak memory of each verb, in a process of its own.
"""

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.scale.simulate import measured  # noqa: E402

VERBS = {
    "runs": ("runs",),
    "show": ("show", "first"),
    "report": ("report", "first", "--output", os.devnull),
    "compare, two arms": ("compare", "first", "second"),
    "watch --display log": ("watch", "first", "--display", "log"),
    "export --format jsonl": ("export", "first", "--format", "jsonl", "--output", os.devnull),
    "score": ("score", "first"),
    "score --reexecute": ("score", "first", "--reexecute"),
}

_NUMBERED = ("turns", "predictions", "scores", "faults")
_RAISED = {
    "turns": {"id": "turns"},
    "predictions": {"id": "predictions", "turn": "turns"},
    "scores": {"id": "scores"},
    "faults": {"id": "faults", "score": "scores"},
    "counts": {"score": "scores"},
    "error_types": {"score": "scores"},
}
"""Of each table with rows for each repeat: the columns with numbers of rows, and of which table."""


def main() -> None:
    """Play, copy, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=300)
    parser.add_argument("--folder", type=Path, help="for the store, which stays there")
    parser.add_argument("--verbs", nargs="*", default=list(VERBS), choices=list(VERBS))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        store = (asked.folder or Path(folder)) / f"repeats-{asked.repeats}.sqlite"
        if not store.exists():
            made = Path(folder) / "made.sqlite"
            _play(made)
            _repeat(made, asked.repeats)
            made.rename(store)
        print("| verb | CPU seconds | peak memory |\n| --- | --- | --- |", flush=True)
        for name in asked.verbs:
            used, peak = measured([*VERBS[name], "--runs", str(store)])
            print(f"| {name} | {used:.1f} | {peak / 2**20:.0f} MiB |", flush=True)


def _play(store: Path) -> None:
    for name in ("first", "second"):
        command = [sys.executable, "-m", "rig", "run", "oracle", "--suite", "all", "--similarity", "exact"]
        command += ["--display", "none", "--name", name, "--runs", str(store)]
        subprocess.run(command, check=True, cwd=ROOT)


def _repeat(store: Path, repeats: int) -> None:
    with closing(sqlite3.connect(store)) as database, database:
        last = {
            name: database.execute(f"SELECT max(id) FROM {name}").fetchone()[0] or 0 for name in _NUMBERED
        }
        for table, raised in _RAISED.items():
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            terms = [_term(column, raised, last) for column in columns]
            names = ", ".join(f'"{column}"' for column in columns)
            # The rows of the first repeat come first, so they are those up to what was the last.
            of_first = " AND ".join(f'"{column}" <= {last[of]}' for column, of in raised.items())
            copied = f"INSERT INTO {table} ({names}) SELECT {', '.join(terms)} FROM {table} WHERE {of_first}"
            for repeat in range(1, repeats):
                database.execute(copied, {"repeat": repeat})
        database.execute("UPDATE runs SET repeats = ?", [repeats])


def _term(column: str, raised: dict[str, str], last: dict[str, int]) -> str:
    if column in raised:
        return f'"{column}" + :repeat * {last[raised[column]]}'
    return ":repeat" if column == "repeat" else f'"{column}"'


if __name__ == "__main__":
    main()
