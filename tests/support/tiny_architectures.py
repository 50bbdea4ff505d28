"""Tiny GGUF files with random weights of the architectures that people run, one for each kind of memory.

Names and shapes of tensors are those that llama.cpp asks for; the first dimension is the fastest, as there.
"""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import tiny_gguf

WIDTH, HEADS, KV_HEADS, HEAD, INNER, EXPERTS = 64, 2, 1, 32, 96, 4
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


def _latent(latent: int = 32, rope: int = 16, nope: int = 16, value: int = 16, rank: int = 24) -> Tensors:
    """Keys and values of all heads from one compressed vector (MLA)."""
    yield "attn_q_a_norm.weight", (rank,)
    yield "attn_kv_a_norm.weight", (latent,)
    yield "attn_q_a.weight", (WIDTH, rank)
    yield "attn_q_b.weight", (rank, HEADS * (nope + rope))
    yield "attn_kv_a_mqa.weight", (WIDTH, latent + rope)
    yield "attn_k_b.weight", (nope, latent, HEADS)
    yield "attn_v_b.weight", (latent, value, HEADS)
    yield "attn_output.weight", (HEADS * value, WIDTH)


def _convolution() -> Tensors:
    yield "shortconv.conv.weight", (3, WIDTH)
    yield "shortconv.in_proj.weight", (WIDTH, 3 * WIDTH)
    yield "shortconv.out_proj.weight", (WIDTH, WIDTH)


def _mamba1() -> Tensors:
    inner, rank = 2 * WIDTH, 4
    yield "ssm_in.weight", (WIDTH, 2 * inner)
    yield "ssm_conv1d.weight", (_KERNEL, inner)
    yield "ssm_conv1d.bias", (inner,)
    yield "ssm_x.weight", (inner, rank + 2 * _STATE)
    yield "ssm_dt.weight", (rank, inner)
    yield "ssm_dt.bias", (inner,)
    yield from (
        (f"ssm_{name}_norm.weight", (size,))
        for name, size in zip(["dt", "b", "c"], (rank, _STATE, _STATE), strict=True)
    )
    yield "ssm_a", (_STATE, inner)
    yield "ssm_d", (inner,)
    yield "ssm_out.weight", (inner, WIDTH)


def _delta_net(gates: dict[str, tuple[int, ...]]) -> Tensors:
    keys, values = _STATE * 2, _STATE * 4
    yield "attn_qkv.weight", (WIDTH, 2 * keys + values)
    yield "attn_gate.weight", (WIDTH, values)
    yield "ssm_conv1d.weight", (_KERNEL, 2 * keys + values)
    yield "ssm_dt.bias", (4,)
    yield "ssm_a", (4,)
    yield from gates.items()
    yield "ssm_norm.weight", (_STATE,)
    yield "ssm_out.weight", (values, WIDTH)


def _rwkv7(rank: int = 8) -> Tensors:
    yield from _biases("attn_norm", "attn_norm_2", "time_mix_ln")
    for name in ("w0", "a0", "v0", "k_k", "k_a", "r_k", "ln"):
        yield f"time_mix_{name}.weight", (WIDTH,)
    for name in "wavg":
        yield f"time_mix_{name}1.weight", (WIDTH, rank)
        yield f"time_mix_{name}2.weight", (rank, WIDTH)
    for name in ("key", "value", "receptance", "output"):
        yield f"time_mix_{name}.weight", (WIDTH, WIDTH)
    yield "time_mix_lerp_fused.weight", (WIDTH, 1, 1, 6)
    yield "channel_mix_lerp_k.weight", (WIDTH, 1, 1)
    yield "channel_mix_key.weight", (WIDTH, INNER)
    yield "channel_mix_value.weight", (INNER, WIDTH)


def _biases(*names: str, **sizes: int) -> Tensors:
    yield from ((f"{name}.bias", (sizes.get(name, WIDTH),)) for name in names)


