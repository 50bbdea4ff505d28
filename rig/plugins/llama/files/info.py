"""What a GGUF file says about its model: architecture, quantization, context, tokenizer, template, origin.

Everything is read from the file's header; no weight is touched and llama.cpp is not loaded. The origin of a
file that rig made is written into the file itself by llama.cpp's quantizer, so it goes wherever the file
goes.
"""

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from gguf.constants import LlamaFileType

from rig.core.calls import ByName, JsonObject
from rig.core.errors import RigError
from rig.plugins.llama.files.header import Array, Header, PerLayer, read_header

PREFIX = "rig.made_from."
_NEEDED = ("name", "sha256", "root_sha256", "quantizations")
_OPTIONAL = ("adapter_sha256", "recipe", "imatrix", "calibration")
_CALIBRATED_ON = "calibrated_on."
_LEADS_TO = " > "
_YOUNGER = ("recipe", "imatrix", "calibration", "calibrated_on")
_LONGEST = 127
"""The most bytes of a text that llama.cpp can be told to write."""


@dataclass(frozen=True, slots=True)
class Origin(ByName):
    """The parent of a file: its name and SHA-256, and the SHA-256 of the first file in the chain.

    `quantizations` are the types that its weights went through before, the first ancestor's first.
    `requantized` means that they were quantized already, so that what was lost then is lost here too.
    `adapters` were merged into the weights, in this order; the SHA-256 is the last one's. `recipe` gives
    the tensors that have types of their own. `imatrix` is the SHA-256 of
    the importance matrix that weighted the quantization, `calibration` what that was made from, and
    `calibrated_on` are traces of those conversations.
    """

    name: str
    sha256: str
    root_sha256: str
    quantizations: tuple[str, ...]
    requantized: bool
    adapters: tuple[str, ...] = ()
    adapter_sha256: str = ""
    recipe: str = ""
    imatrix: str = ""
    calibration: str = ""
    calibrated_on: tuple[str, ...] = ()

    @classmethod
    def read(cls, header: Header) -> "Origin | None":
        """Return the origin that a file states; None if it states none, or only a part."""
        texts = {key: header.get(PREFIX + key, str) for key in (*_NEEDED, "adapters", *_OPTIONAL)}
        requantized = header.get(PREFIX + "requantized", bool)
        if requantized is None or None in map(texts.get, _NEEDED):
            return None
        values: dict[str, Any] = {key: text or "" for key, text in texts.items()}
        values["quantizations"] = tuple(values["quantizations"].split(_LEADS_TO))
        values["adapters"] = tuple(filter(None, values["adapters"].split(_LEADS_TO)))
        keys = sorted(key for key in header.metadata if key.startswith(PREFIX + _CALIBRATED_ON))
        traces = tuple(filter(None, (header.get(key, str) for key in keys)))
        return cls(**values, requantized=requantized, calibrated_on=traces)

    @property
    def note(self) -> str:
        """The origin in words: `requantized from smollm2-135m (Q4_1)`."""
        verb = "requantized" if self.requantized else "quantized"
        merged = f", with {', '.join(self.adapters)} merged" if self.adapters else ""
        recipe = f", with {self.recipe}" if self.recipe else ""
        calibrated = f", calibrated on {self.calibration}" if self.calibration else ""
        steps = _LEADS_TO.join(self.quantizations)
        return f"{verb} from {self.name} ({steps}){merged}{recipe}{calibrated}"

    def metadata(self) -> dict[str, str | bool]:
        """Return the keys and values to write; long texts lose their beginning."""
        texts = [self.name, self.sha256, self.root_sha256, _LEADS_TO.join(self.quantizations)]
        named = dict(zip(_NEEDED, texts, strict=True))
        if self.adapters:
            named["adapters"] = _LEADS_TO.join(self.adapters)
        # The quantizer copies the parent's own origin, so values that no longer hold must be overwritten.
        named |= {key: getattr(self, key) for key in _OPTIONAL}
        named |= {f"{_CALIBRATED_ON}{at:05}": trace for at, trace in enumerate(self.calibrated_on)}
        ends = {key: text.encode("utf-8", "replace")[-_LONGEST:] for key, text in named.items()}
        return {
            **{PREFIX + key: end.decode("utf-8", "ignore") for key, end in ends.items()},
            PREFIX + "requantized": self.requantized,
        }

    def as_json(self) -> JsonObject:
        """Return every field by name, and the note. Empty fields that the first runs lacked are left out."""
        values = ByName.as_json(self).items()
        return {**{key: value for key, value in values if value or key not in _YOUNGER}, "note": self.note}


