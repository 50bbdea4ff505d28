"""BFCL's memory classes, loaded from a checkout that the user names, with stand-ins for libraries."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from rig.plugins.bfcl.turn_entries import PACKAGE, class_of
from rig.plugins.own_tools.code import loaded, standing_in
from rig.plugins.similarity.minilm import encoder


class _Index:
    """What the classes use of faiss: an index of numbered vectors, searched by inner product."""

    def __init__(self, _inner: Any = None) -> None:
        self._vectors: dict[int, Any] = {}

    def add_with_ids(self, vectors: Any, numbers: Any) -> None:
        self._vectors |= {int(number): vector for number, vector in zip(numbers, vectors, strict=True)}

    def remove_ids(self, numbers: Any) -> None:
        for number in numbers:
            self._vectors.pop(int(number), None)

    def reset(self) -> None:
        self._vectors.clear()

    def search(self, queries: Any, count: int) -> tuple[Any, Any]:
        numbers = np.array(list(self._vectors), dtype=np.int64)
        scores = np.stack(list(self._vectors.values())) @ queries[0]
        order = np.argsort(-scores, kind="stable")[:count]
        return scores[order][None], numbers[order][None]


class _Sentences:
    """What the classes use of sentence-transformers, with the same encoder, which comes with rig.

    The encoder loads with its first text, by which time the library's name means the library again.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        self._encoder = encoder()

    def get_sentence_embedding_dimension(self) -> int:
        return 384

    def encode(self, texts: Sequence[str], **_: Any) -> Any:
        vectors = np.stack([self._encoder.vector(text) for text in texts])
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class _BM25Plus:
    """What the classes use of rank_bm25: BM25+ with k1 = 1.5, b = 0.75 and delta = 1 (Lv and Zhai, 2011)."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self._documents = [Counter(document) for document in documents]
        self._lengths = np.array([len(document) for document in documents])
        self._containing = Counter(word for document in self._documents for word in document)

    def get_scores(self, query: Sequence[str]) -> Any:
        scores = np.zeros(len(self._documents))
        norm = 1.5 * (0.25 + 0.75 * self._lengths / self._lengths.mean())
        for word in query:
            if word in self._containing:
                weight = np.log((len(self._documents) + 1) / self._containing[word])
                counts = np.array([document[word] for document in self._documents])
                scores += weight * (1 + counts * 2.5 / (norm + counts))
        return scores


def backend(name: str, code: Path) -> Any:
    """Make an empty memory of a backend. Raises RigError if the folder `code` does not have its class."""
    return class_of(_module(code, f"memory_{name}"), f"MemoryAPI_{name}")()


@cache
def _module(code: Path, name: str) -> ModuleType:
    base = "memory_api_metaclass"
    of_entries = "get_directory_structure_by_id", "is_first_memory_prereq_entry", "is_memory_prereq"
    stand_ins: dict[str, Any] = {
        "overrides": {"final": lambda function: function},
        "rank_bm25": {"BM25Plus": _BM25Plus},
        "faiss": {"IndexFlatIP": _Index, "IndexIDMap": _Index},
        "sentence_transformers": {"SentenceTransformer": _Sentences},
        "bfcl_eval.utils": dict.fromkeys(of_entries),
    }
    if name != base:
        stand_ins[f"{PACKAGE}.{base}"] = vars(_module(code, base))
    with standing_in(stand_ins):
        return loaded(code / f"{name}.py", code)
