"""Files made of others: smaller ones by llama.cpp's own quantizer, and adapters merged into their weights."""

import ctypes
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf.constants import LlamaFileType
from numpy.typing import NDArray

from rig.engine.files.adapters import EMBEDDING, Adapter
from rig.engine.files.derived import DerivedModel, derive
from rig.engine.files.info import PREFIX, Origin, inspect
from rig.engine.files.registry import ResolvedModel
from rig.errors import RigError

Floats = NDArray[np.float32]


def merge(
    parent: ResolvedModel,
    adapter: Adapter,
    kind: str,
    *,
    target: Path | None = None,
    progress: Callable[[int, int], None],
) -> DerivedModel:
    """Write the model with scale · alpha / rank · b · a added to its weights, as f32, f16, bf16 or q8_0.

    Its weights are dequantized first, so what their quantization lost stays lost. Without a target it
    is `MODEL+ADAPTER-KIND.gguf` in the models directory. Raises RigError (see `derive`).
    """
    adapter.check(parent.path)

    def write(written: Path, origin: Origin) -> Counter[str]:
        write_merged(parent.path, adapter, written, kind, origin.metadata(), progress)
        return Counter()

    return derive(parent, kind, write, adapter=adapter, output=target)


def read_pairs(path: Path) -> tuple[dict[str, tuple[Floats, Floats]], float]:
    """For the weight of a layer, by its name: a [rank, inputs] and b [outputs, rank]; and their alpha."""
    reader = gguf.GGUFReader(path)
    read = {tensor.name: floats(tensor) for tensor in reader.tensors}
    weights = sorted({name.rpartition(".")[0] for name in read})
    pairs = {weight: (read[f"{weight}.lora_a"], read[f"{weight}.lora_b"]) for weight in weights}
    return pairs, float(reader.fields[gguf.Keys.Adapter.LORA_ALPHA].contents())


def write_merged(
    base: Path,
    adapter: Adapter,
    target: Path,
    kind: str,
    metadata: dict[str, str | bool],
    progress: Callable[[int, int], None],
) -> None:
    """Write the merged file, one weight in memory at a time."""
    reader = gguf.GGUFReader(base)
    pairs, alpha = read_pairs(adapter.path)
    with closing(gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())) as writer:
        _copy_fields(reader, writer, _file_type(kind))
        for key, value in metadata.items():
            (writer.add_bool if isinstance(value, bool) else writer.add_string)(key, value)
        for tensor in reader.tensors:
            stored = _type_of(tensor, kind)
            shape = [int(size) for size in reversed(tensor.shape)]
            block, block_bytes = gguf.GGML_QUANT_SIZES[stored]
            size = int(tensor.n_elements) // block * block_bytes
            writer.add_tensor_info(tensor.name, shape, np.dtype(np.float32), size, raw_dtype=stored)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for number, tensor in enumerate(reader.tensors, 1):
            values, stored = floats(tensor), _type_of(tensor, kind)
            with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is looked at
                if tensor.name in pairs:
                    a, b = pairs[tensor.name]
                    # An embedding is looked up by rows: its two matrices stand the other way round.
                    is_embedding = tensor.name == EMBEDDING
                    product = a @ b.T if is_embedding else b @ a
                    rank = a.shape[1] if is_embedding else len(a)
                    values = values + np.float32(alpha / rank) * product * np.float32(adapter.scale)
                data = gguf.quantize(values, stored)
                if not np.isfinite(gguf.dequantize(data, stored)).all():
                    raise RigError(f"{adapter.path}: {tensor.name} would hold numbers that {kind} cannot")
            writer.write_tensor_data(data)
            progress(number, len(reader.tensors))


def floats(tensor: Any) -> Floats:
    """A tensor's numbers. Raises RigError for a type that numpy cannot undo."""
    try:
        return np.array(gguf.dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
    except NotImplementedError as error:
        raise RigError(
            f"{tensor.name}: weights of type {tensor.tensor_type.name} cannot be merged"
        ) from error


def _file_type(kind: str) -> LlamaFileType:
    """What a file of a kind says that it is."""
    return LlamaFileType["ALL_F32" if kind == "f32" else f"MOSTLY_{kind.upper()}"]


def _type_of(tensor: Any, kind: str) -> gguf.GGMLQuantizationType:
    """The type in the new file: that of `kind` for matrices whose rows it can hold."""
    asked = gguf.GGMLQuantizationType[kind.upper()]
    block = gguf.GGML_QUANT_SIZES[asked][0]
    if len(tensor.shape) < 2:
        return gguf.GGMLQuantizationType.F32
    return asked if tensor.shape[0] % block == 0 else gguf.GGMLQuantizationType.F16


def _copy_fields(reader: gguf.GGUFReader, writer: gguf.GGUFWriter, kind: LlamaFileType) -> None:
    """Write what the base says of itself, but for what is another in the new file."""
    for name, field in reader.fields.items():
        own = name in ("general.architecture", "general.file_type", "general.quantization_version")
        if not (own or name.startswith(("GGUF.", PREFIX))):
            first, *rest = field.types
            writer.add_key_value(name, field.contents(), first, rest[-1] if rest else None)
    writer.add_file_type(kind)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)


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
    task = {**files, "ftype": int(_file_type(kind)), "threads": threads, "metadata": origin.metadata()}
    fell_back: Counter[str] = Counter()
    count, reason = 0, "it gives no reason"
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "rig.engine.files.quantize", json.dumps(task)],
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
