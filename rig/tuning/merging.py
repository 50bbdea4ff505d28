"""Files whose weights rig computes: models with merged adapters, and with rows long enough for quantizing.

K-quants, and most types below four bits, store 256 weights of a row together. If a model's rows are not
multiples of that, it gets other, larger types instead. Columns of zeros make its rows fit without changing
what the model computes:

- Every vector between the layers gets zeros at its end. An RMS norm divides by the mean of more squares, so
  its weights are multiplied by the root of old / new columns, and its epsilon by old / new.
- Heads of zeros are added behind the others, with as many query heads for each KV head as before, so that
  every query head keeps its keys. Their values are zero, as are the new rows inside the feed-forward.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import gguf
import numpy as np
from gguf.constants import LlamaFileType
from numpy.typing import NDArray

from rig.engine.files.adapters import EMBEDDING, Adapter
from rig.engine.files.derived import DerivedModel, derive
from rig.engine.files.header import Header, read_header
from rig.engine.files.info import PREFIX, Origin
from rig.engine.files.registry import ResolvedModel
from rig.errors import RigError

Floats = NDArray[np.float32]
OnTensor: TypeAlias = Callable[[int, int], None]
"""Called with the number of tensors done and the number of all tensors."""


class Change:
    """A change of a model, tensor by tensor; this base class changes nothing. Shapes are numpy's, rows first.

    `fields` are the numbers that change in the file's metadata, by key.
    """

    fields: Mapping[str, int | float] = {}

    def shape(self, _name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a tensor in the new file."""
        return shape

    def values(self, _name: str, values: Floats) -> Floats:
        """Return the numbers of a tensor in the new file."""
        return values


class MergedAdapter(Change):
    """The change that adds an adapter to its weights: scale · alpha / rank · b · a."""

    def __init__(self, adapter: Adapter) -> None:
        self._pairs, self._alpha = read_pairs(adapter.path)
        self._scale = adapter.scale

    def values(self, name: str, values: Floats) -> Floats:
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
    write = partial(rewrite, parent.path, kind, [MergedAdapter(adapter)], progress)
    return derive(parent, kind, write, adapter=adapter, output=target)


def read_pairs(path: Path) -> tuple[dict[str, tuple[Floats, Floats]], float]:
    """Read an adapter: by weight, the matrices a [rank, inputs] and b [outputs, rank]; and its alpha."""
    reader = gguf.GGUFReader(path)
    read = {tensor.name: floats(tensor) for tensor in reader.tensors}
    weights = sorted({name.rpartition(".")[0] for name in read})
    pairs = {weight: (read[f"{weight}.lora_a"], read[f"{weight}.lora_b"]) for weight in weights}
    return pairs, float(reader.fields[gguf.Keys.Adapter.LORA_ALPHA].contents())


def rewrite(
    base: Path, kind: str, changes: Sequence[Change], progress: OnTensor, target: Path, origin: Origin
) -> None:
    """Write a model with these changes, applied one after another, with one tensor in memory at a time.

    Raises RigError if a resulting number does not fit into `kind`.
    """
    reader = gguf.GGUFReader(base)
    with closing(gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())) as writer:
        _copy_fields(reader, writer, file_type(kind), changes)
        for key, value in origin.metadata().items():
            (writer.add_bool if isinstance(value, bool) else writer.add_string)(key, value)
        kinds = []
        for tensor in reader.tensors:
            shape = tuple(int(size) for size in reversed(tensor.shape))
            for change in changes:
                shape = change.shape(tensor.name, shape)
            kinds.append(stored := _type_of(shape, kind))
            block, block_bytes = gguf.GGML_QUANT_SIZES[stored]
            size = int(np.prod(shape)) // block * block_bytes
            writer.add_tensor_info(tensor.name, shape, np.dtype(np.float32), size, raw_dtype=stored)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for number, (tensor, stored) in enumerate(zip(reader.tensors, kinds, strict=True), 1):
            values = floats(tensor)
            with np.errstate(over="ignore", invalid="ignore"):  # the result is checked below
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


def _copy_fields(
    reader: gguf.GGUFReader, writer: gguf.GGUFWriter, kind: LlamaFileType, changes: Sequence[Change]
) -> None:
    """Copy the base file's metadata, with the changed numbers and the new file type."""
    changed = {name: value for change in changes for name, value in change.fields.items()}
    for name, field in reader.fields.items():
        own = name in ("general.architecture", "general.file_type", "general.quantization_version")
        if not (own or name.startswith(("GGUF.", PREFIX))):
            first, *rest = field.types
            contents = changed.get(name, field.contents())
            writer.add_key_value(name, contents, first, rest[-1] if rest else None)
    writer.add_file_type(kind)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)


BLOCK = 256
"""The weights of a super-block (QK_K in llama.cpp)."""
ARCHITECTURES = ("llama", "qwen2")
"""The architectures that compute nothing else from the number of columns or heads."""

