"""llama.cpp's own count of the memory that a model would take, from a load that allocates nothing.

It loads in a separate process, because llama.cpp ends the process over some things that it cannot do.
"""

import json
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from rig.calls import JsonObject
from rig.engine.memory.needs import Shape

_TIMEOUT_S = 120.0
_MIB = 2**20
_COMPUTE = re.compile(r"(\S+) compute buffer size = +([\d.]+) MiB")
_KV = re.compile(r"llama_kv_cache\w*: size = +([\d.]+) MiB")
_STATE = re.compile(r"llama_memory_recurrent: size = +([\d.]+) MiB")


@dataclass(frozen=True, slots=True)
class Count:
    """Bytes, to the hundredth of a MiB that llama.cpp prints. `compute` is by the name of the device."""

    compute: dict[str, int]
    kv: int
    state: int

    def as_json(self) -> JsonObject:
        """Every number by name."""
        return asdict(self)


def rehearse(path: Path, shape: Shape, n_gpu_layers: int) -> Count | None:
    """What llama.cpp would allocate; None if it does not say, for any reason."""
    wanted = json.dumps({"path": str(path), "n_gpu_layers": n_gpu_layers, **asdict(shape)})
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "rig.engine.memory.dry_run", wanted],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return read_log(done.stdout)


def read_log(log: str) -> Count | None:
    """The count in what llama.cpp logged; None if it stopped early."""
    compute: dict[str, int] = {}
    for name, size in _COMPUTE.findall(log):
        compute[name] = compute.get(name, 0) + _bytes(size)
    if not compute:
        return None
    return Count(compute, sum(map(_bytes, _KV.findall(log))), sum(map(_bytes, _STATE.findall(log))))


def _bytes(mebibytes: str) -> int:
    return round(float(mebibytes) * _MIB)


def _main(path: str, n_gpu_layers: int, shape: Shape) -> None:
    """In the child: load without allocating, with llama.cpp's log on stdout."""
    from rig.engine.core.llama import LlamaContext, LlamaModel, listening

    with listening(lambda text: print(text, end="")):
        LlamaContext(
            LlamaModel(Path(path), n_gpu_layers=n_gpu_layers, weightless=True),
            n_ctx=shape.n_ctx,
            n_batch=shape.n_batch,
            n_threads=1,
            flash_attention=shape.flash_attention,
            kv_type=shape.kv_type,
            n_seq=shape.n_seq,
        )


if __name__ == "__main__":
    wanted = json.loads(sys.argv[1])
    _main(wanted.pop("path"), wanted.pop("n_gpu_layers"), Shape(**wanted))
