"""Damaged GGUF files: rig says what is wrong with each, or what it is; no damage ends rig's own process."""

from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from benchmarks.attack.campaign import folder, main
from benchmarks.attack.hostile import damaged
from rig.core.errors import RigError
from rig.plugins.llama.files.info import inspect
from rig.plugins.llama.memory.weights import check_loads

_LOADED = 0.02
"""The share that llama.cpp is given, too, in a process of its own: that takes seconds."""


@cache
def _whole() -> tuple[bytes, int]:
    """A small model, and where its header ends, as far as damage is likelier there."""
    from tests.support.tiny_gguf import write

    with TemporaryDirectory() as place:
        data = write(Path(place) / "tiny.gguf").read_bytes()
    return data, data.index(b"token_embd.weight")


def case(random: Random) -> str:
    """A file with damage in its header, or anywhere."""
    data, header = _whole()
    kept = header if random.random() < 0.8 else len(data)
    data = damaged(random, data[:kept]) + data[kept:]
    with folder() as place:
        path = place / "damaged.gguf"
        path.write_bytes(data)
        try:
            inspect(path)
        except RigError:
            return "refused"
        if random.random() >= _LOADED:
            return "read"
        try:
            check_loads(path)
        except RigError:
            return "llama.cpp dies of it"
        return "loads or is refused by llama.cpp"


if __name__ == "__main__":
    main("models", case, 1000)
