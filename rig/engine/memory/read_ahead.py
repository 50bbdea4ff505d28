"""Read a file before it is needed, so that it is in memory by then."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

from rig.engine.memory.devices import machine_memory

_PIECE = 8 << 20
SHARE = 0.5
"""Of the free memory a file may take so much; the system keeps it only as long as nobody needs it."""


@contextmanager
def reading_ahead(path: Path) -> Iterator[None]:
    """While this lasts, read a file beside what else is done. One that cannot be read is left."""
    stopped = Event()
    reader = Thread(target=_read, args=(path, stopped), daemon=True)
    reader.start()
    try:
        yield
    finally:
        stopped.set()
        reader.join()


def _read(path: Path, stopped: Event) -> None:
    with suppress(OSError), path.open("rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size > SHARE * machine_memory().free:
            return
        piece = bytearray(_PIECE)
        while not stopped.is_set() and file.readinto(piece):
            pass
