"""Models with merged adapters, whose weights rig computes."""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import gguf
import numpy as np
from gguf.constants import LlamaFileType
from numpy.typing import NDArray

from rig.core.errors import RigError
from rig.plugins.llama.files.adapters import EMBEDDING, Adapter
from rig.plugins.llama.files.derived import DerivedModel, derive
from rig.plugins.llama.files.info import PREFIX, Origin
from rig.plugins.llama.files.registry import ResolvedModel

Floats = NDArray[np.float32]
OnTensor: TypeAlias = Callable[[int, int], None]
"""Called with the number of tensors done and the number of all tensors."""


class MergedAdapter:
    """Adds an adapter to its weights, tensor by tensor: scale · alpha / rank · b · a."""

    def __init__(self, adapter: Adapter) -> None:
        self._pairs, self._alpha = read_pairs(adapter.path)
        self._scale = adapter.scale

    def values(self, name: str, values: Floats) -> Floats:
        """Return the numbers of a tensor in the new file."""
        if name not in self._pairs:
            return values
        a, b = self._pairs[name]
        # An embedding is read by rows, so its two matrices are transposed.
        is_embedding = name == EMBEDDING
        product = a @ b.T if is_embedding else b @ a
        rank = a.shape[1] if is_embedding else len(a)
        # To llama.cpp, an alpha of 0 is none, and the product counts as it is.
        return values + np.float32((self._alpha or rank) / rank) * product * np.float32(self._scale)


def merge(
    parent: ResolvedModel, adapter: Adapter, kind: str, *, target: Path | None = None, progress: OnTensor
) -> DerivedModel:
    """Write the model with its adapter merged into its weights, as f32, f16, bf16 or q8_0.

    Its weights are dequantized first, so what their quantization lost stays lost. The default target is
    `MODEL+ADAPTER-KIND.gguf` in the models directory. Raises RigError (see `derive`).
    """
    adapter.check(parent.path)
    write = partial(rewrite, parent.path, kind, MergedAdapter(adapter), progress)
    return derive(parent, kind, write, adapter=adapter, output=target)


def read_pairs(path: Path) -> tuple[dict[str, tuple[Floats, Floats]], float]:
    """Read an adapter: by weight, the matrices a [rank, inputs] and b [outputs, rank]; and its alpha."""
    reader = gguf.GGUFReader(path)
    read = {tensor.name: floats(tensor) for tensor in reader.tensors}
    weights = sorted({name.rpartition(".")[0] for name in read})
    pairs = {weight: (read[f"{weight}.lora_a"], read[f"{weight}.lora_b"]) for weight in weights}
    return pairs, float(reader.fields[gguf.Keys.Adapter.LORA_ALPHA].contents())


def rewrite(
    base: Path, kind: str, adapter: MergedAdapter, progress: OnTensor, target: Path, origin: Origin
) -> None:
    """Write a model with its adapter merged, with one tensor in memory at a time.

    Raises RigError if a resulting number does not fit into `kind`.
    """
    reader = gguf.GGUFReader(base)
    with closing(gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())) as writer:
        _copy_fields(reader, writer, file_type(kind))
        for key, value in origin.metadata().items():
            (writer.add_bool if isinstance(value, bool) else writer.add_string)(key, value)
        kinds = []
        for tensor in reader.tensors:
            shape = tuple(int(size) for size in reversed(tensor.shape))
            kinds.append(stored := _type_of(shape, kind))
            block, block_bytes = gguf.GGML_QUANT_SIZES[stored]
            size = int(np.prod(shape)) // block * block_bytes
            writer.add_tensor_info(tensor.name, shape, np.dtype(np.float32), size, raw_dtype=stored)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for number, (tensor, stored) in enumerate(zip(reader.tensors, kinds, strict=True), 1):
            with np.errstate(over="ignore", invalid="ignore"):  # the result is checked below
                values = adapter.values(tensor.name, floats(tensor))
                data = gguf.quantize(values, stored)
                if not np.isfinite(gguf.dequantize(data, stored)).all():
                    raise RigError(
                        f"{tensor.name} would hold numbers that {kind} cannot; choose another type"
                    )
            writer.write_tensor_data(data)
            progress(number, len(reader.tensors))


def floats(tensor: Any) -> Floats:
    """Dequantize a tensor. Raises RigError for a type that the gguf package cannot dequantize."""
    try:
        return np.array(gguf.dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
    except NotImplementedError as error:
        raise RigError(
            f"{tensor.name}: weights of type {tensor.tensor_type.name} cannot be read; take a file of f16, "
            "bf16, f32 or q8_0"
        ) from error


def file_type(kind: str) -> LlamaFileType:
    """Return the file type that the header of a file of this kind states."""
    return LlamaFileType["ALL_F32" if kind == "f32" else f"MOSTLY_{kind.upper()}"]


def _type_of(shape: tuple[int, ...], kind: str) -> gguf.GGMLQuantizationType:
    """Return a tensor's type in the new file: `kind` if its rows fit, else F16; always F32 for a vector."""
    asked = gguf.GGMLQuantizationType[kind.upper()]
    if len(shape) < 2:
        return gguf.GGMLQuantizationType.F32
    return asked if shape[-1] % gguf.GGML_QUANT_SIZES[asked][0] == 0 else gguf.GGMLQuantizationType.F16


def _copy_fields(reader: gguf.GGUFReader, writer: gguf.GGUFWriter, kind: LlamaFileType) -> None:
    """Copy the base file's metadata, with the new file type."""
    for name, field in reader.fields.items():
        own = name in ("general.architecture", "general.file_type", "general.quantization_version")
        if not (own or name.startswith(("GGUF.", PREFIX))):
            first, *rest = field.types
            writer.add_key_value(name, field.contents(), first, rest[-1] if rest else None)
    writer.add_file_type(kind)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
