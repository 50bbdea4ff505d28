"""outlines_core's automata on disk: for a large tool set, they take seconds to build and no time to read."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from outlines_core import Index

from rig.engine.files.disk_cache import Damaged, DiskCache


class IndexCache:
    """A directory of automata, each checked when it is read; the oldest go when it grows beyond `max_bytes`.

    It never fails: what is damaged or cannot be read is not there, what cannot be written is not kept.
    """

    def __init__(self, directory: Path, *, max_bytes: int = 512 << 20) -> None:
        self._cache = DiskCache(directory, "index", max_bytes)

    def load(self, key: str) -> Any | None:
        """The automaton that was kept under this key, None if there is none or it is damaged."""
        with suppress(OSError, Damaged, ValueError):
            state = self._cache.load(key)
            return None if state is None else Index.from_binary(state)
        return None

    def save(self, key: str, index: Any) -> None:
        """Keep an automaton, instead of what was under its key."""
        _, (state,) = index.__reduce__()
        with suppress(OSError):
            self._cache.save(key, state)
