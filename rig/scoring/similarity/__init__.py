"""Measure how alike two free texts are, by a measure that the user names."""

from dataclasses import dataclass
from pathlib import Path

from rig.core.errors import RigError
from rig.core.paths import real
from rig.scoring.similarity.embedding import DistilBert, Embedding
from rig.scoring.similarity.minilm import MiniLM
from rig.scoring.similarity.protocol import Adjudicated, Exact, Similarity

__all__ = [
    "Adjudicated",
    "DistilBert",
    "Embedding",
    "Exact",
    "MiniLM",
    "NamedMeasure",
    "Similarity",
    "load",
]

PACKAGED = ("minilm", "exact")
PRESET = "distilbert:"
"""The prefix of a directory of distilbert-base-uncased: ToolTalk's own recipe."""


@dataclass(frozen=True, slots=True)
class NamedMeasure:
    """A measure as it is named on the command line and in the store: `minilm`, `exact`, the directory of a
    sentence-transformers model, or `distilbert:` and a directory, followed by `@` and the threshold if there
    is one.
    """

    name: str
    threshold: float | None = None

    @classmethod
    def parse(cls, text: str) -> "NamedMeasure":
        """Parse a measure's name, as `str` writes it; only a number after the last `@` is a threshold.

        Raises RigError for a threshold that makes no sense.
        """
        name, at, value = text.rpartition("@")
        try:
            measure = cls(name, float(value)) if at else cls(text)
        except ValueError:
            return cls(text)
        if measure.threshold is not None and not 0 < measure.threshold <= 1:  # nor is NaN
            raise RigError(f"--similarity {text}: a threshold is above 0 and at most 1")
        if measure.threshold is not None and name == "exact":
            raise RigError(f"--similarity {text}: exact has no degrees, so no threshold; leave out @{value}")
        return measure

    @property
    def absolute(self) -> "NamedMeasure":
        """The measure with an absolute path for its directory, if it has one."""
        if self.name in PACKAGED:
            return self
        preset = PRESET if self.name.startswith(PRESET) else ""
        return NamedMeasure(f"{preset}{Path(self.name.removeprefix(preset)).absolute()}", self.threshold)

    def __str__(self) -> str:
        return self.name if self.threshold is None else f"{self.name}@{self.threshold:g}"


def load(text: str) -> Similarity:
    """Return the measure of this name, as `NamedMeasure` writes it. Its weights are read with the first texts
    that need them. Raises RigError if there is no such model or the threshold makes no sense.
    """
    named = NamedMeasure.parse(text)
    if named.name == "exact":
        return Exact()
    if named.name == "minilm":
        return MiniLM(named.threshold)
    preset = named.name.startswith(PRESET)
    directory = real(Path(named.name.removeprefix(PRESET if preset else "")))
    kind = DistilBert if preset else Embedding
    return kind(directory, name=directory.name, threshold=named.threshold)
