"""Read and write the files that people name: within limits, and whole or not at all; also safe JSON and CSV.

Temporary files and folders carry the process that made them in their names. One that is killed leaves them
behind; the next call that makes one at the same place removes those whose process is gone.
"""

import json
import math
import os
import platform
import re
import secrets
import stat
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from rig.core.budget import DEEPEST, LARGEST_TOML, Budget
from rig.core.calls import Json
from rig.core.errors import RigError
from rig.core.folders import remove
from rig.core.paths import cache_directory, real

LARGEST = 64 << 20
"""By default, the most bytes of a file that is read whole."""

HALVES = "backslashreplace"
"""How to write half of a surrogate pair, which UTF-8 cannot encode: as JSON escapes it."""


def read_bytes(path: Path, largest: int = LARGEST) -> bytes:
    """Read a regular file of at most this many bytes. Raises RigError for anything else.

    It never blocks: a pipe that nobody writes to, or a device without an end, is refused unread.
    """
    try:
        with regular(path) as file:
            # In parts, because Python allocates the whole limit before it reads.
            parts, left = [], largest + 1
            while left and (part := file.read(min(left, 1 << 20))):
                parts.append(part)
                left -= len(part)
            data = b"".join(parts)
    except OSError as error:
        raise RigError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        # The name has a null character, or half of a surrogate pair.
        raise RigError(f"{path}: cannot be read: no file can have this name") from error
    if len(data) > largest:
        raise RigError(f"{path}: larger than {size_text(largest)}")
    return data


def size_text(size: int) -> str:
    """Return a number of bytes as text, in KiB or MiB."""
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def read_text(path: Path, largest: int = LARGEST) -> str:
    """Read the text of a regular file, which must be UTF-8. Raises RigError as `read_bytes` does."""
    try:
        return read_bytes(path, largest).decode("utf-8")
    except UnicodeDecodeError as error:
        raise RigError(f"{path}: not UTF-8: {error}") from error


def beginning(path: Path, size: int = 1 << 16) -> str:
    """Return the first bytes of a regular file as text, even if not UTF-8; empty for anything else."""
    try:
        with regular(path) as file:
            return file.read(size).decode("utf-8", "replace")
    except (OSError, RigError):
        return ""


