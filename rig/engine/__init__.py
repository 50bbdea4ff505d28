"""Everything that knows llama.cpp: GGUF files, prompts, grammars, the KV cache and decoding.

Importing this package does not load llama.cpp; `load` does.
"""

from pathlib import Path

from rig.engine.settings import EngineSettings
from rig.models import Model

__all__ = ["EngineSettings", "load"]


def load(path: Path, settings: EngineSettings, name: str) -> Model:
    """Load a GGUF file as a model. Raises RigError with what to do when it cannot be run as asked."""
    from rig.engine.loading import load as load_with_llama_cpp

    return load_with_llama_cpp(path, settings, name)
