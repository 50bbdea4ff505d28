"""Tiny GGUF files with random weights of the architectures that people run, one for each kind of memory.

Names and shapes of tensors are those that llama.cpp asks for; the first dimension is the fastest, as there.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import tiny_gguf

WIDTH, HEADS, KV_HEADS, HEAD, INNER, EXPERTS = 64, 4, 2, 16, 96, 4
_STATE, _KERNEL, _GROUPS, _SSM_HEADS = 16, 4, 1, 8

Tensors = Iterator[tuple[str, tuple[int, ...]]]


def _attention(head: int = HEAD, *, norms: bool = False, gated: bool = False) -> Tensors:
    yield "attn_q.weight", (WIDTH, HEADS * head * (2 if gated else 1))
    yield "attn_k.weight", (WIDTH, KV_HEADS * head)
    yield "attn_v.weight", (WIDTH, KV_HEADS * head)
    yield "attn_output.weight", (HEADS * head, WIDTH)
    if norms:
        yield "attn_q_norm.weight", (head,)
        yield "attn_k_norm.weight", (head,)


def _feed_forward(names: str = "ffn_gate ffn_up ffn_down", inner: int = INNER) -> Tensors:
    gate, up, down = names.split()
    yield f"{gate}.weight", (WIDTH, inner)
    yield f"{up}.weight", (WIDTH, inner)
    yield f"{down}.weight", (inner, WIDTH)


def _experts(*, bias: bool = False, shared: bool = True) -> Tensors:
    yield "ffn_gate_inp.weight", (WIDTH, EXPERTS)
    yield "ffn_gate_exps.weight", (WIDTH, 32, EXPERTS)
    yield "ffn_up_exps.weight", (WIDTH, 32, EXPERTS)
    yield "ffn_down_exps.weight", (32, WIDTH, EXPERTS)
    if bias:
        yield "exp_probs_b.bias", (EXPERTS,)
    if shared:
        yield from _feed_forward("ffn_gate_shexp ffn_up_shexp ffn_down_shexp", 32)


def _mamba2(*, gated_norm: bool = True) -> Tensors:
    inner, channels = 2 * WIDTH, 2 * WIDTH + 2 * _GROUPS * _STATE
    yield "ssm_in.weight", (WIDTH, inner + channels + _SSM_HEADS)
    yield "ssm_conv1d.weight", (_KERNEL, channels)
    yield "ssm_conv1d.bias", (channels,)
    yield "ssm_dt.bias", (_SSM_HEADS,)
    yield "ssm_a", (1, _SSM_HEADS)
    yield "ssm_d", (1, _SSM_HEADS)
    if gated_norm:
        yield "ssm_norm.weight", (inner // _GROUPS, _GROUPS)
    yield "ssm_out.weight", (inner, WIDTH)


def _norms(*names: str) -> Tensors:
    yield from ((f"{name}.weight", (WIDTH,)) for name in names)


def _deepseek2(layer: int) -> Tensors:
    latent, rope, nope, value, rank = 32, 16, 16, 16, 24
    yield from _norms("attn_norm", "ffn_norm")
    yield "attn_q_a_norm.weight", (rank,)
    yield "attn_kv_a_norm.weight", (latent,)
    yield "attn_q_a.weight", (WIDTH, rank)
    yield "attn_q_b.weight", (rank, HEADS * (nope + rope))
    yield "attn_kv_a_mqa.weight", (WIDTH, latent + rope)
    yield "attn_k_b.weight", (nope, latent, HEADS)
    yield "attn_v_b.weight", (latent, value, HEADS)
    yield "attn_output.weight", (HEADS * value, WIDTH)
    yield from _feed_forward() if layer == 0 else _experts(bias=True)


def _gemma4(layer: int) -> Tensors:
    yield from _norms("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
    yield from _attention(HEAD if layer % 2 == 0 else 2 * HEAD, norms=True)
    yield from _feed_forward()


def _glm4moe(layer: int) -> Tensors:
    yield from _norms("attn_norm", "post_attention_norm")
    yield from _attention()
    yield from _feed_forward() if layer == 0 else _experts(bias=True)
    if layer == 4:
        yield "nextn.eh_proj.weight", (2 * WIDTH, WIDTH)
        yield from _norms("nextn.enorm", "nextn.hnorm")


def _llama4(layer: int) -> Tensors:
    yield from _norms("attn_norm", "ffn_norm")
    yield from _attention()
    yield from _experts() if layer % 2 else _feed_forward()


def _granitehybrid(layer: int) -> Tensors:
    yield from _norms("attn_norm", "ffn_norm")
    yield from _attention() if layer == 2 else _mamba2()
    yield from _feed_forward()


def _lfm2(layer: int) -> Tensors:
    yield from _norms("attn_norm", "ffn_norm")
    if layer == 2:
        yield from _attention(norms=True)
    else:
        yield "shortconv.conv.weight", (3, WIDTH)
        yield "shortconv.in_proj.weight", (WIDTH, 3 * WIDTH)
        yield "shortconv.out_proj.weight", (WIDTH, WIDTH)
    yield from _feed_forward()


def _qwen3next(layer: int) -> Tensors:
    yield from _norms("attn_norm", "post_attention_norm")
    if layer == 3:
        yield from _attention(norms=True, gated=True)
    else:
        keys, values = _STATE * 2, _STATE * 4
        yield "attn_qkv.weight", (WIDTH, 2 * keys + values)
        yield "attn_gate.weight", (WIDTH, values)
        yield "ssm_conv1d.weight", (_KERNEL, 2 * keys + values)
        yield "ssm_dt.bias", (4,)
        yield "ssm_a", (4,)
        yield "ssm_ba.weight", (WIDTH, 8)
        yield "ssm_norm.weight", (_STATE,)
        yield "ssm_out.weight", (values, WIDTH)
    yield from _experts()
    yield "ffn_gate_inp_shexp.weight", (WIDTH,)


def _falcon_h1(_layer: int) -> Tensors:
    yield from _norms("attn_norm")
    yield "ffn_norm", (WIDTH,)  # without a suffix, in this one
    yield from _mamba2(gated_norm=False)
    yield from _attention()
    yield from _feed_forward()


_MAMBA2 = {
    "ssm.conv_kernel": _KERNEL,
    "ssm.inner_size": 2 * WIDTH,
    "ssm.state_size": _STATE,
    "ssm.time_step_rank": _SSM_HEADS,
    "ssm.group_count": _GROUPS,
}
_MOE = {"expert_count": EXPERTS, "expert_used_count": 2, "expert_feed_forward_length": 32}

ARCHITECTURES: dict[str, tuple[Any, int, dict[str, Any]]] = {
    "deepseek2": (
        _deepseek2,
        4,
        {
            **_MOE,
            "leading_dense_block_count": 1,
            "expert_shared_count": 1,
            "attention.head_count_kv": 1,
            "attention.q_lora_rank": 24,
            "attention.kv_lora_rank": 32,
            "attention.key_length": 48,
            "attention.value_length": 32,
            "attention.key_length_mla": 32,
            "attention.value_length_mla": 16,
        },
    ),
    "gemma4": (
        _gemma4,
        4,
        {
            "attention.key_length": 2 * HEAD,
            "attention.value_length": 2 * HEAD,
            "attention.key_length_swa": HEAD,
            "attention.value_length_swa": HEAD,
            "attention.sliding_window": 64,
            "attention.sliding_window_pattern": [True, False, True, False],
            "embedding_length_per_layer_input": 0,
            "final_logit_softcapping": 30.0,
            "rope.dimension_count": 2 * HEAD,
            "rope.dimension_count_swa": HEAD,
        },
    ),
    "glm4moe": (
        _glm4moe,
        5,
        {
            **_MOE,
            "leading_dense_block_count": 1,
            "expert_shared_count": 1,
            "nextn_predict_layers": 1,
        },
    ),
    "llama4": (_llama4, 4, {**_MOE, "interleave_moe_layer_step": 2}),
    "granitehybrid": (_granitehybrid, 4, {**_MAMBA2, "attention.head_count_kv": [0, 0, KV_HEADS, 0]}),
    "lfm2": (_lfm2, 4, {"shortconv.l_cache": 3, "attention.head_count_kv": [0, 0, KV_HEADS, 0]}),
    "qwen3next": (
        _qwen3next,
        4,
        {
            **_MOE,
            "expert_shared_feed_forward_length": 32,
            "full_attention_interval": 4,
            "ssm.conv_kernel": _KERNEL,
            "ssm.inner_size": 4 * _STATE,
            "ssm.state_size": _STATE,
            "ssm.time_step_rank": 4,
            "ssm.group_count": 2,
        },
    ),
    "falcon-h1": (_falcon_h1, 4, _MAMBA2),
}
"""The tensors of a layer, how many layers, and what the file says besides what all say."""

HYBRIDS = ("granitehybrid", "lfm2", "qwen3next", "falcon-h1")


def write(path: Path, architecture: str, *, n_ctx: int = 4096, seed: int = 0) -> Path:
    """Write a model of an architecture and return its path."""
    tensors_of, layers, keys = ARCHITECTURES[architecture]
    writer = gguf.GGUFWriter(path, architecture)
    words, marks = tiny_gguf._BPE["bpe"]
    n_vocab = tiny_gguf._bpe(writer, words, marks)
    writer.add_chat_template(tiny_gguf.CHATML)
    common = {
        "context_length": n_ctx,
        "embedding_length": WIDTH,
        "block_count": layers,
        "feed_forward_length": INNER,
        "attention.head_count": HEADS,
        "attention.head_count_kv": KV_HEADS,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "attention.key_length": HEAD,
        "attention.value_length": HEAD,
        "rope.dimension_count": HEAD,
    }
    for key, value in {**common, **keys}.items():
        _add(writer, f"{architecture}.{key}", value)
    random = np.random.default_rng(seed)
    last = "token_embd_norm" if architecture == "lfm2" else "output_norm"
    tensors = [("token_embd.weight", (WIDTH, n_vocab)), (f"{last}.weight", (WIDTH,))]
    if architecture == "gemma4":
        tensors.append(("rope_freqs.weight", (HEAD,)))
    tensors.append(("output.weight", (WIDTH, n_vocab)))
    for layer in range(layers):
        tensors += [(f"blk.{layer}.{name}", shape) for name, shape in tensors_of(layer)]
    for name, shape in tensors:
        writer.add_tensor(name, _values(random, name, shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, list):
        writer.add_array(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    else:
        writer.add_uint32(key, value)


def _values(random: np.random.Generator, name: str, shape: tuple[int, ...]) -> Any:
    reverse = tuple(reversed(shape))
    if "norm" in name or name.endswith("ssm_d") or name.startswith("rope"):
        return np.ones(reverse, dtype=np.float32)
    if name.endswith("ssm_a"):
        return -np.exp(random.uniform(0, 1, reverse)).astype(np.float32)
    scale = 0.7 if name.startswith("token_embd") else 0.05 if "bias" in name else 1.6 / math.sqrt(shape[0])
    return (random.standard_normal(reverse) * scale).astype(np.float32)
