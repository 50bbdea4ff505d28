"""What a similarity has to offer, and two similarities that need no model."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from rig.core.calls import Json
from rig.plugins.text.judge import Elsewhere, Meaning, TextJudgement
from rig.scoring.answers import Answers
from rig.world.spec import Text

if TYPE_CHECKING:
    from rig.scoring.readers import Measured


class Similarity(Protocol):
    """Anything that measures how alike two texts are.

    Symmetric, deterministic and safe to call from several threads.
    """

    @property
    def name(self) -> str:
        """The name by which the user knows it."""

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

    def judge(self, kind: Text, first: str, second: str, elsewhere: Elsewhere) -> TextJudgement:
        """Judge whether two texts of a kind mean the same; `elsewhere` is what other arguments say."""


class Exact:
    """A similarity that is 1 for equal strings and 0 for all others."""

    name = "exact"
    fingerprint: Mapping[str, Json] = {"similarity": "exact"}
    cosine_threshold: float | None = None

    def threshold(self, kind: Text) -> float:
        return 1.0

    def __call__(self, first: Json, second: Json) -> float:
        return float(isinstance(first, str) and isinstance(second, str) and first == second)

    def judge(self, kind: Text, first: str, second: str, elsewhere: Elsewhere) -> TextJudgement:
        likeness = self(first, second)
        return TextJudgement(Meaning.SAME if likeness else Meaning.DIFFERENT, likeness)


class Adjudicated:
    """A similarity that leaves what another one finds unclear to people's answers, or else to a reader."""

    def __init__(
        self, similarity: Similarity, answers: Answers | None = None, reader: "Measured | None" = None
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

    def judge(self, kind: Text, first: str, second: str, elsewhere: Elsewhere) -> TextJudgement:
        judged = self.similarity.judge(kind, first, second, elsewhere)
        if judged.meaning is not Meaning.UNCLEAR:
            return judged
        same, who = self._answers.of(first, second), "adjudicated"
        if same is None and self.reader is not None:
            same, who = self.reader.same_text(first, second), "the reader says"
        if same is None:
            return judged
        meaning = Meaning.SAME if same else Meaning.DIFFERENT
        return TextJudgement(meaning, judged.likeness, f"{who}: {'the same' if same else 'another thing'}")
