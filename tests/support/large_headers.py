"""GGUF files of large models with experts, of which nothing but the header is there: the rest is a hole."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

Q = GGMLQuantizationType
Tensors = Iterator[tuple[str, tuple[int, ...], GGMLQuantizationType]]


class Large(NamedTuple):
    """A model's dimensions as its configuration has them, and what its file says besides."""

    architecture: str
    layers: int
    width: int
    heads: int
    kv_heads: int
    head: int
    experts: int
    used: int
    inner: int
    vocabulary: int
    keys: dict[str, Any]


QWEN3_30B_A3B = Large("qwen3moe", 48, 2048, 32, 4, 128, 128, 8, 768, 151_936, {"context_length": 40_960})
GPT_OSS_20B = Large(
    *("gpt-oss", 24, 2880, 64, 8, 64, 32, 4, 2880, 201_088),
    {"context_length": 131_072, "attention.sliding_window": 128},
)


def _qwen3(model: Large) -> Tensors:
    """The types of Q4_K_M: half of the values and of the way down have more bits (llama-quant.cpp)."""
    yield "token_embd.weight", (model.width, model.vocabulary), Q.Q4_K
    yield "output.weight", (model.width, model.vocabulary), Q.Q6_K
    eighth = model.layers // 8
    for number in range(model.layers):
        has_more = number < eighth or number >= 7 * eighth or (number - eighth) % 3 == 2
        more = Q.Q6_K if has_more else Q.Q4_K
        yield from _attention(model, number, Q.Q4_K, more)
        yield from _experts(model, number, Q.Q4_K, more)
        for name in ("attn_q_norm", "attn_k_norm"):
            yield f"blk.{number}.{name}.weight", (model.head,), Q.F32
        yield f"blk.{number}.ffn_norm.weight", (model.width,), Q.F32


def _gpt_oss(model: Large) -> Tensors:
    """Experts in MXFP4, as they were trained, and all else in 8 bits."""
    for name in ("token_embd", "output"):
        yield f"{name}.weight", (model.width, model.vocabulary), Q.Q8_0
    for number in range(model.layers):
        layer = f"blk.{number}"
        yield from _attention(model, number, Q.Q8_0, Q.Q8_0)
        yield from _experts(model, number, Q.MXFP4, Q.MXFP4)
        yield f"{layer}.post_attention_norm.weight", (model.width,), Q.F32
        yield f"{layer}.attn_sinks.weight", (model.heads,), Q.F32
        yield f"{layer}.attn_output.bias", (model.width,), Q.F32
        for part, heads in zip("qkv", (model.heads, model.kv_heads, model.kv_heads), strict=True):
            yield f"{layer}.attn_{part}.bias", (heads * model.head,), Q.F32
        yield f"{layer}.ffn_gate_inp.bias", (model.experts,), Q.F32
        for part, size in (("gate", model.inner), ("up", model.inner), ("down", model.width)):
            yield f"{layer}.ffn_{part}_exps.bias", (size, model.experts), Q.F32


def _attention(
    model: Large, number: int, kind: GGMLQuantizationType, of_values: GGMLQuantizationType
) -> Tensors:
    layer, keys = f"blk.{number}", model.kv_heads * model.head
    yield f"{layer}.attn_norm.weight", (model.width,), Q.F32
    yield f"{layer}.attn_q.weight", (model.width, model.heads * model.head), kind
    yield f"{layer}.attn_k.weight", (model.width, keys), kind
    yield f"{layer}.attn_v.weight", (model.width, keys), of_values
    yield f"{layer}.attn_output.weight", (model.heads * model.head, model.width), kind


def _experts(model: Large, number: int, kind: GGMLQuantizationType, down: GGMLQuantizationType) -> Tensors:
    layer = f"blk.{number}"
    yield f"{layer}.ffn_gate_inp.weight", (model.width, model.experts), Q.F32
    yield f"{layer}.ffn_gate_exps.weight", (model.width, model.inner, model.experts), kind
    yield f"{layer}.ffn_up_exps.weight", (model.width, model.inner, model.experts), kind
    yield f"{layer}.ffn_down_exps.weight", (model.inner, model.width, model.experts), down


def write(path: Path, model: Large) -> Path:
    """Write the header, and make the file as long as if the weights were there."""
    writer = gguf.GGUFWriter(path, model.architecture)
    numbers = {
        "block_count": model.layers,
        "embedding_length": model.width,
        "feed_forward_length": model.inner,
        "attention.head_count": model.heads,
        "attention.head_count_kv": model.kv_heads,
        "attention.key_length": model.head,
        "attention.value_length": model.head,
        "expert_count": model.experts,
        "expert_used_count": model.used,
        "expert_feed_forward_length": model.inner,
        "vocab_size": model.vocabulary,
        **model.keys,
    }
    for key, value in numbers.items():
        writer.add_uint32(f"{model.architecture}.{key}", value)
    writer.add_float32(f"{model.architecture}.attention.layer_norm_rms_epsilon", 1e-6)
    writer.add_tokenizer_model("no_vocab")
    size = 0
    own = (_qwen3 if model.architecture == "qwen3moe" else _gpt_oss)(model)
    for name, shape, kind in [("output_norm.weight", (model.width,), Q.F32), *own]:
        block, block_bytes = GGML_QUANT_SIZES[kind]
        nbytes = int(np.prod(shape)) // block * block_bytes
        writer.add_tensor_info(name, shape[::-1], np.dtype(np.float16), nbytes, raw_dtype=kind)
        size += nbytes + -nbytes % gguf.GGUF_DEFAULT_ALIGNMENT
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    start = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(start + -start % gguf.GGUF_DEFAULT_ALIGNMENT + size)
    return path