_PARTS: dict[str, Callable[[], Tensors]] = {
    "attn": _attention,
    "attn/norms": lambda: _attention(norms=True),
    "attn/wide": lambda: _attention(2 * HEAD, norms=True),
    "attn/gated": lambda: _attention(norms=True, gated=True),
    "attn/long_norms": lambda: iter(
        [*_attention(), ("attn_q_norm.weight", (HEADS * HEAD,)), ("attn_k_norm.weight", (KV_HEADS * HEAD,))]
    ),
    "attn/biases": lambda: iter(
        [*_attention(), *((f"attn_{n}.bias", (HEAD * (HEADS if n == "q" else KV_HEADS),)) for n in "qkv")]
    ),
    "attn/fused": lambda: iter(
        [
            ("attn_qkv.weight", (WIDTH, (HEADS + 2 * KV_HEADS) * HEAD)),
            ("attn_output.weight", (HEADS * HEAD, WIDTH)),
        ]
    ),
    "attn/latent": _latent,
    "sinks": lambda: iter([("attn_sinks.weight", (HEADS,)), *_biases("attn_output")]),
    "qk_norms": lambda: iter([("attn_q_norm.weight", (HEAD,)), ("attn_k_norm.weight", (HEAD,))]),
    "ffn": _feed_forward,
    "ffn/narrow": lambda: _feed_forward(inner=32),
    "ffn/no_gate": lambda: iter([*_feed_forward()][1:]),
    "ffn/fused": lambda: iter([("ffn_up.weight", (WIDTH, 2 * INNER)), ("ffn_down.weight", (INNER, WIDTH))]),
    "moe": lambda: _experts(shared=False),
    "moe/bias": lambda: _experts(bias=True, shared=False),
    "moe/shared": _experts,
    "moe/shared_bias": lambda: _experts(bias=True),
    "moe/gated_shared": lambda: iter([*_experts(), ("ffn_gate_inp_shexp.weight", (WIDTH,))]),
    "moe/biases": lambda: iter(
        [
            *_experts(shared=False),
            ("ffn_gate_inp.bias", (EXPERTS,)),
            *((f"ffn_{name}_exps.bias", (size, EXPERTS)) for name, size in _EXPERT_BIASES),
        ]
    ),
    "conv": _convolution,
    "mamba1": _mamba1,
    "mamba2": _mamba2,
    "rwkv7": _rwkv7,
    "mamba2/no_norm": lambda: _mamba2(gated_norm=False),
    "delta": lambda: _delta_net({"ssm_ba.weight": (WIDTH, 8)}),
    "delta/split": lambda: _delta_net({"ssm_beta.weight": (WIDTH, 4), "ssm_alpha.weight": (WIDTH, 4)}),
    "ffn_norm_plain": lambda: iter([("ffn_norm", (WIDTH,))]),  # without a suffix, in this one
    "next_token": lambda: iter(
        [("nextn.eh_proj.weight", (2 * WIDTH, WIDTH)), *_norms("nextn.enorm", "nextn.hnorm")]
    ),
}
"""Parts of a layer; any other word is a norm of that name."""
_EXPERT_BIASES = (("gate", 32), ("up", 32), ("down", WIDTH))


def tensors_of(layer: str) -> Tensors:
    """The tensors of a layer, from its parts: `attn_norm attn ffn_norm ffn`."""
    for part in layer.split():
        yield from _PARTS[part]() if part in _PARTS else _norms(part)


_MAMBA2 = {
    "ssm.conv_kernel": _KERNEL,
    "ssm.inner_size": 2 * WIDTH,
    "ssm.state_size": _STATE,
    "ssm.time_step_rank": _SSM_HEADS,
    "ssm.group_count": _GROUPS,
}
_MOE = {"expert_count": EXPERTS, "expert_used_count": 2, "expert_feed_forward_length": 32}

_WINDOW = {"attention.sliding_window": 64}
_SCALES = {"logit_scale": 1.0, "residual_scale": 0.5, "embedding_scale": 1.0, "attention.scale": 0.25}
_DELTA_NET = {
    "full_attention_interval": 4,
    "ssm.conv_kernel": _KERNEL,
    "ssm.inner_size": 4 * _STATE,
    "ssm.state_size": _STATE,
    "ssm.time_step_rank": 4,
    "ssm.group_count": 2,
}
_SHARED = {
    **_MOE,
    "leading_dense_block_count": 1,
    "expert_shared_count": 1,
    "expert_shared_feed_forward_length": 32,
}
_THIRD = {"attention.head_count_kv": [0, 0, KV_HEADS, 0]}
"""Attention in the third layer alone."""
_PLAIN = "attn_norm attn ffn_norm ffn"
_SANDWICH = "attn_norm {} post_attention_norm ffn_norm ffn post_ffw_norm"
_POST = "{} post_attention_norm ffn post_ffw_norm"

