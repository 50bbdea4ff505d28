"""Rows made long enough for llama.cpp's super-blocks, without a change in what the model computes.

K-quants, and most types below four bits, store 256 weights of a row together. A model whose rows are no
multiple of that gets other, larger types in their place. Columns of zeros make its rows fit:

- Every vector between the layers gets zeros at its end. An RMS norm divides by the mean of more squares, so
  its weights are multiplied by the root of old / new columns, and its epsilon by old / new.
- Heads of zeros are added behind the others, as many for each KV head as there were before, so that every
  query head finds the keys it had. Their values are zero, and so are the new rows inside the feed-forward.
"""

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rig.engine.files.derived import DerivedModel, derive
from rig.engine.files.header import Header, read_header
from rig.engine.files.registry import ResolvedModel
from rig.errors import RigError
from rig.tuning.merging import Change, Floats, MergedAdapter, OnTensor, rewrite

BLOCK = 256
"""Weights in a super-block (QK_K in llama.cpp)."""
ARCHITECTURES = ("llama", "qwen2")
"""Those that compute nothing else from the number of columns or heads."""

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
"""What the axes of each tensor are, rows first; those of a layer without its number."""


class Size(NamedTuple):
    """How long an axis is, and how long it becomes."""

    old: int
    new: int


class Widened(Change):
    """A model's tensors with zeros at their ends. Raises RigError for a model that this would change."""

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

    Without a target it is `MODEL-wide-KIND.gguf` in the models directory. What it computes is the same but
    for rounding. Raises RigError for a model that does not allow that (see `derive` also).
    """
    widened = Widened(parent.path, read_header(parent.path))
    changes: list[Change] = [widened]
    if parent.adapter is not None:
        parent.adapter.check(parent.path)
        changes.insert(0, MergedAdapter(parent.adapter))
    write = partial(rewrite, parent.path, kind, changes, progress)
    told = f"{widened.columns.old} to {widened.columns.new} columns"
    return derive(parent, f"wide-{kind}", write, adapter=parent.adapter, output=target, widened=told)
