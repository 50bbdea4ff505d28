"""A similarity with people's answers and a reader: what it calls unclear these decide, in this order."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rig.calls import Json
from rig.scoring.answers import Answers
from rig.scoring.similarity.protocol import Similarity
from rig.scoring.texts import Elsewhere, Meaning, TextJudgement
from rig.toolbox.spec import Text

if TYPE_CHECKING:
    from rig.scoring.readers import Measured


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
