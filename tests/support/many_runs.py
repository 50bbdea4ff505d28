"""A store of many runs, made from one by copying its rows: as large as one likes, within seconds."""

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

from graded_talks import model, play

_TABLES = {
    "arms": ("id", {"run"}),
    "conversations": ("id", {"run"}),
    "turns": ("id", {"arm", "conversation"}),
    "predictions": ("id", {"turn"}),
    "scores": ("id", {"arm", "conversation"}),
    "counts": ("", {"score"}),
    "faults": ("id", {"score"}),
}
_OFFSET = 1_000_000
"""How far apart the ids of two runs are."""


def write(path: Path, runs: int, *, arms: int = 3, conversations: int = 50, steps: bool = False) -> None:
    """A store of ladders on the same suite, in each of which other conversations go wrong.

    Without `steps` the copies have no predictions, which a page over all runs does not show.
    """
    models = [
        model(
            conversations,
            set(range(place)),
            fingerprint={
                "file": f"model-Q{place}.gguf",
                "file_sha256": f"{place:064}",
                "file_bytes": 10**8 - place,
            },
        )
        for place in range(arms)
    ]
    names = [f"some-model-1.5b-instruct-Q{place}_K_M" for place in range(arms)]
    play(path, *models, number=conversations, names=names, run="00000")
    random = Random(7)
    with closing(sqlite3.connect(path)) as database, database:
        for number in range(1, runs):
            _copy(database, number, steps=steps)
        scores = [row[0] for row in database.execute("SELECT id FROM scores")]
        rows = [(int(random.random() < 0.6), score) for score in scores]
        [success] = database.execute(
            "SELECT json_extract(declaration, '$.success') FROM runs LIMIT 1"
        ).fetchone()
        database.executemany(f"UPDATE counts SET value = ? WHERE score = ? AND name = '{success}'", rows)


def _copy(database: sqlite3.Connection, number: int, *, steps: bool) -> None:
    """Copy the first run, a day later."""
    columns = [row[1] for row in database.execute("PRAGMA table_info(runs)")]
    changed = {"id": f"'{number:05}'", "created": f"datetime(created, '-{number} hours') || '+00:00'"}
    chosen = ", ".join(changed.get(name, name) for name in columns)
    database.execute(f"INSERT INTO runs SELECT {chosen} FROM runs WHERE id = '00000'")
    for table, (key, others) in _TABLES.items():
        if table == "predictions" and not steps:
            continue
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        moved = {name: f"{name} + {number * _OFFSET}" for name in {key, *others} - {"run", ""}}
        moved["run"] = f"'{number:05}'"
        chosen = ", ".join(moved.get(name, name) for name in columns)
        of = f"{key or 'score'} < {_OFFSET}"
        database.execute(f"INSERT INTO {table} SELECT {chosen} FROM {table} WHERE {of}")
