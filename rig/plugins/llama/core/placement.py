"""Where weights go: layers to GPUs, experts to main memory, and single tensors to devices by their names.

llama.cpp is loaded only when it is used.
"""

import ctypes
from typing import Any, NamedTuple

from rig.core.errors import RigError

EXPERTS = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
"""The tensors of a layer's experts that only some tokens need, by llama.cpp's pattern (common/common.h)."""

MACHINE = "CPU"
"""llama.cpp's name for the device whose memory is the machine's own."""


class Placement(NamedTuple):
    """The last `n_gpu_layers` layers go to GPUs, except the experts of the file's first `n_cpu_moe` layers.

    Before that rule, a tensor goes to the device of the first regular expression in `overrides` that matches
    its name. GPUs share layers by `tensor_split`, or by their free memory; with `main_gpu`, only that one is
    used. `others` are more of llama.cpp's parameters, by name.
    """

    n_gpu_layers: int = 0
    n_cpu_moe: int = 0
    overrides: tuple[tuple[str, str], ...] = ()
    tensor_split: tuple[float, ...] = ()
    main_gpu: int | None = None
    others: tuple[tuple[str, Any], ...] = ()

    def apply(self, parameters: Any) -> list[Any]:
        """Write the placement into `llama_model_params`; return what must live until the model is loaded.

        Raises RigError for a device that does not exist.
        """
        import llama_cpp as C

        parameters.n_gpu_layers = self.n_gpu_layers
        kept: list[Any] = []
        if not self.n_gpu_layers and all(device == MACHINE for _, device in self.overrides):
            kept.append((ctypes.c_void_p * 1)(None))
            parameters.devices = ctypes.cast(kept[-1], ctypes.c_void_p)
        if self.main_gpu is not None:
            parameters.split_mode, parameters.main_gpu = C.LLAMA_SPLIT_MODE_NONE, self.main_gpu
        for name, value in self.others:
            setattr(parameters, name, value)
        if self.tensor_split:
            kept.append((ctypes.c_float * C.llama_max_devices())(*self.tensor_split))
            parameters.tensor_split = kept[-1]
        overrides = list(self.overrides)
        if self.n_cpu_moe:
            overrides.append((rf"^blk\.({'|'.join(map(str, range(self.n_cpu_moe)))}){EXPERTS}", MACHINE))
        if overrides:
            entries = [_Override(pattern.encode(), buffers_of(device)) for pattern, device in overrides]
            kept.append((_Override * (len(entries) + 1))(*entries))
            parameters.tensor_buft_overrides = ctypes.cast(kept[-1], ctypes.c_void_p)
        return kept


ON_CPU = Placement()


class _Override(ctypes.Structure):
    """`llama_model_tensor_buft_override` of llama.h; an entry of nulls ends a list."""

    _fields_ = [("pattern", ctypes.c_char_p), ("buffers", ctypes.c_void_p)]


def ggml(name: str, result: Any, *arguments: Any) -> Any:
    """Return a function of the ggml that llama.cpp uses; the binding also loads a second ggml."""
    import llama_cpp as C

    function = getattr(C.llama_cpp._lib, f"ggml_{name}")
    function.restype, function.argtypes = result, arguments
    return function


def buffers_of(device: str) -> int:
    """Return ggml's buffer type for a device. Raises RigError for a device that does not exist."""
    pointer = ctypes.c_void_p
    if device == MACHINE:
        return int(ggml("backend_cpu_buffer_type", pointer)())
    there = ggml("backend_dev_by_name", pointer, ctypes.c_char_p)(device.encode())
    if not there:
        raise RigError(f"--llama tensor_buft_overrides: llama.cpp finds no device {device!r} here")
    return int(ggml("backend_dev_buffer_type", pointer, pointer)(there))


def overrides_of(text: str) -> tuple[tuple[str, str], ...]:
    """Parse `REGEX=DEVICE,…` into pairs. Raises RigError for other text."""
    pairs = []
    for part in text.split(","):
        pattern, _, device = part.rpartition("=")
        if not (pattern and device):
            raise RigError(
                f"--llama tensor_buft_overrides={text}: {part!r} is not REGEX=DEVICE, such as exps=CPU"
            )
        pairs.append((pattern, device))
    return tuple(pairs)


def split_of(text: str) -> tuple[float, ...]:
    """Parse `3,1` into numbers. Raises RigError for other text."""
    try:
        shares = tuple(map(float, text.split(",")))
    except ValueError:
        shares = ()
    if not shares or min(shares) < 0 or not 0 < sum(shares) < float("inf"):
        raise RigError(f"--llama tensor_split={text}: give the share of each GPU, as in 3,1")
    return shares
