"""The memory that parts of a model take: what they remember about tokens, and llama.cpp's working buffers.

The former follows from the file. The latter depends on how llama.cpp's allocator reuses buffers, so it is an
estimate: the largest of what must be there at one moment. docs/models.md compares it with llama.cpp's count.
"""

from dataclasses import dataclass

from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

from rig.engine.gguf.info import CELLS, GgufInfo

_F16, _F32 = 2, 4


@dataclass(frozen=True, slots=True)
class Shape:
    """The settings that decide how large everything is. `n_ctx` tokens for each of `n_seq` sequences."""

    n_ctx: int
    n_batch: int
    n_seq: int
    kv_type: str
    flash_attention: bool

    @property
    def cells(self) -> int:
        """Tokens that the KV cache has room for; llama.cpp rounds them up."""
        return -(-self.n_ctx * self.n_seq // CELLS) * CELLS


def kv_bytes(info: GgufInfo, layer: int, shape: Shape) -> int:
    """Keys and values of one layer."""
    block, size = GGML_QUANT_SIZES[GGMLQuantizationType[shape.kv_type.upper()]]
    return int(info.layout.kv_values[layer] * shape.cells * size // block)


def state_bytes(info: GgufInfo, layer: int, shape: Shape) -> int:
    """The recurrent state of one layer."""
    return _F32 * info.layout.state_values[layer] * shape.n_seq


def compute_bytes(info: GgufInfo, shape: Shape, *, has_output: bool) -> int:
    """What a device with layers computes in, and with the output if it `has_output`.

    Without flash attention the scores of all tokens of a batch with all cells are there at once. Logits are
    wanted for one token of each sequence.
    """
    row = _F32 * shape.n_batch
    masks = mask_bytes(info, shape)
    moments = [masks + score_bytes(info, shape) + row * info.layout.inputs, masks + row * info.layout.widest]
    if has_output:
        logits = _F32 * shape.n_seq * (info.vocabulary_size or 0)
        moments.append(logits + 2 * row * (info.embedding_length or 0))
    return max(moments)


def score_bytes(info: GgufInfo, shape: Shape) -> int:
    """Scores of every token of a batch with every cell, which flash attention does without."""
    if shape.flash_attention or not any(info.layout.kv_values):
        return 0
    heads = max(info.heads, default=0) if isinstance(info.heads, tuple) else info.heads or 0
    return _F32 * shape.n_batch * shape.cells * heads


def scratch_bytes(info: GgufInfo, shape: Shape) -> int:
    """What the CPU computes in beside llama.cpp's buffers: the scores once more, in 16 bits."""
    return score_bytes(info, shape) // 2


def mask_bytes(info: GgufInfo, shape: Shape) -> int:
    """Which token of a batch sees which cell; layers with a sliding window have a mask of their own."""
    if not any(info.layout.kv_values):
        return 0
    size = _F16 if shape.flash_attention else _F32
    return shape.cells * shape.n_batch * size * (2 if info.sliding_window else 1)


def input_bytes(info: GgufInfo, shape: Shape) -> int:
    """What a machine without layers of its own prepares for its GPUs: embeddings and masks."""
    return _F32 * shape.n_batch * (info.embedding_length or 0) + mask_bytes(info, shape)
