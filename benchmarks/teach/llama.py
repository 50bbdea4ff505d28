"""A Llama model in torch, read from a GGUF file, with a low-rank adapter that can be trained.

The weights stay as they are; each linear layer adds `(x · Aᵀ · Bᵀ) · alpha / rank`. The rows of the query
and key weights keep GGUF's own order, in which a rotation turns neighbours, so nothing has to be permuted,
neither here nor when the adapter is written for llama.cpp.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

LINEAR = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
"""The linear layers of a block, by their names in GGUF; all of them are adapted."""

KeysValues = tuple[Tensor, Tensor]
"""Keys and values of one block, each [key heads, tokens, head size]."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers that make one Llama model another."""

    blocks: int
    width: int
    heads: int
    key_heads: int
    epsilon: float
    rope_base: float

    @property
    def head_size(self) -> int:
        return self.width // self.heads


class Adapted(nn.Module):
    """A frozen linear layer and the low-rank change to it, which begins as none at all."""

    def __init__(self, weight: Tensor, rank: int, alpha: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=False)
        outputs, inputs = weight.shape
        self.scale = alpha / rank
        self.a = nn.Parameter(torch.randn(rank, inputs) / inputs**0.5)
        self.b = nn.Parameter(torch.zeros(outputs, rank))

    def forward(self, x: Tensor) -> Tensor:
        """[tokens, inputs] to [tokens, outputs]."""
        change = F.linear(F.linear(x, self.a.to(x.dtype)), self.b.to(x.dtype))
        return F.linear(x, self.weight) + change * self.scale

    @property
    def change(self) -> Tensor:
        """What the adapter adds to the weight, [outputs, inputs]."""
        return (self.b @ self.a).detach().float() * self.scale


class _Attention(torch.autograd.Function):
    """Attention over a prefix that is not trained and over tokens that are.

    torch's own kernels would take the gradient of the whole prefix too, at twice the time. Queries are scaled
    already, and those of the heads that share a key head stand one after another.
    """

    @staticmethod
    def forward(
        context: Any, queries: Tensor, keys: Tensor, values: Tensor, prefix: KeysValues, mask: Tensor
    ) -> Tensor:
        """[key heads, group · tokens, head size]; `mask` is added to what tokens see of each other."""
        keys, values = torch.cat([prefix[0], keys], 1), torch.cat([prefix[1], values], 1)
        before = prefix[0].shape[1]
        scores = queries @ keys.transpose(1, 2)
        scores[:, :, before:] += mask
        weights = torch.softmax(scores, -1, out=scores)
        seen = weights @ values
        context.save_for_backward(queries, keys, values, weights, seen)
        context.before = before
        return seen

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        queries, keys, values, weights, seen = context.saved_tensors
        before = context.before
        scores = gradient @ values.transpose(1, 2)
        scores.sub_((gradient.float() * seen.float()).sum(-1, keepdim=True).to(scores.dtype)).mul_(weights)
        return (
            scores @ keys,
            scores[:, :, before:].transpose(1, 2) @ queries,
            weights[:, :, before:].transpose(1, 2) @ gradient,
            None,
            None,
        )


class Block(nn.Module):
    """Attention and a gated feed-forward layer."""

    attn_q: Adapted
    attn_k: Adapted
    attn_v: Adapted
    attn_output: Adapted
    ffn_gate: Adapted
    ffn_up: Adapted
    ffn_down: Adapted

    def __init__(self, shape: Shape, weights: dict[str, Tensor], rank: int, alpha: float) -> None:
        super().__init__()
        self.shape = shape
        self.attn_norm = nn.Parameter(weights["attn_norm"].float(), requires_grad=False)
        self.ffn_norm = nn.Parameter(weights["ffn_norm"].float(), requires_grad=False)
        for name in LINEAR:
            setattr(self, name, Adapted(weights[name], rank, alpha))

    def forward(
        self, x: Tensor, turn: Tensor, mask: Tensor | None, prefix: KeysValues | None
    ) -> tuple[Tensor, KeysValues]:
        """The block's output, [tokens, width], and the keys and values of these tokens.

        Without a `prefix` the tokens are one text, in which they see those before them.
        """
        shape, kind = self.shape, self.attn_q.weight.dtype
        normed = self._normed(x, self.attn_norm).to(kind)
        queries = _rotate(_split(self.attn_q(normed), shape.heads), turn)
        keys = _rotate(_split(self.attn_k(normed), shape.key_heads), turn)
        values = _split(self.attn_v(normed), shape.key_heads)
        if prefix is None or mask is None:
            copies = shape.heads // shape.key_heads
            every_key, every_value = (part.repeat_interleave(copies, 0) for part in (keys, values))
            seen = F.scaled_dot_product_attention(queries, every_key, every_value, is_causal=True)
        else:
            grouped = (queries * shape.head_size**-0.5).reshape(shape.key_heads, -1, shape.head_size)
            made: Tensor = _Attention.apply(grouped, keys, values, prefix, mask)  # type: ignore[no-untyped-call]
            seen = made.view_as(queries)
        x = x + self.attn_output(seen.transpose(0, 1).reshape(len(x), shape.width))
        normed = self._normed(x, self.ffn_norm).to(kind)
        return x + self.ffn_down(F.silu(self.ffn_gate(normed)) * self.ffn_up(normed)), (keys, values)

    def _normed(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, (self.shape.width,), weight, self.shape.epsilon)


