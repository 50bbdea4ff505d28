"""What a store of many turns costs: a run with a scripted model that answers at once, and the verbs on it.

    .venv/bin/python benchmarks/scale/simulate.py [--turns 1000000] [--arms 10] [--played 20000] [--store F]

Every conversation has two turns with a call each, in tokens of four characters. So many turns are played; the
others are copies of them, row by row, each arm's moved by some conversations so that outcomes differ. Prints
how many turns were played and stored for each second of CPU, part by part, and bytes for each turn; then for
`rig show`, `compare` and `report` seconds of CPU and peak memory, each in a process of its own. What a store
has already is not made again.
"""

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import replace
from itertools import product
from pathlib import Path
from time import process_time

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

import graded_talks  # noqa: E402
import small_talks  # noqa: E402

from rig.core.events import ConversationFinished, Event, TurnFinished  # noqa: E402
from rig.core.models import Prediction, Request  # noqa: E402
from rig.methods.scripted import Scripted  # noqa: E402

VERBS = {
    "show": ("show", "latest"),
    "compare": ("compare", "latest"),
    "compare --sequential": ("compare", "latest", "--sequential"),
    "report": ("report", "latest", "--output", os.devnull),
}


def main() -> None:
    """Play, measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=1_000_000)
    parser.add_argument("--arms", type=int, default=10)
    parser.add_argument("--played", type=int, default=20_000)
    parser.add_argument("--store", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = asked.store or Path(folder) / "runs.sqlite"
        if not store.exists():
            play(store, asked.turns // asked.arms // 2, asked.arms, asked.played // 2)
        with closing(sqlite3.connect(store)) as database, database:
            fill(database, asked.played // 2)
        turns = small_talks.stored(store).turns_done
        print(f"{turns:,} turns: {store.stat().st_size / turns:,.0f} bytes a turn", flush=True)
        print("| verb | CPU seconds | peak memory |\n| --- | --- | --- |", flush=True)
        for name, arguments in VERBS.items():
            used, peak = measured([*arguments, "--runs", str(store)])
            print(f"| {name} | {used:.1f} | {peak / 2**20:.0f} MiB |", flush=True)


def play(store: Path, conversations: int, arms: int, most: int) -> None:
    """Begin a run of so many conversations by so many arms, and stop after the `most` first conversations."""
    model = written(graded_talks.model(conversations, range(0, conversations, 7)))
    todo = small_talks.plan(store, *[model] * arms, conversations=graded_talks.conversations(conversations))
    control = small_talks.Control()
    turns, finished, clock = 0, 0, process_time()

    def listen(event: Event) -> None:
        nonlocal turns, finished, clock
        turns += isinstance(event, TurnFinished)
        if not isinstance(event, ConversationFinished):
            return
        finished += 1
        if finished % -(-most // 5) == 0 or finished == most:
            seconds = process_time() - clock
            print(f"conversation {finished:,}: {turns / seconds:,.0f} turns a second of CPU", flush=True)
            turns, clock = 0, process_time()
        if finished == most:
            control.stop()

    small_talks.run(todo, listen, control)


def written(model: Scripted) -> Scripted:
    """The same model with tokens in its predictions, as many as such answers have."""

    def script(request: Request) -> Prediction:
        found = model.predict(request, lambda _: None)
        count = -(-len(found.raw) // 4)
        tokens = tuple(range(10_000, 10_000 + count))
        logprobs = tuple(round(-0.0123 * place, 6) for place in range(count))
        return replace(
            found,
            token_ids=tokens,
            logprobs=logprobs,
            token_chars=(4,) * count,
            token_forced=(False,) * count,
        )

    return Scripted(script, fingerprint={"file_sha256": "0"})


def fill(database: sqlite3.Connection, played: int) -> None:
    """Copy what the first arm made of the first conversations to all others, and to all other arms."""
    (first,), *others = database.execute("SELECT id FROM arms ORDER BY position").fetchall()
    base, number = database.execute("SELECT min(id), count(*) FROM conversations").fetchone()
    if database.execute("SELECT count(*) FROM turns WHERE arm != ?", [first]).fetchone()[0]:
        return
    shifts = [database.execute(f"SELECT max(id) FROM {table}").fetchone()[0] for table in ("turns", "scores")]
    blocks = product(range(1 + len(others)), range(number // played))
    for place, (arm, block) in enumerate(blocks):
        if place == 0:
            continue
        turn, score = (place * shift for shift in shifts)
        anew = {
            "arm": f"arm + {arm}",
            "conversation": f"{base + block * played} + (conversation - {base} + {37 * arm}) % {played}",
            "score": f"score + {score}",
        }
        for table, name, shift in (
            ("turns", "id", turn),
            ("scores", "id", score),
            ("predictions", "turn", turn),
            ("counts", "score", score),
            ("error_types", "score", score),
            ("faults", "score", score),
        ):
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            kept = [column for column in columns if column != "id" or name == "id"]
            changed = anew | {name: f"{name} + {shift}"}
            values = ", ".join(changed.get(column, column) for column in kept)
            database.execute(
                f"INSERT INTO {table} ({', '.join(kept)}) SELECT {values} FROM {table}"
                f" WHERE {name} <= {shift // place}"
            )
    columns = [row[1] for row in database.execute("PRAGMA table_info(arms)")]
    same = ", ".join(
        f"{name} = (SELECT {name} FROM arms WHERE id = {first})"
        for name in columns
        if name not in ("id", "run", "position", "name")
    )
    database.execute(f"UPDATE arms SET {same}")
    database.execute("UPDATE runs SET finished = heartbeat")


def measured(arguments: list[str]) -> tuple[float, int]:
    """Seconds of CPU and peak memory in bytes of rig with these arguments."""
    code = (
        "import resource, sys; from benchmarks.memory import peak_memory; from rig.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(used.ru_utime + used.ru_stime, peak_memory(), file=sys.stderr)"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, env=environment
    )
    if done.returncode:
        sys.exit(done.stderr.decode())
    seconds, peak = done.stderr.decode().split()[-2:]
    return float(seconds), int(peak)


if __name__ == "__main__":
    main()
