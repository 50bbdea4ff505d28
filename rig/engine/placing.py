"""Putting a finished file under its name, so that a crash at any moment leaves all of it or nothing."""

import os
from pathlib import Path


def put_in_place(finished: Path, target: Path) -> None:
    """Rename a file within its file system once its content is on the disk. Raises OSError."""
    _flush(finished)
    os.replace(finished, target)
    _flush(target.parent)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
