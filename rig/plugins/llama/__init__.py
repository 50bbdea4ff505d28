"""Everything that knows llama.cpp: GGUF files, prompts, grammars, the KV cache and decoding.

Importing this package does not load llama.cpp; `load` does.
"""

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rig.core.errors import RigError
from rig.core.models import Model, Notify
from rig.core.registry import Registry
from rig.plugins.llama.core.options import EngineOptions

REQUIRES = ("documents",)

# GCC's OpenMP reads this when llama.cpp is loaded. Its threads wait for each other hundreds of times a token.
# Left alone they spin for 300,000 rounds, and on a busy machine decode ten times slower; put to sleep at once
# they take twice as long on a quiet one. 2,000 rounds, measured on 2 cores, lose little either way.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")

if TYPE_CHECKING:
    from rig.plugins.llama.core.settings import EngineSettings as EngineSettings
    from rig.plugins.llama.files.adapters import Adapter


def __getattr__(name: str) -> Any:
    # pydantic takes a moment to load, and every verb registers this package.
    if name != "EngineSettings":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rig.plugins.llama.core.settings import EngineSettings

    return EngineSettings


_FAMILIES = (
    *("gpt-oss", "hermes", "smollm2", "llama3", "granite3", "phi4", "functools", "lfm2", "llama4"),
    *("deepseek-r1", "mistral", "kimi-k3", "minimax-m3", "gemma"),
)
"""Presets, in the order in which a template is compared with them."""


def register(registry: Registry) -> None:
    """Offer rig's own answer formats, presets of families, and models as readers (`rig.core.registry`)."""
    registry.add_options("llama", EngineOptions)
    registry.verbs.later(
        "models",
        "rig.plugins.llama.verbs.models:command",
        does="List, inspect, fetch, verify, quantize, merge and tune models.",
        group="Models, tools and conversations",
    )
    registry.schemes.later("file", "rig.plugins.llama.scheme:FILES", marker="", is_place=False)
    registry.readers.later("gguf", "rig.plugins.llama.teacher:GgufReader")
    registry.formats.later("rig", "rig.plugins.llama.formats.base:RigFormat")
    registry.formats.later("object", "rig.plugins.llama.formats.base:ObjectFormat")
    for name in _FAMILIES:
        constant = name.upper().replace("-", "_")
        registry.presets.later(name, f"rig.plugins.llama.formats.shape:{constant}")


def check(settings: "EngineSettings") -> None:
    """Raise RigError for settings that contradict each other, or an answer format that does not exist."""
    if settings.exact and settings.parallel not in (None, 1):
        raise RigError("--exact decodes one sequence at a time; leave out --parallel")
    if settings.n_ctx and settings.n_ctx <= settings.max_tokens:
        raise RigError(
            f"--n-ctx {settings.n_ctx} leaves no room for a prompt beside --max-tokens {settings.max_tokens};"
            " raise one or lower the other"
        )
    settings.check()
    if settings.sampling is not None:
        from rig.plugins.llama.files.sampling import check_sampling

        check_sampling(settings.sampling)
    if settings.format not in ("auto", "rig", "native"):
        from rig.plugins.llama.formats.form import check_name

        check_name(settings.format)
    template = settings.chat_template
    if template is not None and not template.is_file():
        fault = "not a file" if template.exists() else "no such file"
        raise RigError(f"--chat-template {template}: {fault}; give a Jinja2 template")


def load(path: Path, settings: "EngineSettings", name: str, notify: Notify) -> Model:
    """Load a GGUF file as a model. Raises RigError with what to do when it cannot be run as asked."""
    from rig.plugins.llama.loading import load as load_with_llama_cpp

    return load_with_llama_cpp(path, settings, name, notify)


def keeping(path: Path | None) -> AbstractContextManager[None]:
    """A context that keeps a file's weights loaded, if they are, for an arm that uses the same file."""
    if path is None:
        return nullcontext()
    from rig.plugins.llama.memory.weights import keeping_weights

    return keeping_weights(path)


def has_room(path: Path | None) -> bool:
    """Return whether a file can be loaded beside what is loaded already, exactly as if it were alone.

    Always true for no path, and for a path that is not a file.
    """
    from rig.plugins.llama.memory.plan import has_room as has_memory

    return path is None or not path.is_file() or has_memory(path)


def reading_ahead(path: Path | None) -> AbstractContextManager[None]:
    """A context that reads the next file to be loaded ahead of time, if there is memory for it."""
    if path is None:
        return nullcontext()
    from rig.plugins.llama.memory.weights import reading_ahead

    return reading_ahead(path)


def apply_adapter(adapter: "Adapter | None", model: Model) -> None:
    """Make a model that `load` returned predict with an adapter from now on, or without. Raises RigError."""
    from rig.plugins.llama.engine import LlamaCppModel

    assert isinstance(model, LlamaCppModel)
    model.apply_adapter(adapter)