ARCHITECTURES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "llama": ((_PLAIN,) * 4, {}),
    "qwen2": (("attn_norm attn/biases ffn_norm ffn",) * 4, {}),
    "qwen3": (("attn_norm attn/norms ffn_norm ffn",) * 4, {}),
    "smollm3": ((_PLAIN,) * 4, {}),
    "minicpm": ((_PLAIN,) * 4, {}),
    "mistral3": ((_PLAIN,) * 4, {}),
    "ernie4_5": ((_PLAIN,) * 4, {}),
    "granite": ((_PLAIN,) * 4, _SCALES),
    "seed_oss": (("attn_norm attn post_attention_norm ffn",) * 4, {}),
    "hunyuan-dense": (("attn_norm attn/norms ffn_norm ffn",) * 4, {}),
    "apertus": (
        ("attn_norm attn/norms ffn_norm ffn/no_gate",) * 4,
        {"/xielu.alpha_n": 0.8, "/xielu.alpha_p": 0.8, "/xielu.beta": 0.5, "/xielu.eps": -1e-6},
    ),
    "glm4": (("attn_norm attn post_attention_norm ffn_norm ffn/fused post_ffw_norm",) * 4, {}),
    "phi3": (("attn_norm attn/fused ffn_norm ffn/fused",) * 4, {}),
    "exaone4": ((_POST.format("attn/norms"),) * 4, _WINDOW),
    "olmo2": ((_POST.format("attn/long_norms"),) * 4, _WINDOW),
    "cohere2": (("attn_norm attn ffn",) * 4, {**_WINDOW, "logit_scale": 0.25}),
    "gemma2": ((_SANDWICH.format("attn"),) * 4, _WINDOW),
    "gemma3": ((_SANDWICH.format("attn/norms"),) * 6, _WINDOW),
    "gemma4": (
        tuple(_SANDWICH.format(part) for part in ("attn/norms", "attn/wide") * 2),
        {
            "attention.key_length": 2 * HEAD,
            "attention.value_length": 2 * HEAD,
            "attention.key_length_swa": HEAD,
            "attention.value_length_swa": HEAD,
            **_WINDOW,
            "attention.sliding_window_pattern": [True, False, True, False],
            "embedding_length_per_layer_input": 0,
            "final_logit_softcapping": 30.0,
            "rope.dimension_count": 2 * HEAD,
            "rope.dimension_count_swa": HEAD,
        },
    ),
    "gpt-oss": (("attn_norm attn sinks post_attention_norm moe/biases",) * 4, {**_WINDOW, **_MOE}),
    "qwen3moe": (("attn_norm attn/norms ffn_norm moe",) * 4, _MOE),
    "glm4moe": (
        (
            "attn_norm attn post_attention_norm ffn",
            *("attn_norm attn post_attention_norm moe/shared_bias",) * 3,
            "attn_norm attn post_attention_norm moe/shared_bias next_token",
        ),
        {**_SHARED, "nextn_predict_layers": 1},
    ),
    "bailingmoe2": (
        (
            "attn_norm attn/fused qk_norms ffn_norm ffn",
            *("attn_norm attn/fused qk_norms ffn_norm moe/shared",) * 3,
        ),
        {**_SHARED, "expert_gating_func": 2},
    ),
    "minimax-m2": (
        ("attn_norm attn/long_norms ffn_norm moe/bias",) * 4,
        {**_MOE, "expert_gating_func": 2, "feed_forward_length": 32},
    ),
    "lfm2moe": (
        (
            "attn_norm ffn_norm conv ffn",
            "attn_norm ffn_norm conv moe/bias",
            "attn_norm ffn_norm attn/norms moe/bias",
            "attn_norm ffn_norm conv moe/bias",
        ),
        {**_MOE, **_THIRD, "shortconv.l_cache": 3, "leading_dense_block_count": 1, "expert_gating_func": 2},
    ),
    "llama4": (
        ("attn_norm ffn_norm attn ffn", "attn_norm ffn_norm attn moe/shared") * 2,
        {**_MOE, "interleave_moe_layer_step": 2},
    ),
    "deepseek2": (
        ("attn_norm ffn_norm attn/latent ffn", *("attn_norm ffn_norm attn/latent moe/shared_bias",) * 3),
        {
            **_SHARED,
            "attention.head_count_kv": 1,
            "attention.q_lora_rank": 24,
            "attention.kv_lora_rank": 32,
            "attention.key_length": 48,
            "attention.value_length": 32,
            "attention.key_length_mla": 32,
            "attention.value_length_mla": 16,
            "rope.dimension_count": 16,
        },
    ),
    "mamba2": (("attn_norm mamba2",) * 4, {**_MAMBA2, "attention.head_count": 0}),
    "rwkv7": (
        ("attn_norm attn_norm_2 rwkv7",) * 4,
        {
            "attention.head_count": 0,
            # llama.cpp's AVX-512 code takes 64 numbers at once: a smaller head is written past its end.
            "wkv.head_size": 64,
            "token_shift_count": 2,
            **{f"attention.{kind}_lora_rank": 8 for kind in ("decay", "iclr", "value_residual_mix", "gate")},
        },
    ),
    "jamba": (
        (
            "attn_norm mamba1 ffn_norm ffn/narrow",
            "attn_norm mamba1 ffn_norm moe",
            "attn_norm attn ffn_norm ffn/narrow",
            "attn_norm mamba1 ffn_norm moe",
        ),
        {
            **_MAMBA2,
            **_THIRD,
            **_MOE,
            "ssm.time_step_rank": 4,
            "feed_forward_length": 32,
        },
    ),
    "granitehybrid": (
        tuple(f"attn_norm ffn_norm {part} ffn" for part in ("mamba2", "mamba2", "attn", "mamba2")),
        {**_MAMBA2, **_THIRD},
    ),
    "lfm2": (
        tuple(f"attn_norm ffn_norm {part} ffn" for part in ("conv", "conv", "attn/norms", "conv")),
        {**_THIRD, "shortconv.l_cache": 3},
    ),
    "qwen3next": (
        tuple(
            f"attn_norm post_attention_norm {part} moe/gated_shared"
            for part in (*("delta",) * 3, "attn/gated")
        ),
        {**_SHARED, **_DELTA_NET},
    ),
    "qwen35": (
        tuple(f"attn_norm post_attention_norm {part} ffn" for part in (*("delta/split",) * 3, "attn/gated")),
        {**_DELTA_NET, "rope.dimension_sections": [6, 6, 4, 0]},
    ),
    "qwen35moe": (
        tuple(
            f"attn_norm post_attention_norm {part} moe/gated_shared"
            for part in (*("delta/split",) * 3, "attn/gated")
        ),
        {**_SHARED, **_DELTA_NET, "rope.dimension_sections": [6, 6, 4, 0]},
    ),
    "nemotron_h": (
        tuple(f"attn_norm {part}" for part in ("mamba2", "attn", "ffn/no_gate", "mamba2")),
        {
            **_MAMBA2,
            "attention.head_count_kv": [0, KV_HEADS, 0, 0],
            "feed_forward_length": [0, 0, INNER, 0],
        },
    ),
    "falcon-h1": (("attn_norm ffn_norm_plain mamba2/no_norm attn ffn",) * 4, _MAMBA2),
}
"""The layers, from their parts, and what the file says besides what all say."""

