"""Put a finished file under its name, so that a crash at any moment leaves all of it or nothing."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree

_LEFT_OVER = 24 * 3600.0
"""Age in seconds at which a temporary folder of ours can only be what a killed process left behind."""


@contextmanager
def temporary_folder(directory: Path, purpose: str) -> Iterator[Path]:
    """A folder beside the target, so that the last step is a rename within one file system."""
    directory.mkdir(parents=True, exist_ok=True)
    for left in directory.glob(f".{purpose}-*"):
        if time.time() - left.stat().st_mtime > _LEFT_OVER:
            rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(
        dir=directory, prefix=f".{purpose}-", ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


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
