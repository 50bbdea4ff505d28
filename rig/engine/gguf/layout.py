"""Where llama.cpp puts what: the bytes of each layer's weights, and the numbers that each layer remembers.

The input embeddings stay in the machine's memory. Layers go to GPUs one by one, from the last to the first,
and the output counts as one more layer. A layer keeps its memory where its weights are.
"""

import platform
import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from rig.engine.gguf.facts import Facts, PerLayer
from rig.engine.gguf.header import Header

MAX_LAYERS = 512
"""llama.cpp's own bound (LLAMA_MAX_LAYERS)."""

_REPACKED = {"Q4_0", "Q4_K", "Q2_K", "IQ4_NL", "MXFP4"}
if platform.machine() in ("arm64", "aarch64"):
    _REPACKED |= {"Q5_K", "Q6_K", "Q8_0"}
"""What llama.cpp's CPU backend has interleaved layouts for, given the processor's instructions."""

_BYTES_A_TOKEN, _BYTES_A_MERGE = 160, 190
"""Measured: what loading the vocabularies of SmolLM2 and Gemma 3 adds to a process."""

_LAYER = re.compile(r"blk\.(\d{1,4})\.")


@dataclass(frozen=True, slots=True)
class Layout:
    """Bytes of weights by place, and what a layer keeps, each layer in turn. Empty if the file is unclear.

    `shared` bytes of the input serve as the output too: on a device with the output they are there twice.
    `kv_values` are numbers kept for every token, `state_values` numbers of 4 bytes kept for every sequence.
    `repacked` bytes of each layer the CPU may lay out anew, and then has twice; `tokenizer` is an estimate.
    `widest` is how many numbers a token has, at most, while it passes a feed-forward part; `inputs` how many
    attention reads and writes beside it.
    """

    layers: tuple[int, ...] = ()
    input: int = 0
    output: int = 0
    shared: int = 0
    kv_values: tuple[int, ...] = ()
    state_values: tuple[int, ...] = ()
    repacked: tuple[int, ...] = ()
    tokenizer: int = 0
    widest: int = 0
    inputs: int = 0

    @property
    def is_known(self) -> bool:
        """Whether there is enough to tell how much memory any number of layers needs."""
        return bool(self.layers) and len(self.kv_values) == len(self.layers)


def layout_of(
    facts: Facts,
    header: Header,
    *,
    heads: PerLayer | None,
    kv_heads: PerLayer | None,
    memory: Literal["attention", "recurrent", "hybrid"],
) -> Layout:
    """The layout of a model; an empty one where its layers are not what llama.cpp takes."""
    count = facts.own("block_count")
    if count is None or not 1 <= count <= MAX_LAYERS:
        return Layout()
    layers, repacked, sizes = _weights(header, count)
    embedding, most_heads = facts.own("embedding_length", 0) or 0, _most(heads)
    head = embedding // most_heads if most_heads else None
    key, value = facts.own("attention.key_length", head), facts.own("attention.value_length", head)
    kept = (key or 0) + (value or 0)
    attends = _attending(facts, kv_heads, count, memory)
    is_known = attends is not None and (kept > 0 or not any(attends))
    state = _state(facts, embedding, most_heads)
    # Some hybrids attend and recur in one and the same layer.
    recurs = [bool(state) and (memory != "attention") for _ in range(count)]
    if attends and memory == "hybrid" and not all(attends):
        recurs = [not number for number in attends]
    return Layout(
        layers=layers,
        input=sizes["input"],
        output=sizes["output"],
        shared=0 if sizes["head"] else sizes["embedding"],
        kv_values=tuple(number * kept for number in attends or ()) if is_known else (),
        state_values=tuple(state * is_recurrent for is_recurrent in recurs),
        repacked=repacked,
        tokenizer=_BYTES_A_TOKEN * (facts.length("tokenizer.ggml.tokens") or 0)
        + _BYTES_A_MERGE * (facts.length("tokenizer.ggml.merges") or 0),
        widest=_widest(facts, embedding),
        inputs=5 * embedding + most_heads * (key or 0) + max(attends or (), default=0) * kept,
    )


def _weights(header: Header, count: int) -> tuple[tuple[int, ...], tuple[int, ...], Counter[str]]:
    """Bytes of each layer, and what may be repacked of it; then of the parts outside, and of two tensors."""
    layers, repacked, sizes = [0] * count, [0] * count, Counter[str]()
    named = {"token_embd.weight": "embedding", "output.weight": "head"}
    for tensor in header.tensors:
        match = _LAYER.match(tensor.name)
        if match and int(match[1]) < count:
            layers[int(match[1])] += tensor.bytes
            repacked[int(match[1])] += tensor.bytes if tensor.type.name in _REPACKED else 0
        else:
            sizes["output" if tensor.name.startswith("output") else "input"] += tensor.bytes
        if tensor.name in named:
            sizes[named[tensor.name]] += tensor.bytes
    return tuple(layers), tuple(repacked), sizes


def _most(heads: PerLayer | None) -> int:
    return max(heads, default=0) if isinstance(heads, tuple) else heads or 0


def _attending(
    facts: Facts, kv_heads: PerLayer | None, count: int, memory: Literal["attention", "recurrent", "hybrid"]
) -> list[int] | None:
    """The KV heads of each layer, 0 for a layer that keeps no keys and values; None if it is not said."""
    if memory == "recurrent":
        return [0] * count
    if kv_heads is None:
        return None
    if isinstance(kv_heads, tuple):
        return [*kv_heads[:count], *[0] * (count - len(kv_heads))]
    interval = facts.own("full_attention_interval") if memory == "hybrid" else None
    return [kv_heads if not interval or (layer + 1) % interval == 0 else 0 for layer in range(count)]


def _state(facts: Facts, embedding: int, heads: int) -> int:
    """Numbers of a recurrent layer's state, of any kind of architecture."""
    kernel = max((facts.own("ssm.conv_kernel", 1) or 1) - 1, 0)
    inner, size = facts.own("ssm.inner_size", 0) or 0, facts.own("ssm.state_size", 0) or 0
    if head := facts.own("kda.head_dim"):
        return 3 * kernel * heads * head + heads * head * head
    if inner:
        return kernel * (inner + 2 * (facts.own("ssm.group_count", 0) or 0) * size) + inner * size
    if head := facts.own("wkv.head_size"):
        return (facts.own("token_shift_count", 2) or 2) * embedding + embedding * head
    return embedding * max((facts.own("shortconv.l_cache", 1) or 1) - 1, 0)


def _widest(facts: Facts, embedding: int) -> int:
    """Gate, product and up-projection of a feed-forward part side by side, or a recurrent part's several."""
    widths = [_most(facts.per_layer("feed_forward_length"))]
    experts = facts.own("expert_used_count", 0) or 0
    if experts:
        own = facts.own("expert_feed_forward_length", widths[0]) or 0
        shared = facts.own("expert_shared_feed_forward_length", 0) or 0
        widths.append(experts * own + shared + experts * embedding // 3)
    widths.append(2 * (facts.own("ssm.inner_size", 0) or 0))
    return 3 * max(widths) + 5 * embedding