HYBRIDS = ("granitehybrid", "lfm2", "qwen3next", "nemotron_h", "falcon-h1")


def write(path: Path, architecture: str, *, n_ctx: int = 4096, seed: int = 0) -> Path:
    """Write a model of an architecture and return its path."""
    layers, keys = ARCHITECTURES[architecture]
    writer = gguf.GGUFWriter(path, architecture)
    words, marks = tiny_gguf._BPE["bpe"]
    n_vocab = tiny_gguf._bpe(writer, words, marks)
    writer.add_chat_template(tiny_gguf.CHATML)
    common = {
        "context_length": n_ctx,
        "embedding_length": WIDTH,
        "block_count": len(layers),
        "feed_forward_length": INNER,
        "attention.head_count": HEADS,
        "attention.head_count_kv": KV_HEADS,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "attention.layer_norm_epsilon": 1e-5,
        "attention.key_length": HEAD,
        "attention.value_length": HEAD,
        "rope.dimension_count": HEAD,
    }
    for key, value in {**common, **keys}.items():
        _add(writer, key[1:] if key.startswith("/") else f"{architecture}.{key}", value)
    random = np.random.default_rng(seed)
    last = "token_embd_norm" if architecture.startswith("lfm2") else "output_norm"
    tensors = [("token_embd.weight", (WIDTH, n_vocab)), (f"{last}.weight", (WIDTH,))]
    if architecture == "gemma4":
        tensors.append(("rope_freqs.weight", (HEAD,)))
    if architecture == "rwkv7":
        tensors += [("token_embd_norm.weight", (WIDTH,)), *_biases("token_embd_norm", "output_norm")]
    if architecture not in ("cohere2", "gemma2"):  # theirs is the embedding
        tensors.append(("output.weight", (WIDTH, n_vocab)))
    for number, layer in enumerate(layers):
        tensors += [(f"blk.{number}.{name}", shape) for name, shape in tensors_of(layer)]
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
    if name.endswith(("ssm_dt.bias", "time_mix_w0.weight")):
        return random.normal(-6, 0.05, reverse).astype(np.float32)  # a state that lasts hundreds of tokens
    if name.endswith("time_mix_w2.weight"):
        return np.zeros(reverse, dtype=np.float32)  # or some of it lasts less
    scale = 0.7 if name.startswith("token_embd") else 0.05 if "bias" in name else 1.6 / math.sqrt(shape[0])
    return (random.standard_normal(reverse) * scale).astype(np.float32)
