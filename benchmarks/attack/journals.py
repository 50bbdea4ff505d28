"""Hot journals beside databases of others, which name a file that SQLite deletes if it applies them.

Stores, worlds, copies and new stores, by every verb that opens one, with journals of several kinds, names and
modes. Whatever the verb says, no file but its own is removed, written or dated anew.
"""

import os
import shutil
import sqlite3
import struct
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

from benchmarks.attack import stores
from benchmarks.attack.campaign import Broken, apart, ended, folder, main
from rig.core.paths import WORLD_DATABASE

MAGIC = bytes.fromhex("d9d505f920a163d7")
NAMES = (
    "victim",
    "a victim",
    "víctim",
    "%41?x=1#y",
    "v" * 200,
    ".hidden",
    "runs.sqlite-mj01234567",
    "x-journal",
)
"""What the file is called that a journal names."""


def journal(database: Path, victim: str, *, pages: int = 0, header: int = 512, blank: int = 0) -> bytes:
    """A journal of so many pages that names a file, with `blank` bytes in place of the beginning."""
    head = database.read_bytes()[:100] if database.exists() else b""
    size = struct.unpack(">H", head[16:18])[0] if len(head) == 100 else 4096
    size = 65536 if size == 1 else max(size, 512)
    of_file = os.path.getsize(database) // size if database.exists() else 1
    start = MAGIC + struct.pack(">IIIII", pages, 0, of_file, header, size)
    start = b"\0" * blank + start[blank:] + b"\0" * (header - len(start))
    body = b"".join(
        struct.pack(">I", page + 1) + b"\0" * size + struct.pack(">I", 0) for page in range(pages)
    )
    name = os.fsencode(victim)
    check = sum(byte - 256 if byte > 127 else byte for byte in name) & 0xFFFFFFFF
    end = struct.pack(">I", 0x40000000 // size + 1) + name + struct.pack(">II", len(name), check) + MAGIC
    return start + body + end


def _plain(random: Random, store: Path, victim: str) -> None:
    kind = random.choice(({}, {"pages": 1}, {"header": 4096}, {"pages": 3, "header": 1024}))
    _beside(store).write_bytes(journal(store, victim, **kind))


def _rolled(random: Random, store: Path, victim: str) -> None:
    """The database keeps no log, as other programs' do."""
    with closing(sqlite3.connect(store)) as database:
        database.execute(f"PRAGMA journal_mode = {random.choice(('DELETE', 'TRUNCATE', 'PERSIST'))}")
    for ending in ("-wal", "-shm", "-journal"):
        store.with_name(store.name + ending).unlink(missing_ok=True)
    _plain(random, store, victim)


def _linked(random: Random, store: Path, victim: str) -> None:
    """The journal is a link, or has another name."""
    elsewhere = store.with_name("elsewhere")
    elsewhere.write_bytes(journal(store, victim))
    (os.symlink if random.random() < 0.5 else os.link)(elsewhere, _beside(store))


def _through(random: Random, store: Path, victim: str) -> None:
    """The store is a link, with journals beside it and beside what it leads to."""
    real = store.with_name("real.sqlite")
    store.rename(real)
    store.symlink_to(real.name)
    for database in (real, store)[:: random.choice((1, -1))][: random.choice((1, 2))]:
        _beside(database).write_bytes(journal(real, victim))


def _with_log(random: Random, store: Path, victim: str) -> None:
    """There is a log as well, sound or of nothing."""
    log = store.with_name(f"{store.name}-wal")
    log.write_bytes(random.choice((b"", b"\x37\x7f\x06\x82" + random.randbytes(60), random.randbytes(5_000))))
    _plain(random, store, victim)


def _half_blank(random: Random, store: Path, victim: str) -> None:
    """The beginning is blank, as after a transaction, wholly or but for a byte."""
    blank = random.choice((1, 8, 28))
    _beside(store).write_bytes(journal(store, victim, blank=blank))


WAYS: tuple[Callable[[Random, Path, str], None], ...] = (
    *(_plain, _rolled, _rolled, _linked, _through, _with_log, _half_blank),
)

_READS = (
    *stores.VERBS,
    *(("score", "latest", "--similarity", "exact"), ("runs", "--repair"), ("gate", "GATE", "latest")),
    *(
        ("card", "make", "latest", "-o", "CARD"),
        ("show", "latest", "--json"),
        ("adjudicate", "latest", "--json"),
    ),
    *(("plan", "latest"), ("noise", "--of", "latest"), ("history", "oracle"), ("serve-command", "latest")),
    *(("run", "oracle", "--limit", "1", "--similarity", "exact", "--display", "none"),),
)
_WORLDS = (("world", "check", "--world", "STORE"), ("run", "oracle", "--limit", "1", "--world", "STORE"))


def _beside(store: Path) -> Path:
    return store.with_name(f"{store.name}-journal")


def _state(top: Path) -> dict[str, tuple[int, int, bytes]]:
    """What lies in a folder: mode, time and content of each file."""
    return {
        str(path.relative_to(top)): (
            path.lstat().st_mode,
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(top.rglob("*"))
    }


def case(random: Random) -> str:
    """A verb on a database with such a journal."""
    with folder() as top:
        place, own = top / random.choice(("place", "a b", "p%20?q")), top / "own"
        for each in (place, own, top / "victims"):
            each.mkdir()
        victim = top / "victims" / random.choice(NAMES)
        victim.write_text("mine")
        os.utime(victim, (10**9, 10**9))
        named = random.choice((str(victim), os.path.relpath(victim, place), os.path.relpath(victim)))
        kind = random.choice(("store",) * 6 + ("world", "new", "copy", "import"))
        store = place / ("runs.sqlite" if kind != "new" else "new.sqlite")
        if kind == "world":
            shutil.copyfile(WORLD_DATABASE, store)
            verb = random.choice(_WORLDS)
        elif kind == "new":
            verb = _READS[-1]
        else:
            store.write_bytes(stores.whole())
            verb = {"copy": ("runs", "--backup", "STORE"), "import": ("import", "STORE")}.get(
                kind, random.choice(_READS)
            )
        way = random.choice(WAYS) if kind != "new" else _plain
        way(random, store, named)
        runs = store if kind in ("store", "new") else own / "runs.sqlite"
        if kind == "copy":
            runs.write_bytes(stores.whole())
        if kind in ("copy", "import") and random.random() < 0.5:
            # A database that another one is attached to takes part in its transactions.
            runs.write_bytes(stores.whole())
            random.choice(WAYS)(random, runs, named)
        words = {
            "STORE": store, "REPORT": own / "r.html", "EXPORT": own / "e", "COPY": own / "copy.sqlite",
            "CARD": own / "card.json", "GATE": own / "gate.toml",
        }  # fmt: skip
        (own / "gate.toml").write_text("[[gate]]\nmetric = 'success'\nmin = 1\n")
        before = {name: what for name, what in _state(top).items() if not name.startswith("own")}
        done = apart(*(words.get(word, word) for word in verb), "--runs", runs, RIG_CACHE=own / "cache")
        after = _state(top)
        for name, what in before.items():
            is_dated = not victim.parent.is_relative_to(top / name)
            if name not in after:
                raise Broken(f"{way.__name__} {verb}: {name} was deleted")
            changed = after[name][0] != what[0] or after[name][2] != what[2]
            if (name.startswith("victims") and is_dated and after[name] != what) or (
                changed and (done.code == 2 or name.endswith("-journal"))
            ):
                raise Broken(f"{way.__name__} {verb}: {name} was changed")
        more = [name for name in after if name not in before and not name.startswith("own")]
        if done.code == 2 and [name for name in more if not name.endswith(("-wal", "-shm"))]:
            raise Broken(f"{way.__name__} {verb}: {more} were left")
        return f"{kind} {ended(done)}"


if __name__ == "__main__":
    sys.exit(main("journals", case, 200))
