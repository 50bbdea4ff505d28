"""outlines_core's automata on disk: they take seconds to build for a large tool set and no time to read."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from outlines_core import Index

_MAGIC = b"rig-index-1"
_DIGEST_SIZE = 32


class IndexCache:
    """A directory of automata, each checked when it is read; the oldest go when it grows beyond `max_bytes`.

    It never fails: what is damaged or cannot be read is not there, what cannot be written is not kept.
    """

    def __init__(self, directory: Path, *, max_bytes: int = 512 << 20) -> None:
        self._directory = directory
        self._max_bytes = max_bytes

    def load(self, key: str) -> Any | None:
        """The automaton that was kept under this key, None where there is none or it is damaged."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        state = data[len(_MAGIC) + _DIGEST_SIZE :]
        if data[: len(_MAGIC) + _DIGEST_SIZE] != _MAGIC + _digest(key, state):
            return None
        try:
            index = Index.from_binary(state)
        except ValueError:
            return None
        with suppress(OSError):
            os.utime(path)
        return index

    def save(self, key: str, index: Any) -> None:
        """Keep an automaton, in place of what was under its key."""
        _, (state,) = index.__reduce__()
        data = _MAGIC + _digest(key, state) + state
        if len(data) > self._max_bytes:
            return
        with suppress(OSError):
            self._directory.mkdir(parents=True, exist_ok=True)
            self._make_room(len(data))
            with NamedTemporaryFile(dir=self._directory, prefix=".", delete=False) as file:
                temporary = Path(file.name)
                try:
                    file.write(data)
                    file.close()
                    temporary.replace(self._path(key))
                except BaseException:
                    temporary.unlink(missing_ok=True)
                    raise

    def _path(self, key: str) -> Path:
        return self._directory / f"{key}.index"

    def _make_room(self, size: int) -> None:
        files = []
        for path in self._directory.glob("*.index"):
            with suppress(FileNotFoundError):  # another run may remove it first
                status = path.stat()
                files.append((status.st_mtime_ns, status.st_size, path))
        total = size + sum(each for _, each, _ in files)
        for _, freed, path in sorted(files):
            if total <= self._max_bytes:
                return
            path.unlink(missing_ok=True)
            total -= freed


def _digest(key: str, state: bytes) -> bytes:
    """Over the key too, so that no file answers for another."""
    return hashlib.sha256(key.encode() + state).digest()
