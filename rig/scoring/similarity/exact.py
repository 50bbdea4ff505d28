"""Similarity without a model."""

from collections.abc import Mapping

from rig.calls import Json
from rig.scoring.texts import Elsewhere, Meaning, TextJudgement
from rig.toolbox.spec import Text


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