class Llama(nn.Module):
    """The whole model. Where the file has no output weight, that is the embedding."""

    frequencies: Tensor

    def __init__(self, shape: Shape, weights: dict[str, Tensor], rank: int, alpha: float) -> None:
        super().__init__()
        self.shape, self.rank, self.alpha = shape, rank, alpha
        self.embedding = nn.Parameter(weights["token_embd"], requires_grad=False)
        self.output = nn.Parameter(weights.get("output", weights["token_embd"]), requires_grad=False)
        self.norm = nn.Parameter(weights["output_norm"].float(), requires_grad=False)
        self.blocks = nn.ModuleList(
            Block(shape, _of_block(weights, number), rank, alpha) for number in range(shape.blocks)
        )
        size = shape.head_size
        frequencies = shape.rope_base ** (-torch.arange(0, size, 2, dtype=torch.float32) / size)
        self.register_buffer("frequencies", frequencies, persistent=False)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.embedding.device

    def forward(
        self,
        tokens: Tensor,
        positions: Tensor,
        prefix: Sequence[KeysValues] | None = None,
        sees: Tensor | None = None,
    ) -> tuple[Tensor, list[KeysValues]]:
        """The last hidden states, [tokens, width], and each block's keys and values of these tokens.

        Without a `prefix` the tokens are one text. Behind one they may be several that share it: `sees`
        [tokens, tokens] says which token sees which.
        """
        x = self.embedding[tokens].float()
        angles = positions[:, None].float() * self.frequencies
        turn = torch.polar(torch.ones_like(angles), angles)
        mask = None
        if sees is not None:
            bias = torch.zeros_like(sees, dtype=self.embedding.dtype).masked_fill(~sees, float("-inf"))
            mask = bias.repeat(self.shape.heads // self.shape.key_heads, 1)
        made: list[KeysValues] = []
        for number, block in enumerate(self.blocks):
            x, own = block(x, turn, mask, prefix[number] if prefix is not None else None)
            made.append(own)
        return F.rms_norm(x, (self.shape.width,), self.norm, self.shape.epsilon), made

    def logits(self, hidden: Tensor) -> Tensor:
        """[tokens, vocabulary]."""
        return F.linear(hidden.to(self.output.dtype), self.output).float()

    def adapted(self) -> Iterator[tuple[str, Adapted]]:
        """Every adapted layer with the name of its weight in GGUF."""
        for number, block in enumerate(self.blocks):
            for name in LINEAR:
                yield f"blk.{number}.{name}.weight", getattr(block, name)

    def adapter_state(self) -> dict[str, Tensor]:
        """The adapter alone, by name."""
        return {
            name: value.detach().clone() for name, value in self.named_parameters() if value.requires_grad
        }


def read_model(path: Path, *, rank: int, alpha: float, dtype: torch.dtype = torch.float32) -> Llama:
    """The model of a GGUF file, dequantized. Raises ValueError for another architecture than Llama's."""
    reader = gguf.GGUFReader(path)
    architecture = reader.fields["general.architecture"].contents()
    if architecture != "llama":
        raise ValueError(f"{path}: the architecture is {architecture}, not llama")
    read = {
        name.removeprefix("llama."): field.contents()
        for name, field in reader.fields.items()
        if name.startswith("llama.")
    }
    shape = Shape(
        blocks=read["block_count"],
        width=read["embedding_length"],
        heads=read["attention.head_count"],
        key_heads=read["attention.head_count_kv"],
        epsilon=read["attention.layer_norm_rms_epsilon"],
        rope_base=read.get("rope.freq_base", 10000.0),
    )
    weights = {
        tensor.name.removesuffix(".weight"): torch.from_numpy(
            np.array(gguf.dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
        ).to(dtype)
        for tensor in reader.tensors
    }
    return Llama(shape, weights, rank, alpha)


def _of_block(weights: dict[str, Tensor], number: int) -> dict[str, Tensor]:
    start = f"blk.{number}."
    return {name.removeprefix(start): weight for name, weight in weights.items() if name.startswith(start)}


def _split(x: Tensor, heads: int) -> Tensor:
    """[tokens, heads · size] to [heads, tokens, size]."""
    return x.view(len(x), heads, -1).transpose(0, 1)


def _rotate(x: Tensor, turn: Tensor) -> Tensor:
    """Turn neighbouring pairs of [heads, tokens, size] by `turn`, complex numbers of [tokens, size / 2]."""
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turn).reshape(x.shape).to(x.dtype)
