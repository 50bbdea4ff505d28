"""Everything that knows llama.cpp: GGUF files, prompts, grammars, the KV cache and decoding.

Importing this package does not load llama.cpp; `load` does.
"""

import os
from pathlib import Path

from rig.engine.settings import EngineSettings
from rig.models import Model

# OpenMP reads this when llama.cpp is loaded. Its threads wait for each other hundreds of times a token; by
# default they spin, which on a busy machine makes decoding several times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

__all__ = ["EngineSettings", "load"]


def load(path: Path, settings: EngineSettings, name: str) -> Model:
    """Load a GGUF file as a model. Raises RigError with what to do when it cannot be run as asked."""
    from rig.engine.loading import load as load_with_llama_cpp

    return load_with_llama_cpp(path, settings, name)
