"""What a GGUF file says about its model: architecture, quantization, context, tokenizer, template, memory.

Everything is read from the file's header; no weight is touched and llama.cpp is not loaded.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal

from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType, LlamaFileType

from rig.calls import JsonObject
from rig.engine.gguf.adapter import is_adapter
from rig.engine.gguf.facts import TEMPLATE, Facts, PerLayer
from rig.engine.gguf.header import Header, read_header
from rig.engine.gguf.origin import Origin
from rig.errors import RigError

KV_TYPES = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0")
"""The types llama.cpp can keep a KV cache in."""

CELLS = 256
"""llama.cpp rounds the cells of a KV cache up to a multiple of this."""
_OTHER_CACHES = ("attention.kv_lora_rank", "attention.key_length_swa", "nextn_predict_layers")
"""Keys of models whose layers do not all keep keys and values of one size; only llama.cpp can count them."""
_STATE_KEYS = ("ssm.state_size", "ssm.conv_kernel", "wkv.head_size", "shortconv.l_cache", "kda.head_dim")


@dataclass(frozen=True, slots=True)
class TensorTypes:
    """The tensors of one GGML type: how many there are and the bytes they take."""

    tensors: int
    bytes: int


@dataclass(frozen=True, slots=True)
class GgufInfo:
    """A model as its GGUF file describes it. What the file does not say is None (or empty).

    `size` and `weight_bytes` are bytes, lengths are tokens, `key_length` and `value_length` are the
    dimensions of one head. `quantization` is what the file calls itself; `tensor_types` is what is in it.
    `origin` is the file it was made from, where rig made it.
    `memory` tells attention models from recurrent ones (Mamba, RWKV) and hybrids, which cannot drop a part
    of their state.
    """

    path: Path
    size: int
    architecture: str
    name: str | None
    licence: str | None
    parameters: int
    quantization: str
    tensor_types: Mapping[str, TensorTypes]
    weight_bytes: int
    context_length: int | None
    layers: int | None
    embedding_length: int | None
    heads: PerLayer | None
    kv_heads: PerLayer | None
    key_length: int | None
    value_length: int | None
    experts: int | None
    sliding_window: int | None
    memory: Literal["attention", "recurrent", "hybrid"]
    attention_layers: int | None
    vocabulary_size: int | None
    tokenizer: str | None
    pre_tokenizer: str | None
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    chat_template: str | None = None
    other_templates: Mapping[str, str] = field(default_factory=dict)
    origin: Origin | None = None

    @property
    def bits_per_weight(self) -> float | None:
        return 8 * self.weight_bytes / self.parameters if self.parameters else None

    @property
    def kv_values_per_token(self) -> int | None:
        """Numbers that all layers together keep for one token; None if the file does not say enough."""
        if self.attention_layers == 0:
            return 0
        if self.attention_layers is None or self.kv_heads is None:
            return None
        if self.key_length is None or self.value_length is None:
            return None
        if isinstance(self.kv_heads, int):
            heads = self.kv_heads * self.attention_layers
        else:
            heads = sum(self.kv_heads)
        return heads * (self.key_length + self.value_length)

    def kv_bytes(self, n_ctx: int, n_seq: int = 1, kv_type: str = "f16") -> int | None:
        """Bytes of a KV cache in which each of `n_seq` sequences can hold `n_ctx` tokens.

        None if the file does not say enough. Layers with a sliding window count in full, as llama.cpp
        allocates them with `swa_full`; the fixed-size state of recurrent layers is not counted.
        Raises ValueError for a type not in KV_TYPES.
        """
        if kv_type not in KV_TYPES:
            raise ValueError(f"KV cache type {kv_type!r} is none of {', '.join(KV_TYPES)}")
        values = self.kv_values_per_token
        if values is None:
            return None
        block, block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType[kv_type.upper()]]
        cells = -(-n_ctx * n_seq // CELLS) * CELLS
        return int(cells * values * block_bytes // block)

    def as_json(self) -> JsonObject:
        """Every field by name, as JSON values."""
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        types = {name: {"tensors": t.tensors, "bytes": t.bytes} for name, t in self.tensor_types.items()}
        return data | {
            "path": str(self.path),
            "tensor_types": types,
            "origin": self.origin and self.origin.as_json(),
            "bits_per_weight": self.bits_per_weight,
            "special_tokens": dict(self.special_tokens),
            "other_templates": dict(self.other_templates),
        }


def inspect(path: Path) -> GgufInfo:
    """Read what a GGUF file says about its model, in milliseconds for any size.

    Raises RigError, in one line, for anything that is not a complete, readable, one-file GGUF model.
    """
    header = read_header(path)
    facts = Facts(header.metadata)
    if facts.number("split.count", 1) != 1:
        raise RigError(
            f"{path}: one part of {facts.number('split.count')} of a split model; "
            "join the parts first (llama.cpp: llama-gguf-split --merge)"
        )
    if is_adapter(facts):
        raise RigError(
            f"{path}: an adapter, not a model; give it with --lora, and name the model it was made for"
        )
    if not facts.architecture:
        raise RigError(f"{path}: a GGUF file that holds no model (it names no architecture)")
    heads, embedding = facts.per_layer("attention.head_count"), facts.own("embedding_length")
    widest = max(heads, default=0) if isinstance(heads, tuple) else heads
    head_length = embedding // widest if embedding and widest else None
    types = _tensor_types(header)
    memory, attention_layers = _memory(facts)
    return GgufInfo(
        path=path,
        size=header.size,
        architecture=facts.architecture,
        name=facts.text("general.name"),
        licence=facts.text("general.license"),
        parameters=sum(tensor.elements for tensor in header.tensors),
        quantization=_quantization(facts, types),
        tensor_types=types,
        weight_bytes=sum(tensor.bytes for tensor in header.tensors),
        context_length=facts.own("context_length"),
        layers=facts.own("block_count"),
        embedding_length=embedding,
        heads=heads,
        kv_heads=_kv_heads(facts, heads),
        key_length=facts.own("attention.key_length", head_length),
        value_length=facts.own("attention.value_length", head_length),
        experts=facts.own("expert_count"),
        sliding_window=facts.own("attention.sliding_window"),
        memory=memory,
        attention_layers=attention_layers,
        vocabulary_size=facts.length("tokenizer.ggml.tokens") or facts.own("vocab_size"),
        tokenizer=facts.text("tokenizer.ggml.model"),
        pre_tokenizer=facts.text("tokenizer.ggml.pre"),
        special_tokens=facts.special_tokens(),
        chat_template=facts.text(TEMPLATE),
        other_templates=facts.other_templates(),
        origin=Origin.read(facts),
    )


def _tensor_types(header: Header) -> dict[str, TensorTypes]:
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for tensor in header.tensors:
        counts[tensor.type.name] += 1
        sizes[tensor.type.name] += tensor.bytes
    return {name: TensorTypes(counts[name], size) for name, size in sizes.most_common()}


def _quantization(facts: Facts, types: Mapping[str, TensorTypes]) -> str:
    declared = facts.number("general.file_type")
    if declared is not None:
        try:
            name: str = LlamaFileType(declared & ~LlamaFileType.GUESSED).name
            return name.removeprefix("MOSTLY_").removeprefix("ALL_")
        except ValueError:
            pass
    return next(iter(types), "none")


def _kv_heads(facts: Facts, heads: PerLayer | None) -> PerLayer | None:
    own = facts.per_layer("attention.head_count_kv")
    return heads if own is None else own


def _memory(facts: Facts) -> tuple[Literal["attention", "recurrent", "hybrid"], int | None]:
    """The kind of memory, and how many layers keep keys and values."""
    layers = facts.own("block_count")
    heads = _kv_heads(facts, facts.per_layer("attention.head_count"))
    if any(facts.own(key) for key in _OTHER_CACHES):
        return "attention", None
    if not any(facts.has(key) for key in _STATE_KEYS):
        return "attention", sum(map(bool, heads)) if isinstance(heads, tuple) else layers
    if not (any(heads) if isinstance(heads, tuple) else heads):
        return "recurrent", 0
    if isinstance(heads, tuple):
        return "hybrid", sum(map(bool, heads))
    interval = facts.own("full_attention_interval")
    return "hybrid", layers // interval if layers and interval else layers
