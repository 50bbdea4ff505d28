"""Adapters (LoRA): how users name them, what their files say, and whether one fits a given model.

Only headers are read: llama.cpp would say less, and only when it loads the adapter.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rig.core.calls import ByName, JsonObject
from rig.core.errors import RigError
from rig.core.paths import expanded
from rig.plugins.llama.files.caches import sha256_of
from rig.plugins.llama.files.header import Tensor, read_header

_ENDINGS = (".lora_a", ".lora_b")
EMBEDDING = "token_embd.weight"
"""Its rows are looked up, not multiplied, so its two matrices are the other way round."""


@dataclass(frozen=True, slots=True)
class AdapterInfo(ByName):
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
        """Return every field by name, as JSON values; `changes` becomes the number of changes."""
        return {**ByName.as_json(self), "path": str(self.path), "changes": len(self.changes)}


def inspect_adapter(path: Path) -> AdapterInfo:
    """Read what a GGUF file says about its adapter. Raises RigError if it is not a complete LoRA adapter."""
    header = read_header(path)
    if not header.is_adapter:
        raise RigError(f"{path}: a GGUF file that holds no adapter (general.type is not adapter)")
    kind = header.get("adapter.type", str)
    if kind != "lora":
        raise RigError(f"{path}: an adapter of type {kind!r}; only lora can be used")
    alpha = header.get("adapter.lora.alpha", float)
    if alpha is None:
        raise RigError(f"{path}: damaged: an adapter without adapter.lora.alpha")
    if not math.isfinite(alpha):
        raise RigError(f"{path}: damaged: its adapter.lora.alpha is {alpha}")
    changes = {name: _change(path, name, *pair) for name, pair in _pairs(path, header.tensors).items()}
    ranks = [rank for _, rank in changes.values()]
    return AdapterInfo(
        path=path,
        size=header.size,
        architecture=header.architecture,
        name=header.get("general.name", str),
        base=header.get("general.base_model.0.name", str),
        alpha=alpha,
        ranks=(min(ranks), max(ranks)),
        types=tuple(sorted({tensor.type.name for tensor in header.tensors})),
        changes={name: shape for name, (shape, _) in changes.items()},
    )


def _pairs(path: Path, tensors: tuple[Tensor, ...]) -> dict[str, tuple[Tensor, Tensor]]:
    by_name = {tensor.name: tensor for tensor in tensors}
    names = sorted({name.rpartition(".")[0] for name in by_name})
    expected = {name + ending for name in names for ending in _ENDINGS}
    if expected != by_name.keys() or not names:
        wrong = next(iter(expected ^ by_name.keys()), "nothing")[:60]
        raise RigError(f"{path}: damaged: its weights are not pairs of lora_a and lora_b ({wrong!r})")
    return {name: (by_name[f"{name}.lora_a"], by_name[f"{name}.lora_b"]) for name in names}


def _change(path: Path, name: str, a: Tensor, b: Tensor) -> tuple[tuple[int, ...], int]:
    """Return the shape of the changed weight and the rank of the change, which both matrices must have.

    Raises RigError if they are not such a pair of matrices.
    """
    if len(a.shape) < 2 or len(b.shape) < 2:
        raise RigError(f"{path}: damaged: the change to {name[:60]!r} is not a pair of matrices")
    is_embedding = name == EMBEDDING
    inputs, rank = a.shape[1::-1] if is_embedding else a.shape[:2]
    if rank != b.shape[0] or rank < 1:
        raise RigError(f"{path}: damaged: the change to {name[:60]!r} has ranks {rank} and {b.shape[0]}")
    return (b.shape[1], inputs) if is_embedding else (inputs, b.shape[1]), rank


NONE = "none"
"""The word that asks for the model without an adapter, beside others with one."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """A LoRA adapter and its scale: 1 is as trained, 0 is like no adapter."""

    path: Path
    scale: float = 1.0

    @classmethod
    def parse(cls, text: str) -> "Adapter | None":
        """Return what `FILE`, `FILE:SCALE` or `none` means. Raises RigError if there is no such file."""
        if text == NONE:
            return None
        adapter = cls(expanded(text))
        file, separator, scale = text.rpartition(":")
        if separator and not adapter.path.exists():
            with suppress(ValueError):
                adapter = cls(expanded(file), float(scale))
        return adapter.checked(text)

    def checked(self, text: str) -> "Adapter":
        """Return the adapter itself. Raises RigError unless its file exists and its scale is finite."""
        if not self.path.is_file():
            fault = "not a file" if self.path.exists() else "no such file"
            raise RigError(f"--lora {text}: {fault}; give an adapter as FILE or FILE:SCALE, or {NONE}")
        if not math.isfinite(self.scale):
            raise RigError(f"--lora {text}: {self.scale} is not a scale; 1 means as the adapter was trained")
        return self

    @property
    def name(self) -> str:
        """The adapter's part of an arm's name: the file's stem, and the scale if it is not 1."""
        stem = self.path.stem.encode("utf-8", "backslashreplace").decode()
        return stem if self.scale == 1 else f"{stem}:{self.scale:g}"

    @property
    def text(self) -> str:
        """The text that `parse` reads back from any working directory."""
        path = str(self.path.absolute())
        return path if self.scale == 1 else f"{path}:{self.scale!r}"

    def check(self, model: Path) -> None:
        """Raise RigError unless the file is a complete adapter, made for weights of this model's shapes."""
        adapter = inspect_adapter(self.path)
        header = read_header(model)
        if header.architecture != adapter.architecture:
            raise RigError(
                f"{adapter.path}: an adapter for {adapter.architecture[:40]!r} models;"
                f" {model} is {header.architecture}"
            )
        weights = {tensor.name: tensor.shape for tensor in header.tensors}
        for name, shape in adapter.changes.items():
            if name not in weights:
                raise RigError(f"{adapter.path}: not made for {model}, which has no weight {name[:60]!r}")
            if weights[name][:2] != shape:
                ours, theirs = (" x ".join(map(str, sizes)) for sizes in (shape, weights[name]))
                raise RigError(
                    f"{adapter.path}: not made for {model}: {name[:60]} is {ours} in the one and"
                    f" {theirs} in the other"
                )

    def as_json(self) -> JsonObject:
        """Return the part of a fingerprint that the adapter adds: its file's name, SHA-256 and scale."""
        return {
            "adapter": self.path.name.encode("utf-8", "backslashreplace").decode(),
            "adapter_sha256": sha256_of(self.path),
            "adapter_scale": self.scale,
        }


def named(model: str, adapter: Adapter | None) -> str:
    """Return the name of a model with an adapter."""
    return model if adapter is None else f"{model}+{adapter.name}"


def adapters_of(texts: Sequence[str]) -> tuple[Adapter | None, ...]:
    """Return the adapters of `--lora`, each once; None stands for no adapter. Raises RigError."""
    return tuple(dict.fromkeys(map(Adapter.parse, texts)))
