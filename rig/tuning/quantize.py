"""Smaller files of a model, made by llama.cpp's own quantizer."""

import ctypes
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from rig.engine.files.derived import DerivedModel, derive
from rig.engine.files.info import Origin, inspect
from rig.engine.files.registry import ResolvedModel
from rig.errors import RigError
from rig.tuning.merging import file_type

TYPES = (
    *("f32", "f16", "bf16", "q8_0", "q6_k", "q5_k_m", "q5_k_s", "q5_1", "q5_0", "q4_k_m", "q4_k_s"),
    *("q4_1", "q4_0", "iq4_nl", "iq4_xs", "q3_k_l", "q3_k_m", "q3_k_s", "q2_k"),
)
"""What llama.cpp can make without an importance matrix, from large to small."""
LADDER = ("q8_0", "q6_k", "q5_k_m", "q4_k_m", "q3_k_m", "q2_k")

_PROGRESS = re.compile(r"\[ *(\d+)/ *(\d+)\]")
_FALLBACK = re.compile(r"required for type +(\w+)\) -> falling back to +(\w+)")
_FALLBACKS = re.compile(r"(\d+) of \d+ tensor\(s\) required fallback")
_FAILURE = re.compile(r"failed to quantize: (.+)|error loading model: (.+)")


def quantize(
    parent: ResolvedModel, kind: str, *, threads: int, progress: Callable[[int, int], None]
) -> DerivedModel:
    """Make `PARENT-KIND.gguf` in the models directory. `progress` gets the number of tensors done and of all.

    llama.cpp reads nothing but the file, so an adapter is merged before. Raises RigError (see `derive`).
    """
    if parent.adapter is not None:
        raise RigError(
            f"{parent.name} is a model with an adapter; merge both into one file first: "
            f"`rig models merge {parent.name}`"
        )

    return derive(parent, kind, partial(_write, parent.path, kind, threads, progress))


def _write(
    source: Path, kind: str, threads: int, progress: Callable[[int, int], None], target: Path, origin: Origin
) -> Counter[str]:
    """Write the file; the tensors that fell back to another type, counted by which."""
    files = {"source": str(source), "target": str(target)}
    task = {**files, "ftype": int(file_type(kind)), "threads": threads, "metadata": origin.metadata()}
    fell_back: Counter[str] = Counter()
    count, reason = 0, "it gives no reason"
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "rig.tuning.quantize", json.dumps(task)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as child:
        assert child.stdout is not None
        try:
            for line in child.stdout:
                if match := _PROGRESS.search(line):
                    progress(int(match[1]), int(match[2]))
                for match in _FALLBACK.finditer(line):
                    fell_back[f"{match[1].upper()} to {match[2].upper()}"] += 1
                if match := _FALLBACKS.search(line):
                    count = int(match[1])
                if match := _FAILURE.search(line):
                    reason = match[1] or match[2]
        except BaseException:
            child.kill()
            raise
    if child.returncode != 0 or not target.is_file():
        raise RigError(f"{source}: llama.cpp cannot make {kind} of it: {reason}")
    if inspect(target).origin != origin:
        raise RigError(f"{target.stem}: llama.cpp wrote a file that does not say what it was made from")
    if fell_back.total() != count:
        # The file still says which types they got; only the types they should have had are unknown.
        fell_back = Counter({"types not told": count})
    return fell_back


def run_quantizer(
    source: str, target: str, *, ftype: int, threads: int, metadata: Mapping[str, str | bool]
) -> int:
    """Write `target` from `source`, with these keys added to what it says of itself; llama.cpp's result.

    In a process of its own: it can be stopped in the middle, and llama.cpp may end it over a damaged file.
    """
    import llama_cpp as C

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


if __name__ == "__main__":
    from rig.engine.core.llama import listening

    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    with listening(lambda text: print(text, end="", flush=text.endswith("\n"))):
        code = run_quantizer(**json.loads(sys.argv[1]))
    sys.exit(code)
