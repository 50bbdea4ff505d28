"""Free text: words, clauses, the facts they state, and whether two texts mean the same."""

from rig.core.registry import Registry


def register(registry: Registry) -> None:
    """Offer the measures that `--similarity` takes: by name, by a prefix, or for the folder of a model."""
    registry.measures.later("minilm", "rig.plugins.text.measures.minilm:MiniLM")
    registry.measures.later("distilbert:", "rig.plugins.text.measures.embedding:DistilBert")
    registry.measures.later("", "rig.plugins.text.measures.embedding:Embedding")
