"""The files that could be made of a model, and how large each is: llama.cpp's own arithmetic tells."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

from rig.engine.files.header import Header, Tensor, read_header
from rig.tuning.quantize import CALIBRATED, TYPES, QuantizeRecipe, TensorType, tensor_types

Mixture: TypeAlias = tuple[TensorType, ...]

_UNUSUAL = ("f32", "f16", "bf16", "tq2_0", "tq1_0")
KINDS = (*(kind for kind in TYPES if kind not in _UNUSUAL), *CALIBRATED)
"""The types that are tried where nobody says which: not the whole ones, nor those of ternary models."""
MIXTURES: tuple[Mixture, ...] = ((), (TensorType("attn_", "q6_k"),), (TensorType("ffn_down", "q5_k"),))
"""A type's own mixture, and with more bits for what quantizing hurts most."""
MATRIX = Path("matrix")
"""In a candidate's recipe, the importance matrix that there is none of yet."""

_INDIFFERENT = ("q8_0", "tq2_0", "tq1_0")
"""Types that llama.cpp rounds alike with a matrix and without."""
_ALIGNMENT = 32
_ADDED = 8_192
"""More bytes than a file says of its making, besides the traces of what calibrated it."""
_TRACE = 192


class Candidate(NamedTuple):
    """A recipe, and the bytes that its file has at most."""

    recipe: QuantizeRecipe
    size: int


def candidates(
    path: Path, kinds: Iterable[str], mixtures: Iterable[Mixture], conversations: int
) -> list[Candidate]:
    """What can be made of a file, each type with and without a matrix of so many conversations, largest
    first. Of recipes that make the same there is one.

    Mixtures are left out that no tensor is meant by. Raises RigError, and writes nothing.
    """
    header = read_header(path)
    recipes = list(_recipes(header.tensors, kinds, mixtures))
    distinct: dict[tuple[Path | str | None, ...], Candidate] = {}
    for recipe, types in zip(recipes, tensor_types(path, recipes), strict=True):
        if types:
            size = _size(header, types) + _ADDED + _TRACE * conversations
            distinct.setdefault((recipe.matrix, *types.values()), Candidate(recipe, size))
    return sorted(distinct.values(), key=lambda candidate: -candidate.size)


def _recipes(
    tensors: Sequence[Tensor], kinds: Iterable[str], mixtures: Iterable[Mixture]
) -> Iterator[QuantizeRecipe]:
    names = [tensor.name for tensor in tensors if len(tensor.shape) > 1]
    fitting = [
        mixture
        for mixture in mixtures
        if all(any(re.search(one.pattern, name) for name in names) for one in mixture)
    ]
    for kind in kinds:
        for matrix in (None, MATRIX):
            if kind not in (_INDIFFERENT if matrix else CALIBRATED):
                yield from (QuantizeRecipe(kind, matrix, mixture) for mixture in fitting)


def _size(header: Header, types: dict[str, str]) -> int:
    """The bytes of a file with these types by tensor, but for what is added to what it says of itself."""
    size = header.size
    for tensor in header.tensors:
        block, block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType[types[tensor.name].upper()]]
        size += -(-tensor.elements // block * block_bytes // _ALIGNMENT) * _ALIGNMENT - tensor.bytes
    return size
