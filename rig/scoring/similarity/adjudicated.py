"""A similarity with people's answers: if it calls a pair unclear, their answer decides."""

from collections.abc import Mapping

from rig.calls import Json
from rig.scoring.answers import Answers
from rig.scoring.similarity.protocol import Similarity
from rig.scoring.texts import Elsewhere, Judgement, Meaning
from rig.toolbox.spec import Text


class Adjudicated:
    """Judges as another similarity does; where that is unclear, an answer decides if there is one."""

    def __init__(self, similarity: Similarity, answers: Answers) -> None:
        self._similarity = similarity
        self._answers = answers
        self.name = similarity.name
        self.cosine_threshold = similarity.cosine_threshold

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        return {**self._similarity.fingerprint, "answers_sha256": self._answers.sha256}

    def threshold(self, kind: Text) -> float | None:
        return self._similarity.threshold(kind)

    def __call__(self, first: Json, second: Json) -> float:
        return self._similarity(first, second)

    def judge(self, kind: Text, first: str, second: str, elsewhere: Elsewhere) -> Judgement:
        judged = self._similarity.judge(kind, first, second, elsewhere)
        same = self._answers.of(first, second) if judged.meaning is Meaning.UNCLEAR else None
        if same is None:
            return judged
        said = "the same" if same else "another thing"
        meaning = Meaning.SAME if same else Meaning.DIFFERENT
        return Judgement(meaning, judged.likeness, f"adjudicated: {said}")
