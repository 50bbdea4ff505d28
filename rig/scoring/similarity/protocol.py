"""What a similarity is: from which value two texts count as the same. Two of them need no model."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from rig.calls import Json
from rig.scoring.answers import Answers
from rig.scoring.texts import Elsewhere, Meaning, TextJudgement
from rig.toolbox.spec import Text

if TYPE_CHECKING:
    from rig.scoring.readers import Measured


class Similarity(Protocol):
    """Anything that measures how alike two texts are.

    Symmetric, deterministic and safe to call from several threads.
    """

    @property
    def name(self) -> str:
        """What the user calls it."""

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        """Everything that can change a similarity, as flat JSON values."""

    def threshold(self, kind: Text) -> float | None:
        """From which value of `wording` on texts of a kind count as the same; None if nobody knows."""

    @property
    def cosine_threshold(self) -> float | None:
        """What the user wants instead of ToolTalk's thresholds for the cosine."""

    def __call__(self, first: Json, second: Json) -> float:
        """The cosine, from -1 to 1; 0 when either is not a text."""

    def judge(self, kind: Text, first: str, second: str, elsewhere: Elsewhere) -> TextJudgement:
        """Whether two texts of a kind mean the same, or whether that is not clear; `elsewhere` is what is
        said beside them.
        """


class Exact:
    """Equal strings only: 1 or 0."""

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
    """Judges as another similarity does; where that is unclear, an answer decides if there is one, else the
    reader.
    """

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
