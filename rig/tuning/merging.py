"""Files whose weights rig computes: adapters merged into them, and what else a `Change` makes of them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import gguf
import numpy as np
from gguf.constants import LlamaFileType
from numpy.typing import NDArray

from rig.engine.files.adapters import EMBEDDING, Adapter
from rig.engine.files.derived import DerivedModel, derive
from rig.engine.files.info import PREFIX, Origin
from rig.engine.files.registry import ResolvedModel
from rig.errors import RigError

Floats = NDArray[np.float32]
OnTensor: TypeAlias = Callable[[int, int], None]
"""Is told the tensors done, and all there are."""


class Change:
    """What is done to a model, tensor by tensor: here nothing. Shapes are those of numpy, rows first.

    `fields` are the numbers that the new file says of itself, by key.
    """

    fields: Mapping[str, int | float] = {}

    def shape(self, _name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a tensor in the new file."""
        return shape

    def values(self, _name: str, values: Floats) -> Floats:
        """Its numbers there."""
        return values


class MergedAdapter(Change):
    """scale · alpha / rank · b · a of an adapter, added to the weights that it is for."""

    def __init__(self, adapter: Adapter) -> None:
        self._pairs, self._alpha = read_pairs(adapter.path)
        self._scale = adapter.scale

    def values(self, name: str, values: Floats) -> Floats:
        if name not in self._pairs:
            return values
        a, b = self._pairs[name]
        # An embedding is looked up by rows: its two matrices stand the other way round.
        is_embedding = name == EMBEDDING
        product = a @ b.T if is_embedding else b @ a
        rank = a.shape[1] if is_embedding else len(a)
        return values + np.float32(self._alpha / rank) * product * np.float32(self._scale)


def merge(
    parent: ResolvedModel, adapter: Adapter, kind: str, *, target: Path | None = None, progress: OnTensor
) -> DerivedModel:
    """Write the model with its adapter merged into its weights, as f32, f16, bf16 or q8_0.

    Its weights are dequantized first, so what their quantization lost stays lost. Without a target it
    is `MODEL+ADAPTER-KIND.gguf` in the models directory. Raises RigError (see `derive`).
    """
    adapter.check(parent.path)
    write = partial(rewrite, parent.path, kind, [MergedAdapter(adapter)], progress)
    return derive(parent, kind, write, adapter=adapter, output=target)


def read_pairs(path: Path) -> tuple[dict[str, tuple[Floats, Floats]], float]:
    """For the weight of a layer, by its name: a [rank, inputs] and b [outputs, rank]; and their alpha."""
    reader = gguf.GGUFReader(path)
    read = {tensor.name: floats(tensor) for tensor in reader.tensors}
    weights = sorted({name.rpartition(".")[0] for name in read})
    pairs = {weight: (read[f"{weight}.lora_a"], read[f"{weight}.lora_b"]) for weight in weights}
    return pairs, float(reader.fields[gguf.Keys.Adapter.LORA_ALPHA].contents())


def rewrite(
    base: Path, kind: str, changes: Sequence[Change], progress: OnTensor, target: Path, origin: Origin
) -> None:
    """Write a model with these changes, one after another, a tensor in memory at a time.

    Raises RigError where a number comes out that `kind` cannot hold.
    """
    reader = gguf.GGUFReader(base)
    with closing(gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())) as writer:
        _copy_fields(reader, writer, file_type(kind), changes)
        for key, value in origin.metadata().items():
            (writer.add_bool if isinstance(value, bool) else writer.add_string)(key, value)
        for tensor in reader.tensors:
            shape = _shape_of(tensor, changes)
            stored = _type_of(shape, kind)
            block, block_bytes = gguf.GGML_QUANT_SIZES[stored]
            size = int(np.prod(shape)) // block * block_bytes
            writer.add_tensor_info(tensor.name, shape, np.dtype(np.float32), size, raw_dtype=stored)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for number, tensor in enumerate(reader.tensors, 1):
            values = floats(tensor)
            stored = _type_of(_shape_of(tensor, changes), kind)
            with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is looked at
                for change in changes:
                    values = change.values(tensor.name, values)
                data = gguf.quantize(values, stored)
                if not np.isfinite(gguf.dequantize(data, stored)).all():
                    raise RigError(
                        f"{tensor.name} would hold numbers that {kind} cannot; choose another type"
                    )
            writer.write_tensor_data(data)
            progress(number, len(reader.tensors))


def floats(tensor: Any) -> Floats:
    """A tensor's numbers. Raises RigError for a type that numpy cannot undo."""
    try:
        return np.array(gguf.dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
    except NotImplementedError as error:
        raise RigError(
            f"{tensor.name}: weights of type {tensor.tensor_type.name} cannot be read; take a file of f16, "
            "bf16, f32 or q8_0"
        ) from error


def file_type(kind: str) -> LlamaFileType:
    """What a file of a kind says that it is."""
    return LlamaFileType["ALL_F32" if kind == "f32" else f"MOSTLY_{kind.upper()}"]


def _shape_of(tensor: Any, changes: Sequence[Change]) -> tuple[int, ...]:
    shape = tuple(int(size) for size in reversed(tensor.shape))
    for change in changes:
        shape = change.shape(tensor.name, shape)
    return shape


def _type_of(shape: tuple[int, ...], kind: str) -> gguf.GGMLQuantizationType:
    """The type in the new file: that of `kind` for matrices whose rows it can hold."""
    asked = gguf.GGMLQuantizationType[kind.upper()]
    if len(shape) < 2:
        return gguf.GGMLQuantizationType.F32
    return asked if shape[-1] % gguf.GGML_QUANT_SIZES[asked][0] == 0 else gguf.GGMLQuantizationType.F16


def _copy_fields(
    reader: gguf.GGUFReader, writer: gguf.GGUFWriter, kind: LlamaFileType, changes: Sequence[Change]
) -> None:
    """Write what the base says of itself, but for what is another in the new file."""
    changed = {name: value for change in changes for name, value in change.fields.items()}
    for name, field in reader.fields.items():
        own = name in ("general.architecture", "general.file_type", "general.quantization_version")
        if not (own or name.startswith(("GGUF.", PREFIX))):
            first, *rest = field.types
            contents = changed.get(name, field.contents())
            writer.add_key_value(name, contents, first, rest[-1] if rest else None)
    writer.add_file_type(kind)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
