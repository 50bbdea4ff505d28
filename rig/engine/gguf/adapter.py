"""What a GGUF file says about an adapter (LoRA), and whether it was made for a given model.

Like `rig.engine.gguf.info`, this only reads headers: llama.cpp would say less, and only when it loads them.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from rig.calls import JsonObject
from rig.engine.gguf.facts import Facts
from rig.engine.gguf.header import Tensor, read_header
from rig.errors import RigError

_ENDINGS = (".lora_a", ".lora_b")
_EMBEDDING = "token_embd.weight"
"""Looked up by rows, not multiplied with: its two matrices stand the other way round."""


@dataclass(frozen=True, slots=True)
class AdapterInfo:
    """An adapter as its file describes it: low-rank changes to the weights named in `changes`.

    `changes` has the shape of each weight (fastest dimension first), `ranks` the lowest and the highest rank.
    """

    path: Path
    size: int
    architecture: str
    name: str | None
    base: str | None
    alpha: float
    ranks: tuple[int, int]
    types: tuple[str, ...]
    changes: Mapping[str, tuple[int, ...]]

    def as_json(self) -> JsonObject:
        """Every field by name, as JSON values; of the changes their number."""
        lists = {"ranks": list(self.ranks), "types": list(self.types)}
        return {**asdict(self), "path": str(self.path), "changes": len(self.changes), **lists}


def is_adapter(facts: Facts) -> bool:
    """Whether a file says of itself that it holds an adapter and no model."""
    return facts.text("general.type") == "adapter"


def inspect_adapter(path: Path) -> AdapterInfo:
    """Read what a GGUF file says about its adapter. Raises RigError if it is not a complete LoRA adapter."""
    header = read_header(path)
    facts = Facts(header.metadata)
    if not is_adapter(facts):
        raise RigError(f"{path}: a GGUF file that holds no adapter (general.type is not adapter)")
    kind = facts.text("adapter.type")
    if kind != "lora":
        raise RigError(f"{path}: an adapter of type {kind!r}; only lora can be used")
    alpha = header.metadata.get("adapter.lora.alpha")
    if not isinstance(alpha, float):
        raise RigError(f"{path}: damaged: an adapter without adapter.lora.alpha")
    pairs = _pairs(path, header.tensors)
    ranks = [_rank(path, name, *pair) for name, pair in pairs.items()]
    return AdapterInfo(
        path=path,
        size=header.size,
        architecture=facts.architecture,
        name=facts.text("general.name"),
        base=facts.text("general.base_model.0.name"),
        alpha=alpha,
        ranks=(min(ranks), max(ranks)),
        types=tuple(sorted({tensor.type.name for tensor in header.tensors})),
        changes={name: _shape(name, *pair) for name, pair in pairs.items()},
    )


def check_fits(adapter: AdapterInfo, model: Path) -> None:
    """Raise RigError unless a model's weights have the shapes that an adapter was made for."""
    header = read_header(model)
    architecture = Facts(header.metadata).architecture
    if architecture != adapter.architecture:
        raise RigError(
            f"{adapter.path}: an adapter for {adapter.architecture[:40]!r} models; {model} is {architecture}"
        )
    weights = {tensor.name: tensor.shape for tensor in header.tensors}
    for name, shape in adapter.changes.items():
        if name not in weights:
            raise RigError(f"{adapter.path}: not made for {model}, which has no weight {name[:60]!r}")
        if weights[name][:2] != shape:
            raise RigError(
                f"{adapter.path}: not made for {model}: {name[:60]} is {_times(shape)} in the one and"
                f" {_times(weights[name])} in the other"
            )


def _pairs(path: Path, tensors: tuple[Tensor, ...]) -> dict[str, tuple[Tensor, Tensor]]:
    by_name = {tensor.name: tensor for tensor in tensors}
    names = sorted({name.rpartition(".")[0] for name in by_name})
    expected = {name + ending for name in names for ending in _ENDINGS}
    if expected != by_name.keys() or not names:
        wrong = next(iter(expected ^ by_name.keys()), "nothing")[:60]
        raise RigError(f"{path}: damaged: its weights are not pairs of lora_a and lora_b ({wrong!r})")
    return {name: (by_name[f"{name}.lora_a"], by_name[f"{name}.lora_b"]) for name in names}


def _rank(path: Path, name: str, a: Tensor, b: Tensor) -> int:
    """The rank of one change, which both matrices must have."""
    if len(a.shape) < 2 or len(b.shape) < 2:
        raise RigError(f"{path}: damaged: the change to {name[:60]!r} is not a pair of matrices")
    ranks = (a.shape[0], b.shape[0]) if name == _EMBEDDING else (a.shape[1], b.shape[0])
    if ranks[0] != ranks[1] or ranks[0] < 1:
        raise RigError(f"{path}: damaged: the change to {name[:60]!r} has ranks {ranks[0]} and {ranks[1]}")
    return ranks[0]


def _shape(name: str, a: Tensor, b: Tensor) -> tuple[int, ...]:
    return (b.shape[1], a.shape[1]) if name == _EMBEDDING else (a.shape[0], b.shape[1])


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
