"""Temporary files and folders whose names carry the process that made them.

A process that is killed leaves them behind. The next call that makes one at the same place removes those
whose process is gone.
"""

import os
import platform
import re
import secrets
import shutil
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CLOCK_SET_S = 60.0
"""The clock may be set by this much without making a process look like another: starts are given in its time.
"""
ELSEWHERE_S = 24 * 3600.0
"""A process of another machine cannot be looked at. What it made counts as left behind at this age."""

_NAME = re.compile(
    r"\.(?P<purpose>.+)\.(?P<host>[0-9a-f]{8})-(?P<pid>\d+)-(?P<started>\d+)-[0-9a-f]{16}", re.DOTALL
)
_LONGEST = 180
"""Bytes of a purpose in a name; file systems take about 255 of a name."""


def temporary_path(directory: Path, purpose: str) -> Path:
    """A new path for this process that nobody can foresee. What others left for this purpose is removed."""
    remove_leftovers(directory, purpose)
    pid = os.getpid()
    owner = f"{_host()}-{pid}-{started_s(pid) or 0:.0f}"
    return directory / f".{_shortened(purpose)}.{owner}-{secrets.token_hex(8)}"


@contextmanager
def temporary_folder(directory: Path, purpose: str) -> Iterator[Path]:
    """A folder that is removed at the end, in a directory that is made if it is not there. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    folder = temporary_path(directory, purpose)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(directory: Path, purpose: str) -> None:
    """Remove the temporary files and folders in a directory whose process is gone."""
    with suppress(OSError):
        for path in list(directory.iterdir()):
            name = _NAME.fullmatch(path.name)
            if name and name["purpose"] == _shortened(purpose) and _is_left(path, name):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


def put_in_place(finished: Path, target: Path) -> None:
    """Rename a file within its file system once its content is on the disk. Raises OSError."""
    _flush(finished)
    os.replace(finished, target)
    _flush(target.parent)


def started_s(pid: int) -> float | None:
    """When a process started, in seconds since 1970; None for one that is gone or a zombie."""
    # Kept from whoever makes nothing: it takes a moment to load.
    import psutil

    try:
        process = psutil.Process(pid)
        is_dead = process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        return None if is_dead else float(process.create_time())
    except (psutil.Error, OverflowError):
        return None


def is_running(pid: int, started: float) -> bool:
    """Whether the process that started at this time still runs, and not a later one with its number."""
    now = started_s(pid)
    return now is not None and abs(now - started) < CLOCK_SET_S


def _shortened(purpose: str) -> str:
    return os.fsdecode(os.fsencode(purpose)[:_LONGEST])


def _is_left(path: Path, name: re.Match[str]) -> bool:
    if name["host"] != _host():
        return time.time() - path.lstat().st_mtime > ELSEWHERE_S
    return not is_running(int(name["pid"]), float(name["started"]))


def _host() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