def read_json(path: Path, largest: int = LARGEST, deepest: int = DEEPEST) -> Json:
    """Read a JSON file. Raises RigError if it cannot be read, is not JSON, or is nested too deeply."""
    text = read_text(path, largest)
    try:
        return Budget(str(path), levels=deepest).json(text)
    except ValueError as error:
        raise RigError(f"{path}: not JSON: {error}") from error


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file. Raises RigError if it cannot be read, is not TOML, or is nested too deeply."""
    text = read_text(path, LARGEST_TOML)
    try:
        return Budget(str(path)).toml(text)
    except ValueError as error:
        raise RigError(f"{path}: not TOML: {error}") from error


@contextmanager
def regular(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading without waiting. Raises OSError, and RigError if it is not a regular file."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise RigError(f"{path}: is not a regular file")
        yield file


@contextmanager
def writing(path: Path, *, force: bool | None = None, folders: bool = False) -> Iterator[TextIO]:
    """Open a text file for writing, in UTF-8 with unchanged line ends. It takes its place once complete.

    An existing file is replaced only with `force`, which is None where the verb has no such option; missing
    folders are made only with `folders`. Devices and pipes are written to directly, and a link stays: the
    file that it points to is replaced. Raises RigError.
    """
    try:
        if folders:
            path.parent.mkdir(parents=True, exist_ok=True)
        target = real(path)
        is_there = target.exists()
        if is_there and not target.is_file():
            with target.open("w", encoding="utf-8", errors=HALVES, newline="") as file:
                yield file
            return
        if is_there and not force:
            remedy = "" if force is None else ", or --force to write over it"
            raise RigError(f"{path}: exists; choose a new file{remedy}")
        # Beside the target, under an unpredictable name, and renamed to the target at the end.
        part = temporary_path(target.parent, target.name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(part, flags, 0o666)
        try:
            with open(handle, "w", encoding="utf-8", errors=HALVES, newline="") as file:
                yield file
                file.flush()
                os.fsync(handle)
            os.replace(part, target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise RigError(f"{path}: cannot be written: {error.strerror or error}") from error


def write(text: str, path: Path, *, force: bool | None = None, folders: bool = False) -> None:
    """Write a text to a file as `writing` does."""
    with writing(path, force=force, folders=folders) as file:
        file.write(text)


def remembered(name: str) -> dict[str, Any]:
    """Return what `remember` kept last under this name; an empty dict if it cannot be read."""
    with suppress(RigError):
        values = read_json(cache_directory() / name)
        return values if isinstance(values, dict) else {}
    return {}


def remember(name: str, values: Mapping[str, Json]) -> None:
    """Keep values between runs, if the cache is writable. Of two processes at once, one may lose its part."""
    with suppress(RigError):
        write(json_text(values, indent=0), cache_directory() / name, force=True, folders=True)


def json_text(value: Json, indent: int | None = None) -> str:
    """Write JSON as in RFC 8259: numbers that it cannot express, such as infinity, become texts."""
    try:
        return json.dumps(value, indent=indent, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _finite(value: Any) -> Json:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value


CLOCK_SET_S = 60.0
"""The clock may be set by this much without making a process look like another: starts are given in its time.
"""
ELSEWHERE_S = 24 * 3600.0
"""At this age, the files of a process on another machine, which cannot be checked, count as left behind."""

_NAME = re.compile(
    r"(?P<beginning>.+)\.(?P<host>[0-9a-f]{8})-(?P<pid>\d+)-(?P<started>\d+)-[0-9a-f]{16}", re.DOTALL
)
_LONGEST = 180
"""Bytes of a purpose in a name; file systems take about 255 of a name."""


def temporary_path(directory: Path, purpose: str, *, hidden: bool = True) -> Path:
    """Return a new unpredictable path, and remove what processes that are gone left for this purpose."""
    if not _is_own(directory):
        remove_leftovers(directory, purpose, hidden=hidden)
    pid = os.getpid()
    owner = f"{_host()}-{pid}-{started_s(pid) or 0:.0f}"
    return directory / f"{_beginning(purpose, hidden=hidden)}.{owner}-{secrets.token_hex(8)}"


@contextmanager
def temporary_folder(directory: Path, purpose: str, *, hidden: bool = True) -> Iterator[Path]:
    """Make a folder that is removed at the end, and its directory if it does not exist. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    folder = temporary_path(directory, purpose, hidden=hidden)
    folder.mkdir()
    try:
        yield folder
    finally:
        remove(folder)


def _beginning(purpose: str, *, hidden: bool) -> str:
    return f"{'.' * hidden}{_shortened(purpose)}"


def _is_own(directory: Path) -> bool:
    """Return whether this process made a directory or one above it, in which no other has left anything.

    Folders with thousands of files are filled there, one after the other, and each search takes longer.
    """
    names = (_NAME.fullmatch(part) for part in directory.parts)
    return any(name and name["host"] == _host() and int(name["pid"]) == os.getpid() for name in names)


def remove_leftovers(directory: Path, purpose: str, *, hidden: bool = True) -> None:
    """Remove temporary files and folders for a purpose in a directory whose process is gone."""
    beginning = _beginning(purpose, hidden=hidden)
    with suppress(OSError):
        for path in list(directory.iterdir()):
            name = _NAME.fullmatch(path.name)
            if name is None or name["beginning"] != beginning:
                continue
            if name["host"] != _host():
                is_left = time.time() - path.lstat().st_mtime > ELSEWHERE_S
            else:
                is_left = not is_running(int(name["pid"]), float(name["started"]))
            if is_left:
                remove(path)


def put_in_place(finished: Path, target: Path) -> None:
    """Rename a file within its file system once its content is on the disk. Raises OSError."""
    _flush(finished)
    os.replace(finished, target)
    _flush(target.parent)


def started_s(pid: int) -> float | None:
    """Return when a process started, in seconds since 1970; None if it is gone or a zombie."""
    # Imported here, because it takes a moment to load.
    import psutil

    try:
        process = psutil.Process(pid)
        is_dead = process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        return None if is_dead else float(process.create_time())
    except (psutil.Error, OverflowError):
        return None


def is_running(pid: int, started: float) -> bool:
    """Return whether the process that started at this time still runs, not a later one with its number."""
    now = started_s(pid)
    return now is not None and abs(now - started) < CLOCK_SET_S


def _shortened(purpose: str) -> str:
    return os.fsdecode(os.fsencode(purpose)[:_LONGEST])


def _host() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
