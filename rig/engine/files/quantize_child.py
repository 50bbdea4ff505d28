"""The child process of `rig.engine.files.quantize`: llama.cpp's quantizer, with its log on stdout.

A separate process can be stopped in the middle, and llama.cpp may end it over a damaged file.
"""

import ctypes
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import llama_cpp as C

from rig.engine.core.llama import listening


def quantize(
    source: str, target: str, *, ftype: int, threads: int, metadata: Mapping[str, str | bool]
) -> int:
    """Write `target` from `source`, with these keys added to what it says of itself; llama.cpp's result."""
    parameters = C.llama_model_quantize_default_params()
    parameters.ftype = ftype
    parameters.nthread = threads
    parameters.allow_requantize = True
    overrides = (C.llama_model_kv_override * (len(metadata) + 1))()  # an empty key ends them
    for override, (key, value) in zip(overrides, metadata.items(), strict=False):
        override.key = key.encode()
        if isinstance(value, bool):
            override.tag, override.value.val_bool = C.LLAMA_KV_OVERRIDE_TYPE_BOOL, value
        else:
            override.tag, override.value.val_str = C.LLAMA_KV_OVERRIDE_TYPE_STR, value.encode()
    parameters.kv_overrides = ctypes.cast(overrides, ctypes.POINTER(C.llama_model_kv_override))
    return int(C.llama_model_quantize(os.fsencode(source), os.fsencode(target), ctypes.byref(parameters)))


def _main(task: dict[str, Any]) -> int:
    with listening(lambda text: print(text, end="", flush=text.endswith("\n"))):
        return quantize(**task)


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(_main(json.loads(sys.argv[1])))
