"""How alike two free texts are: what a measure has to offer, and two that need no model.

Plugins register the others (`registry.measures`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from rig.core.calls import Json
from rig.core.errors import RigError
from rig.core.paths import real
from rig.core.registry import registered
from rig.scoring.answers import Answers
from rig.world.spec import Text


class Meaning(StrEnum):
    """The verdict on two texts."""

    SAME = "same"
    DIFFERENT = "different"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class TextJudgement:
    """The verdict on two texts, and why. `likeness` is how likely they say the same, from 0 to 1."""

    meaning: Meaning
    likeness: float
    note: str | None = None

    @property
    def reason(self) -> str:
        """The reason for the verdict, in one line."""
        return self.note or f"the wording is alike by {self.likeness:.2f}"


class PairReader(Protocol):
    """Anything that decides about two texts that a measure leaves unclear."""

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        """Everything that can change its decisions, as flat JSON values."""

    def same_text(self, first: str, second: str) -> bool | None:
        """Return whether two texts mean the same; None if it cannot say."""


class Similarity(Protocol):
    """Anything that measures how alike two texts are.

    Symmetric, deterministic and safe to call from several threads.
    """

    @property
    def name(self) -> str:
        """The name that people choose it by, as with `--similarity`."""

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        """Everything that can change a similarity, as flat JSON values."""

    def threshold(self, kind: Text) -> float | None:
        """Return the likeness from which texts of a kind count as the same; None if unknown."""

    @property
    def cosine_threshold(self) -> float | None:
        """The threshold that the user set in place of ToolTalk's for the cosine; None if not set."""

    def __call__(self, first: Json, second: Json) -> float:
        """Return the cosine, from -1 to 1; 0 if either is not a text."""

    def judge(self, kind: Text, first: str, second: str, others: Iterable[str] = ()) -> TextJudgement:
        """Judge whether two texts of a kind mean the same; `others` are the texts of other arguments."""


class Exact:
    """A similarity that is 1 for equal strings and 0 for all others."""

    name = "exact"
    fingerprint: Mapping[str, Json] = {"similarity": "exact"}
    cosine_threshold: float | None = None

    def threshold(self, kind: Text) -> float:
        return 1.0

    def __call__(self, first: Json, second: Json) -> float:
        return float(isinstance(first, str) and isinstance(second, str) and first == second)

    def judge(self, kind: Text, first: str, second: str, others: Iterable[str] = ()) -> TextJudgement:
        likeness = self(first, second)
        return TextJudgement(Meaning.SAME if likeness else Meaning.DIFFERENT, likeness)


class Adjudicated:
    """A similarity that leaves what another one finds unclear to people's answers, or else to a reader."""

    def __init__(
        self, similarity: Similarity, answers: Answers | None = None, reader: PairReader | None = None
    ) -> None:
        self.similarity = similarity
        self.reader = reader
        self._answers = Answers() if answers is None else answers
        self.name = similarity.name
        self.cosine_threshold = similarity.cosine_threshold

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        answered = {"answers_sha256": self._answers.sha256} if len(self._answers) else {}
        read = {} if self.reader is None else self.reader.fingerprint
        return {**self.similarity.fingerprint, **answered, **read}

    def threshold(self, kind: Text) -> float | None:
        return self.similarity.threshold(kind)

    def __call__(self, first: Json, second: Json) -> float:
        return self.similarity(first, second)

    def judge(self, kind: Text, first: str, second: str, others: Iterable[str] = ()) -> TextJudgement:
        judged = self.similarity.judge(kind, first, second, others)
        if judged.meaning is not Meaning.UNCLEAR:
            return judged
        same, who = self._answers.of(first, second), "adjudicated"
        if same is None and self.reader is not None:
            same, who = self.reader.same_text(first, second), "the reader says"
        if same is None:
            return judged
        meaning = Meaning.SAME if same else Meaning.DIFFERENT
        return TextJudgement(meaning, judged.likeness, f"{who}: {'the same' if same else 'another thing'}")


FOLDER = ""
"""What the measure is registered under that takes the directory of a model."""
PRESET = "distilbert:"
"""The prefix of a directory of distilbert-base-uncased: ToolTalk's own recipe."""


def is_registered(name: str) -> bool:
    """Return whether a measure has this name, so that it needs no folder."""
    return name not in (FOLDER, PRESET) and name in registered().measures


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
        if self.name == "exact" or is_registered(self.name):
            return self
        kind, folder = self.folder
        return NamedMeasure(f"{kind}{folder.absolute()}", self.threshold)

    @property
    def folder(self) -> tuple[str, Path]:
        """What the measure is registered under, and the directory that follows it."""
        kind = PRESET if self.name.startswith(PRESET) else FOLDER
        return kind, Path(self.name.removeprefix(kind))

    def __str__(self) -> str:
        return self.name if self.threshold is None else f"{self.name}@{self.threshold:g}"


def load(text: str) -> Similarity:
    """Return the measure of this name, as `NamedMeasure` writes it. Its weights are read with the first texts
    that need them. Raises RigError if there is no such model or the threshold makes no sense.
    """
    named, measures = NamedMeasure.parse(text), registered().measures
    if named.name == "exact":
        return Exact()
    if is_registered(named.name):
        measure: Similarity = measures[named.name](named.threshold)
        return measure
    kind, folder = named.folder
    directory = real(folder)
    of_folder: Similarity = measures[kind](directory, name=directory.name, threshold=named.threshold)
    return of_folder