_TEMPLATE = "tokenizer.chat_template"
_SAMPLING = "general.sampling."
_SPECIAL = re.compile(r"tokenizer\.ggml\.(\w+)_token_id")
_STATE_KEYS = ("ssm.state_size", "ssm.conv_kernel", "wkv.head_size", "shortconv.l_cache", "kda.head_dim")


@dataclass(frozen=True, slots=True)
class TensorTypes(ByName):
    """The tensors of one GGML type: their number, and the bytes they take."""

    tensors: int
    bytes: int


@dataclass(frozen=True, slots=True)
class GgufInfo(ByName):
    """A model as its GGUF file describes it. What the file does not say is None (or empty).

    `size` and `weight_bytes` are bytes, lengths are tokens, `key_length` and `value_length` are the
    dimensions of one head. `quantization` is what the file states, `tensor_types` what it contains.
    `sampling` is how the author recommends to choose tokens, by llama.cpp's names. `origin` is the file it
    was made from, if rig made it. `other` says what the file holds if it is no model that writes text, and
    is empty else. `memory` tells attention models from recurrent ones (Mamba, RWKV) and
    hybrids, which cannot drop a part of their state.
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
    vocabulary_size: int | None
    tokenizer: str | None
    pre_tokenizer: str | None
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    chat_template: str | None = None
    other_templates: Mapping[str, str] = field(default_factory=dict)
    sampling: Mapping[str, int | float | str] = field(default_factory=dict)
    origin: Origin | None = None
    other: str = ""

    @property
    def bits_per_weight(self) -> float | None:
        return 8 * self.weight_bytes / self.parameters if self.parameters else None

    def as_json(self) -> JsonObject:
        """Return every field by name, as JSON values."""
        return {**ByName.as_json(self), "path": str(self.path), "bits_per_weight": self.bits_per_weight}


def inspect(path: Path) -> GgufInfo:
    """Read what a GGUF file says about its model, in milliseconds for any size.

    Raises RigError, in one line, for anything that is not a complete, readable, one-file GGUF model.
    """
    header = read_header(path)
    if header.number("split.count", 1) != 1:
        raise RigError(
            f"{path}: one part of {header.number('split.count')} of a split model; "
            "join the parts first (llama.cpp: llama-gguf-split --merge)"
        )
    if header.is_adapter:
        raise RigError(
            f"{path}: an adapter, not a model; give it with --lora, and name the model it was made for"
        )
    if not header.architecture:
        raise RigError(f"{path}: a GGUF file that holds no model (it names no architecture)")
    heads, embedding = header.per_layer("attention.head_count"), header.own("embedding_length")
    widest = max(heads, default=0) if isinstance(heads, tuple) else heads
    head_length = embedding // widest if embedding and widest else None
    own_kv_heads = header.per_layer("attention.head_count_kv")
    kv_heads = heads if own_kv_heads is None else own_kv_heads
    types = _tensor_types(header)
    vocabulary = header.get("tokenizer.ggml.tokens", Array)
    specials = ((_SPECIAL.fullmatch(key), value) for key, value in header.metadata.items())
    return GgufInfo(
        path=path,
        size=header.size,
        architecture=header.architecture,
        name=header.get("general.name", str),
        licence=header.get("general.license", str),
        parameters=sum(tensor.elements for tensor in header.tensors),
        quantization=_quantization(header, types),
        tensor_types=types,
        weight_bytes=sum(tensor.bytes for tensor in header.tensors),
        context_length=header.own("context_length"),
        layers=header.own("block_count"),
        embedding_length=embedding,
        heads=heads,
        kv_heads=kv_heads,
        key_length=header.own("attention.key_length", head_length),
        value_length=header.own("attention.value_length", head_length),
        experts=header.own("expert_count"),
        sliding_window=header.own("attention.sliding_window"),
        memory=_memory(header, kv_heads),
        vocabulary_size=(vocabulary.length if vocabulary else 0) or header.own("vocab_size"),
        tokenizer=header.get("tokenizer.ggml.model", str),
        pre_tokenizer=header.get("tokenizer.ggml.pre", str),
        special_tokens={m[1]: value for m, value in specials if m and isinstance(value, int)},
        chat_template=header.get(_TEMPLATE, str),
        other_templates={
            key.removeprefix(f"{_TEMPLATE}."): value
            for key, value in header.metadata.items()
            if key.startswith(f"{_TEMPLATE}.") and isinstance(value, str)
        },
        sampling={
            # In single precision 0.6 is another number; its shortest form is what the author wrote.
            key.removeprefix(_SAMPLING): float(f"{value:.7g}") if isinstance(value, float) else value
            for key, value in header.metadata.items()
            if key.startswith(_SAMPLING) and isinstance(value, int | float | str)
        },
        origin=Origin.read(header),
        other=_other(header),
    )


_RANKING = 4
"""llama.cpp's number for pooling that ranks (llama.h: LLAMA_POOLING_TYPE_RANK)."""
_ENCODERS = re.compile(r"(?:.*-)?bert.*|gemma-embedding|t5encoder|llama-embed")
_PARTS = {"clip": "the vision part of a model (mmproj)", "wavtokenizer-dec": "a decoder of speech"}
_TYPES = {
    "mmproj": _PARTS["clip"],
    "imatrix": "an importance matrix",
    "vocab": "a vocabulary",
}


