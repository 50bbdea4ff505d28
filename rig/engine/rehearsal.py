"""llama.cpp's own count of the memory a model would take, from a loading that allocates nothing.

The loading happens in a process of its own, since llama.cpp ends the process over some of what it cannot do.
"""

import ctypes
import json
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rig.calls import JsonObject
from rig.engine.needs import Shape

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
    """What llama.cpp would allocate; None where it does not say, for whatever reason."""
    wanted = json.dumps({"path": str(path), "n_gpu_layers": n_gpu_layers, **asdict(shape)})
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "rig.engine.rehearsal", wanted],
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
    """The count in what llama.cpp logged; None where it stopped early."""
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
    import llama_cpp as C

    @C.llama_log_callback  # type: ignore[untyped-decorator]
    def show(_level: int, text: bytes, _user_data: Any) -> None:
        sys.stdout.write(text.decode("utf-8", "replace"))

    C.llama_log_set(show, ctypes.c_void_p(0))
    C.llama_backend_init()
    model = C.llama_model_default_params()
    model.n_gpu_layers = n_gpu_layers
    model.no_alloc, model.load_mode = True, C.LLAMA_LOAD_MODE_NONE
    context = C.llama_context_default_params()
    context.n_ctx = shape.cells
    context.n_batch = context.n_ubatch = shape.n_batch
    context.n_seq_max = context.n_outputs_max = shape.n_seq
    context.flash_attn_type = int(shape.flash_attention)
    context.type_k = context.type_v = {"f16": C.GGML_TYPE_F16, "q8_0": C.GGML_TYPE_Q8_0}[shape.kv_type]
    context.swa_full = context.kv_unified = True
    loaded = C.llama_model_load_from_file(path.encode(), model)
    if loaded:
        C.llama_init_from_model(loaded, context)
    sys.stdout.flush()


if __name__ == "__main__":
    wanted = json.loads(sys.argv[1])
    _main(wanted.pop("path"), wanted.pop("n_gpu_layers"), Shape(**wanted))
