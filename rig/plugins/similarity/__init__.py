"""Measures of how alike two texts are, by sentence-transformers, and models that read a pair of texts."""

from rig.core.registry import Registry

REQUIRES = ("text",)


def register(registry: Registry) -> None:
    """Offer the measures that `--similarity` takes: by name, by a prefix, or for the folder of a model."""
    registry.measures.later("minilm", "rig.plugins.similarity.minilm:MiniLM")
    registry.measures.later("distilbert:", "rig.plugins.similarity.embedding:DistilBert")
    registry.measures.later("", "rig.plugins.similarity.embedding:Embedding")