def _other(header: Header) -> str:
    """Say what a file holds that writes no text, by its architecture and by how llama.cpp would run it."""
    architecture = header.architecture
    part = _TYPES.get(header.get("general.type", str) or "") or _PARTS.get(architecture)
    if part:
        return part
    pooling = header.own("pooling_type") or 0
    if pooling == _RANKING:
        return "a model that ranks texts"
    if pooling or _ENCODERS.fullmatch(architecture):
        return "an embedding model"
    if header.get(f"{architecture}.attention.causal", bool) is False:
        return "a model that reads in both directions, for embeddings or diffusion"
    return ""


def _tensor_types(header: Header) -> dict[str, TensorTypes]:
    names = Counter(tensor.type.name for tensor in header.tensors)
    sizes: Counter[str] = Counter()
    for tensor in header.tensors:
        sizes[tensor.type.name] += tensor.bytes
    return {name: TensorTypes(names[name], size) for name, size in sizes.most_common()}


def _quantization(header: Header, types: Mapping[str, TensorTypes]) -> str:
    declared = header.number("general.file_type")
    if declared is not None:
        with suppress(ValueError):
            name: str = LlamaFileType(declared & ~LlamaFileType.GUESSED).name
            return name.removeprefix("MOSTLY_").removeprefix("ALL_")
    return next(iter(types), "none")


def _memory(header: Header, kv_heads: PerLayer | None) -> Literal["attention", "recurrent", "hybrid"]:
    if not any(f"{header.architecture}.{key}" in header.metadata for key in _STATE_KEYS):
        return "attention"
    keeps_keys = any(kv_heads) if isinstance(kv_heads, tuple) else kv_heads
    return "hybrid" if keeps_keys else "recurrent"
