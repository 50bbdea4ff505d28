"""Journals as a program leaves them that is killed in the middle of a transaction."""

import struct
from pathlib import Path

MAGIC = bytes.fromhex("d9d505f920a163d7")
_SECTOR = 512


def leave(database: Path, victim: Path | None = None, ending: str = "-journal") -> Path:
    """Write a journal beside a database, with `victim` as the super-journal that SQLite deletes."""
    pages = database.read_bytes()[:100]
    [size] = struct.unpack(">H", pages[16:18])
    size = size if size > 1 else 1 << 16
    count = database.stat().st_size // size
    text = MAGIC + struct.pack(">5I", 0, 0, count, _SECTOR, size)
    text += bytes(_SECTOR - len(text))
    if victim is not None:
        name = bytes(victim.absolute())
        checksum = sum(byte - 256 if byte > 127 else byte for byte in name) & 0xFFFFFFFF
        text += struct.pack(">I", 0x40000000 // size + 1) + name
        text += struct.pack(">2I", len(name), checksum) + MAGIC
    journal = database.with_name(f"{database.name}{ending}")
    journal.write_bytes(text)
    return journal
