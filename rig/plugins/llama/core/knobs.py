"""llama.cpp's own settings, as `--llama NAME=VALUE`: what its binding has and rig leaves alone.

llama.cpp is loaded only when there is one.
"""

import ctypes
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from rig.config.options import pair
from rig.core.calls import Json
from rig.core.errors import RigError, meant
from rig.plugins.llama.core.placement import overrides_of, split_of

SET_BY_OPTIONS = {
    "n_ctx": "--n-ctx",
    **dict.fromkeys(("n_batch", "n_ubatch"), "--n-batch"),
    "n_seq_max": "--parallel",
    **dict.fromkeys(("n_threads", "n_threads_batch"), "--threads"),
    "n_gpu_layers": "--gpu-layers",
    "flash_attn_type": "--flash-attention",
    **dict.fromkeys(("type_k", "type_v"), "--kv"),
}
SET_BY_RIG = {
    *("n_rs_seq", "n_outputs_max", "n_outputs_max_per_seq", "ctx_type", "pooling_type", "attention_type"),
    *("embeddings", "no_perf", "swa_full", "kv_unified", "n_samplers", "load_mode", "lazy_mode"),
    *("vocab_only", "use_extra_bufts", "no_alloc", "load_mtp"),
}
"""Settings that rig's way of decoding depends on."""
_WORDS = {"rope_scaling_type": "LLAMA_ROPE_SCALING_TYPE_", "split_mode": "LLAMA_SPLIT_MODE_"}
"""Settings whose values have names in the binding, by the beginning of these."""
_TEXTS: Mapping[str, Callable[[str], Any]] = {
    "tensor_split": split_of,
    "tensor_buft_overrides": overrides_of,
}


class Knob(NamedTuple):
    """A setting of a context, or else of the weights: as it was written, and as llama.cpp takes it."""

    text: str
    value: Any
    is_of_context: bool

    @property
    def recorded(self) -> Json:
        """The value in the fingerprint: a number or a truth value, or a text."""
        is_number = isinstance(self.value, int | float) and not self.text.isalpha()
        return self.value if is_number else self.text


@lru_cache(maxsize=64)
def knobs_of(texts: tuple[str, ...]) -> Mapping[str, Knob]:
    """Return the settings of `NAME=VALUE` texts, by name. Raises RigError for one that cannot be set."""
    if not texts:
        return {}
    import llama_cpp as C

    kinds = {name: (kind, False) for name, kind in C.llama_model_params._fields_}
    kinds |= {name: (kind, True) for name, kind in C.llama_context_params._fields_}
    simple = (ctypes.c_bool, ctypes.c_int, ctypes.c_uint, ctypes.c_float)
    there_are = [
        name
        for name, (kind, _) in kinds.items()
        if (kind in simple or name in _TEXTS) and name not in SET_BY_RIG and name not in SET_BY_OPTIONS
    ]
    knobs = {}
    for text in texts:
        name, value = pair(text, "--llama", "NAME=VALUE")
        if name in SET_BY_OPTIONS:
            raise RigError(f"--llama {text}: give {SET_BY_OPTIONS[name]} instead")
        if name in SET_BY_RIG:
            raise RigError(f"--llama {text}: rig itself sets that")
        if name not in there_are:
            raise RigError(f"--llama {text}: this llama.cpp has no setting {name!r}{meant(name, there_are)}")
        if name in knobs:
            raise RigError(f"--llama {text}: {name} is there twice")
        kind, is_of_context = kinds[name]
        knobs[name] = Knob(value, _value(text, name, value, kind, C), is_of_context)
    return knobs


def _value(text: str, name: str, value: str, kind: Any, binding: Any) -> Any:
    if name in _TEXTS:
        return _TEXTS[name](value)
    start = _WORDS.get(name)
    words = {"true": True, "false": False} if kind is ctypes.c_bool else {}
    if start:
        constants = (name for name in dir(binding) if name.startswith(start))
        words = {name.removeprefix(start).lower(): getattr(binding, name) for name in constants}
        words = {word: number for word, number in words.items() if word not in ("unspecified", "max_value")}
    if words:
        if value not in words:
            raise RigError(f"--llama {text}: takes {', '.join(words)}")
        return words[value]
    try:
        number = float(value) if kind is ctypes.c_float else int(value)
    except ValueError:
        number = math.nan
    is_whole = kind is not ctypes.c_float
    if not (math.isfinite(number) and (0 <= number < 2**31 if is_whole else abs(number) < 3e38)):
        raise RigError(f"--llama {text}: takes {'a whole number from 0 on' if is_whole else 'a number'}")
    return number