_AXES: Mapping[str, tuple[str, ...]] = {
    "token_embd.weight": ("", "columns"),
    "output.weight": ("", "columns"),
    "output_norm.weight": ("columns",),
    "rope_freqs.weight": ("",),
    "attn_norm.weight": ("columns",),
    "ffn_norm.weight": ("columns",),
    "attn_q.weight": ("heads", "columns"),
    "attn_q.bias": ("heads",),
    "attn_k.weight": ("kv_heads", "columns"),
    "attn_k.bias": ("kv_heads",),
    "attn_v.weight": ("kv_heads", "columns"),
    "attn_v.bias": ("kv_heads",),
    "attn_output.weight": ("columns", "heads"),
    "attn_output.bias": ("columns",),
    "ffn_gate.weight": ("inner", "columns"),
    "ffn_up.weight": ("inner", "columns"),
    "ffn_down.weight": ("columns", "inner"),
    "ffn_gate.bias": ("inner",),
    "ffn_up.bias": ("inner",),
    "ffn_down.bias": ("columns",),
}
"""The axes of each tensor, rows first. Tensors of a layer are listed without its number."""


class Size(NamedTuple):
    """The old and the new length of an axis."""

    old: int
    new: int


class Widened(Change):
    """The change that pads a model's tensors with zeros. Raises RigError if that would alter the results."""

    def __init__(self, path: Path, header: Header) -> None:
        architecture = header.architecture
        if architecture not in ARCHITECTURES:
            raise RigError(f"{path}: rig can widen {' and '.join(ARCHITECTURES)} models, not {architecture}")
        keys = "embedding_length", "attention.head_count", "feed_forward_length"
        columns, heads, inner = (header.own(key) for key in keys)
        kv_heads = header.own("attention.head_count_kv", heads)
        eps = header.get(f"{architecture}.attention.layer_norm_rms_epsilon", float)
        if not (columns and heads and inner and kv_heads and eps):
            raise RigError(f"{path}: does not say of every layer alike how many columns and heads it has")
        length = columns // heads
        declared = (header.own(f"attention.{name}_length", length) for name in ("key", "value"))
        if length * heads != columns or set(declared) != {length} or heads % kv_heads:
            raise RigError(f"{path}: cannot be widened, as its heads together are not as long as its rows")
        # As many columns as make whole blocks, whole heads, and whole groups of heads for a KV head.
        wider = _up(columns, math.lcm(BLOCK, length * (heads // kv_heads)))
        self.columns = Size(columns, wider)
        self._sizes = {
            "columns": self.columns,
            "heads": self.columns,
            "kv_heads": Size(length * kv_heads, wider * kv_heads // heads),
            "inner": Size(inner, _up(inner, BLOCK)),
        }
        if all(size.old == size.new for size in self._sizes.values()):
            raise RigError(f"{path}: its rows are multiples of {BLOCK} already; quantize it as it is")
        for tensor in header.tensors:
            axes = _axes_of(tensor.name)
            fits = axes is not None and len(axes) == len(tensor.shape)
            named = zip(axes or (), reversed(tensor.shape), strict=False)
            if not fits or any(axis and self._sizes[axis].old != size for axis, size in named):
                raise RigError(f"{path}: cannot be widened, as rig does not know what its {tensor.name} does")
        told = {
            "embedding_length": wider,
            "attention.head_count": wider // length,
            "attention.head_count_kv": wider // length * kv_heads // heads,
            "feed_forward_length": self._sizes["inner"].new,
            "attention.layer_norm_rms_epsilon": eps * columns / wider,
        }
        self.fields = {f"{architecture}.{key}": value for key, value in told.items()}

    def shape(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        axes = zip(_axes_of(name) or (), shape, strict=True)
        return tuple(self._sizes[axis].new if axis else size for axis, size in axes)

    def values(self, name: str, values: Floats) -> Floats:
        if name.endswith("_norm.weight"):
            values = values * np.float32(math.sqrt(self.columns.old / self.columns.new))
        wider = self.shape(name, values.shape)
        return np.pad(values, [(0, new - old) for old, new in zip(values.shape, wider, strict=True)])


def _axes_of(name: str) -> tuple[str, ...] | None:
    return _AXES.get(name.split(".", 2)[-1] if name.startswith("blk.") else name)


def _up(size: int, block: int) -> int:
    return -(-size // block) * block


def widen(
    parent: ResolvedModel, kind: str, *, target: Path | None = None, progress: OnTensor
) -> DerivedModel:
    """Write the model, its adapter merged, with rows that are multiples of 256, as f32, f16, bf16 or q8_0.

    The default target is `MODEL-wide-KIND.gguf` in the models directory. The new file computes the same,
    except for rounding. Raises RigError for a model that does not allow this (see also `derive`).
    """
    widened = Widened(parent.path, read_header(parent.path))
    changes: list[Change] = [widened]
    if parent.adapter is not None:
        parent.adapter.check(parent.path)
        changes.insert(0, MergedAdapter(parent.adapter))
    write = partial(rewrite, parent.path, kind, changes, progress)
    told = f"{widened.columns.old} to {widened.columns.new} columns"
    return derive(parent, f"wide-{kind}", write, adapter=parent.adapter, output=target, widened=told)
