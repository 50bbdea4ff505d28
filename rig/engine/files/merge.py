"""Merge an adapter into the weights it was made for: one file, which can then be quantized."""

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from rig.engine.files.adapters import Adapter
from rig.engine.files.derived import DerivedModel, derive
from rig.engine.files.registry import ResolvedModel
from rig.engine.gguf.origin import PREFIX, Origin
from rig.errors import RigError

Floats = NDArray[np.float32]

TYPES = {
    "f16": (gguf.GGMLQuantizationType.F16, gguf.LlamaFileType.MOSTLY_F16),
    "bf16": (gguf.GGMLQuantizationType.BF16, gguf.LlamaFileType.MOSTLY_BF16),
    "f32": (gguf.GGMLQuantizationType.F32, gguf.LlamaFileType.ALL_F32),
    "q8_0": (gguf.GGMLQuantizationType.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
}
_EMBEDDING = "token_embd.weight"


def merge(
    parent: ResolvedModel,
    adapter: Adapter,
    kind: str,
    *,
    target: Path | None = None,
    progress: Callable[[int, int], None],
) -> DerivedModel:
    """Write the model with scale · alpha / rank · b · a added to its weights, as `kind`, one of TYPES.

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
        _copy_fields(reader, writer, TYPES[kind][1])
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
                    is_embedding = tensor.name == _EMBEDDING
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


def _type_of(tensor: Any, kind: str) -> gguf.GGMLQuantizationType:
    """The type in the new file: that of `kind` for matrices whose rows it can hold."""
    asked = TYPES[kind][0]
    block = gguf.GGML_QUANT_SIZES[asked][0]
    if len(tensor.shape) < 2:
        return gguf.GGMLQuantizationType.F32
    return asked if tensor.shape[0] % block == 0 else gguf.GGMLQuantizationType.F16


def _copy_fields(reader: gguf.GGUFReader, writer: gguf.GGUFWriter, kind: gguf.LlamaFileType) -> None:
    """Write what the base says of itself, but for what is another in the new file."""
    for name, field in reader.fields.items():
        own = name in ("general.architecture", "general.file_type", "general.quantization_version")
        if not (own or name.startswith(("GGUF.", PREFIX))):
            first, *rest = field.types
            writer.add_key_value(name, field.contents(), first, rest[-1] if rest else None)
    writer.add_file_type(kind)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
