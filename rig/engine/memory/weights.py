"""Weights in memory: a file is loaded once, no matter how many models use it at the same time.

Two roles of a run can use one file. Each has its own context, and so its own prompts. The file of the next
arm can be read ahead.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import TypeAlias
from weakref import WeakValueDictionary

from rig.engine.core.llama import LlamaModel
from rig.engine.memory.devices import machine_memory
from rig.engine.memory.first_load import check_loads
from rig.paths import real

READ_AHEAD_SHARE = 0.5
"""Of the free memory a file that is read ahead may take so much; the system keeps it as long as it can."""
_PIECE = 8 << 20

_Key: TypeAlias = tuple[Path, int, int]

_open: WeakValueDictionary[_Key, LlamaModel] = WeakValueDictionary()
"""The weights that are open, by their file as it was when they were loaded."""


def find_weights(path: Path) -> LlamaModel | None:
    """The weights of this very file, if somebody has them open."""
    model = _open.get(_key(path))
    return model if model is not None and model.is_open else None


def open_weights(path: Path, n_gpu_layers: int) -> LlamaModel:
    """The weights of a file with this many layers on GPUs: those that are open, or else loaded now."""
    shared = find_weights(path)
    if shared is not None and shared.n_gpu_layers == n_gpu_layers:
        return shared.share()
    check_loads(path)
    model = LlamaModel(path, n_gpu_layers=n_gpu_layers)
    _open[_key(path)] = model
    return model


@contextmanager
def keeping_weights(path: Path) -> Iterator[None]:
    """While this lasts, keep the weights of a file that somebody has open, for the next to open them."""
    model = find_weights(path) if path.is_file() else None
    kept = model.share() if model is not None else None
    try:
        yield
    finally:
        if kept is not None:
            kept.close()


def _key(path: Path) -> _Key:
    status = path.stat()
    return real(path), status.st_mtime_ns, status.st_size


@contextmanager
def reading_ahead(path: Path) -> Iterator[None]:
    """While this lasts, read a file beside what else is done. One that cannot be read is left."""
    stopped = Event()

    def read() -> None:
        with suppress(OSError), path.open("rb", buffering=0) as file:
            if os.fstat(file.fileno()).st_size > READ_AHEAD_SHARE * machine_memory().free:
                return
            piece = bytearray(_PIECE)
            while not stopped.is_set() and file.readinto(piece):
                pass

    reader = Thread(target=read, daemon=True)
    reader.start()
    try:
        yield
    finally:
        stopped.set()
        reader.join()
