"""Weights in memory: a file is loaded once, no matter how many models use it at the same time.

Two roles of a run can use one file. Each has its own context, and so its own prompts.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias
from weakref import WeakValueDictionary

from rig.engine.core.llama import LlamaModel
from rig.engine.memory.first_load import check_loads
from rig.paths import real

_Key: TypeAlias = tuple[Path, int, int]

_open: WeakValueDictionary[_Key, LlamaModel] = WeakValueDictionary()
"""The weights that are open, by their file as it was when they were loaded."""


def find_weights(path: Path) -> LlamaModel | None:
    """The weights of this very file, if somebody has them open."""
    found = _open.get(_key(path))
    return found if found is not None and found.is_open else None


def open_weights(path: Path, n_gpu_layers: int) -> LlamaModel:
    """The weights of a file with this many layers on GPUs: those that are open, or else loaded now."""
    found = find_weights(path)
    if found is not None and found.n_gpu_layers == n_gpu_layers:
        return found.share()
    check_loads(path)
    model = LlamaModel(path, n_gpu_layers=n_gpu_layers)
    _open[_key(path)] = model
    return model


@contextmanager
def keeping_weights(path: Path) -> Iterator[None]:
    """While this lasts, keep the weights of a file that somebody has open, for the next to open them."""
    found = find_weights(path) if path.is_file() else None
    kept = found.share() if found is not None else None
    try:
        yield
    finally:
        if kept is not None:
            kept.close()


def _key(path: Path) -> _Key:
    status = path.stat()
    return real(path), status.st_mtime_ns, status.st_size
