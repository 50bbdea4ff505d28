"""Similarity as the cosine of sentence embeddings, by sentence-transformers, on the CPU.

Nothing heavy is imported before the first pair of different texts: torch and transformers take seconds.
"""

import math
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rig.core.budget import parse_json
from rig.core.calls import Json
from rig.core.errors import RigError
from rig.core.files import read_text
from rig.plugins.similarity.encoder import encodable, load_encoder
from rig.plugins.text.judge import Band, beside, judge
from rig.scoring.similarity import TextJudgement
from rig.world.spec import Text

MAX_CHARACTERS = 16_384
"""More than an encoder reads. What the tokenizer would cut off anyway costs a second per megabyte."""
CACHED_TEXTS = 1024
HINT = "--similarity takes minilm, exact, or the directory of a sentence-transformers model"


class Embedding:
    """The cosine similarity of the embeddings that the model in `directory` makes.

    Raises RigError at once if the directory holds no such model, and at the first text if the model is
    broken. `threshold` is the cosine from which texts of every kind count as the same; without it, none is
    known.
    """

    is_plain = False
    """Whether it is a plain transformers model, whose embedding is the first token's vector."""

    def __init__(
        self, directory: Path, *, name: str, release: str | None = None, threshold: float | None = None
    ) -> None:
        self._check(directory)
        self.name = name
        self.cosine_threshold = threshold
        self._directory = directory
        self._release = release
        self._lock = threading.Lock()
        self._embedding = lru_cache(CACHED_TEXTS)(self._embed)

    def threshold(self, kind: Text) -> float | None:
        return self.cosine_threshold

    @cached_property
    def fingerprint(self) -> Mapping[str, Json]:
        """What can change a similarity: model and libraries. Raises RigError if a file cannot be read."""
        libraries = ("sentence-transformers", "transformers", "torch")
        return {
            "similarity": self.name,
            "similarity_model": self._release or hash_of(self._directory),
            **{f"{library}_version": version(library) for library in libraries},
        }

    def __call__(self, first: Json, second: Json) -> float:
        if not (isinstance(first, str) and isinstance(second, str)):
            return 0.0
        if first == second:
            return 1.0
        return cosine(self.vector(first), self.vector(second))

    def vector(self, text: str) -> Any:
        """Return the embedding of a text, a numpy vector."""
        return self._embedding(encodable(text[:MAX_CHARACTERS]))

    def judge(self, kind: Text, first: str, second: str, others: Iterable[str] = ()) -> TextJudgement:
        return judge(kind, first, second, self, self._band(kind), beside(others))

    def _band(self, kind: Text) -> Band:
        threshold = self.threshold(kind)
        if threshold is None:
            raise RigError(f"the threshold of similarity is not known for {self.name}")
        return Band(threshold, threshold)

    def _embed(self, text: str) -> Any:
        with self._lock:
            return self._encode(text)

    @cached_property
    def _encode(self) -> Callable[[str], Any]:
        return load_encoder(self._directory, is_plain=self.is_plain)

    def _check(self, directory: Path) -> None:
        modules = directory / "modules.json"
        try:
            kinds = [str(module["type"]) for module in parse_json(read_text(modules))]
        except RigError as error:
            raise RigError(f"{error}; {HINT}") from error
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise RigError(f"{modules}: not a list of modules ({error}); {HINT}") from error
        foreign = [kind for kind in kinds if not kind.startswith("sentence_transformers.")]
        if not kinds:
            raise RigError(f"{modules}: names no modules; {HINT}")
        if foreign:
            raise RigError(f"{modules}: {foreign[0]} is code of the model's own, which is never run; {HINT}")


class DistilBert(Embedding):
    """The recipe of ToolTalk's paper: distilbert-base-uncased as transformers saves it, used as sent2vec
    0.3.0 does (the last hidden state of the first token, not normalized). Raises RigError if the directory
    holds no such model.
    """

    is_plain = True

    def threshold(self, kind: Text) -> float:
        return kind.cosine if self.cosine_threshold is None else self.cosine_threshold

    def _check(self, directory: Path) -> None:
        if not (directory / "config.json").is_file():
            raise RigError(
                f"{directory}: no config.json; distilbert: takes the directory of "
                "distilbert-base-uncased as transformers saves it"
            )


def cosine(first: Any, second: Any) -> float:
    """Return the cosine of two numpy vectors, within [-1, 1]; 0 if one is all zeros or holds a NaN."""
    norm = math.sqrt(float(first @ first) * float(second @ second))
    value = float(first @ second) / norm if norm else 0.0
    return max(-1.0, min(1.0, value)) if math.isfinite(value) else 0.0


def hash_of(directory: Path) -> str:
    """Return a hash of all files in a folder. Raises RigError if one cannot be read."""
    whole = sha256()
    try:
        for path in sorted(path for path in directory.rglob("*") if path.is_file()):
            whole.update(os.fsencode(f"{path.relative_to(directory).as_posix()}\0{path.stat().st_size}\0"))
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    whole.update(block)
    except OSError as error:
        raise RigError(f"{directory}: cannot be read: {error.strerror}") from error
    return f"sha256:{whole.hexdigest()}"
