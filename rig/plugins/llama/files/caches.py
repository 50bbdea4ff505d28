"""What is kept between runs: data that can be computed again, and the SHA-256 of model files.

A file of 10 GB takes most of a minute to read for its SHA-256.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from rig.core.errors import RigError
from rig.core.files import remember, remembered, temporary_path
from rig.core.paths import real

_MAGIC = b"rig-cache-1"
_DIGEST_SIZE = 32


class Damaged(Exception):
    """The content under a key is not what was kept there."""


class DiskCache:
    """Bytes by key, in files with a common suffix. The least recently used files are removed first.

    Several caches can share a folder if each has its own suffix. The leftovers of killed writers are removed.
    """

    def __init__(self, directory: Path, suffix: str, max_bytes: int) -> None:
        self._directory = directory
        self._suffix = suffix
        self.max_bytes = max_bytes

    def path(self, key: str) -> Path:
        """Return the path of the file for a key."""
        return self._directory / f"{key}.{self._suffix}"

    def load(self, key: str) -> bytes | None:
        """Return what is kept under a key, or None. Raises OSError, and Damaged."""
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
        """Keep content under a key, replacing what was there, unless it is too large. Raises OSError."""
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
        """Remove what is kept under a key, if possible."""
        with suppress(OSError):
            self.path(key).unlink()

    def _make_room(self, size: int) -> None:
        """Remove the least recently used files until `size` more bytes are within the limit."""
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
    """Return a digest of the key and the content, so that no file can stand for another."""
    digest = hashlib.blake2b(key.encode(), digest_size=_DIGEST_SIZE)
    digest.update(content)
    return digest.digest()


_FILE = "sha256.json"


def sha256_of(path: Path, *, fresh: bool = False) -> str:
    """Return the SHA-256 of a file in hexadecimal. Raises RigError when it cannot be read.

    An earlier answer is reused while the file's path, size and times are the same, unless `fresh` asks to
    read the file. One of these times is the kernel's own, of the last change of any kind: nobody who writes
    to a file can set it back.
    """
    if not fresh and (earlier := remembered_sha256(path)):
        return earlier
    try:
        with path.open("rb") as file:
            before = os.fstat(file.fileno())
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            after = os.fstat(file.fileno())
    except OSError as error:
        raise RigError(f"{path}: cannot be read: {error.strerror}") from error
    if _key(path, before) == _key(path, after):
        remember(_FILE, {**remembered(_FILE), _key(path, after): digest})
    return digest


def remembered_sha256(path: Path) -> str | None:
    """Return the SHA-256 of a file if it is known without reading the file, else None."""
    with suppress(OSError):
        digest = remembered(_FILE).get(_key(path, path.stat()))
        return digest if isinstance(digest, str) else None
    return None


def _key(path: Path, status: os.stat_result) -> str:
    return f"{real(path)}|{status.st_size}|{status.st_mtime_ns}|{status.st_ctime_ns}"
