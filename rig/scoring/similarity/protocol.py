"""What a similarity is, and from which value two texts count as the same."""

from collections.abc import Mapping
from typing import Protocol

from rig.calls import Json
from rig.scoring.texts import Elsewhere, TextJudgement
from rig.toolbox.spec import Text


class Similarity(Protocol):
    """Anything that measures how alike two texts are.

    Symmetric, deterministic and safe to call from several threads.
    """

    @property
    def name(self) -> str:
        """What the user calls it."""
        ...

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        """Everything that can change a similarity, as flat JSON values."""
        ...

    def threshold(self, kind: Text) -> float | None:
        """From which value of `wording` on texts of a kind count as the same; None if nobody knows."""
        ...

    @property
    def cosine_threshold(self) -> float | None:
        """What the user wants instead of ToolTalk's thresholds for the cosine."""
        ...

    def __call__(self, first: Json, second: Json) -> float:
        """The cosine, from -1 to 1; 0 when either is not a text."""
        ...

    def judge(self, kind: Text, first: str, second: str, elsewhere: Elsewhere) -> TextJudgement:
        """Whether two texts of a kind mean the same, or whether that is not clear; `elsewhere` is what is
        said beside them.
        """
        ...
