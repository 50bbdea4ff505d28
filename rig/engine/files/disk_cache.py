"""A folder for data that can be computed again: found by key, checked when read, limited in size."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from rig.files import temporary_path

_MAGIC = b"rig-cache-1"
_DIGEST_SIZE = 32


class Damaged(Exception):
    """What is under a key is not what was kept under it."""


class DiskCache:
    """Bytes by key, in files with a suffix. The least recently used go first.

    Several caches can share a folder; each has its own suffix. The leftovers of killed writers are removed.
    """

    def __init__(self, directory: Path, suffix: str, max_bytes: int) -> None:
        self._directory = directory
        self._suffix = suffix
        self.max_bytes = max_bytes

    def path(self, key: str) -> Path:
        """Where what is kept under a key is."""
        return self._directory / f"{key}.{self._suffix}"

    def load(self, key: str) -> bytes | None:
        """What is kept under a key, None if there is nothing. Raises OSError, and Damaged."""
        path = self.path(key)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        head, content = data[: len(_MAGIC) + _DIGEST_SIZE], data[len(_MAGIC) + _DIGEST_SIZE :]
        if head != _MAGIC + _digest(key, content):
            self.drop(key)
            raise Damaged(f"{path}: damaged")
        with suppress(OSError):
            os.utime(path)
        return content

    def save(self, key: str, content: bytes) -> None:
        """Keep this under a key, instead of what was there, unless it is too large. Raises OSError."""
        size = len(_MAGIC) + _DIGEST_SIZE + len(content)
        if size > self.max_bytes:
            return
        self._directory.mkdir(parents=True, exist_ok=True)
        self._make_room(size)
        temporary = temporary_path(self._directory, self._suffix)
        try:
            with temporary.open("xb") as file:
                file.write(_MAGIC + _digest(key, content))
                file.write(content)
            temporary.replace(self.path(key))
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def drop(self, key: str) -> None:
        """Remove what is kept under a key, if it can be."""
        with suppress(OSError):
            self.path(key).unlink()

    def _make_room(self, size: int) -> None:
        """Remove the files that were not used for longest, until `size` bytes more are within the bound."""
        files: list[tuple[float, int, Path]] = []
        for path in self._directory.glob(f"*.{self._suffix}"):
            with suppress(OSError):  # another run may remove it first
                status = path.stat()
                files.append((status.st_mtime, status.st_size, path))
        total = size + sum(bytes_of_file for _, bytes_of_file, _ in files)
        for _, freed, path in sorted(files):
            if total > self.max_bytes:
                with suppress(OSError):
                    path.unlink()
                    total -= freed


def _digest(key: str, content: bytes) -> bytes:
    """Over the key too, so that no file answers for another."""
    digest = hashlib.blake2b(key.encode(), digest_size=_DIGEST_SIZE)
    digest.update(content)
    return digest.digest()
