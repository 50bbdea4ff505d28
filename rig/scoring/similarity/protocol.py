"""What a similarity is, and from which value on two texts count as the same."""

from collections.abc import Mapping
from typing import Protocol

from rig.calls import Json
from rig.tools.spec import Text

DEFAULT_THRESHOLDS: Mapping[Text, float] = {
    Text.EVENT: 0.78,
    Text.LOCATION: 0.80,
    Text.TASK: 0.78,
    Text.SUBJECT: 0.82,
    Text.BODY: 0.72,
}
"""Cosines, chosen on 81 hand-made pairs for all-MiniLM-L6-v2. A cosine alone cannot tell another day or a
negation from a paraphrase. ToolTalk's 0.9 was meant for DistilBERT."""


class Similarity(Protocol):
    """Anything that measures how alike two texts are, from -1 to 1; 0 when either is no text.

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

    @property
    def thresholds(self) -> Mapping[Text, float]:
        """From which similarity on texts of a kind count as the same."""
        ...

    def __call__(self, first: Json, second: Json) -> float: ...
