"""How alike two free texts are, by a measure that the user names."""

from pathlib import Path

from rig.scoring.similarity.embedding import Embedding, packaged_minilm
from rig.scoring.similarity.exact import Exact
from rig.scoring.similarity.protocol import DEFAULT_THRESHOLDS, Similarity

__all__ = ["DEFAULT_THRESHOLDS", "Embedding", "Exact", "Similarity", "load"]


def load(name: str) -> Similarity:
    """`minilm`, `exact`, or the directory of a sentence-transformers model.

    No weights are read before the first texts that need them. Raises RigError when there is no such model.
    """
    if name == "exact":
        return Exact()
    if name == "minilm":
        return packaged_minilm()
    directory = Path(name).resolve()
    return Embedding(directory, name=directory.name)
