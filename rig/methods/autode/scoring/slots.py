"""How well a call's arguments agree with the true ones: precision, recall and F1 of its slots.

Source: upstream's `calc_metrics`. A value is right if Python says that it is equal, and not otherwise.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from rig.calls import Json

Slots: TypeAlias = Mapping[str, Json]
Equal: TypeAlias = Callable[[Json, Json], bool]

_NO_LETTER = re.compile(r"[^\w\s]|_")


class SlotCounts(NamedTuple):
    """Of one dialogue: how many slots are right, how many there should be, and how many there are."""

    correct: int
    true: int
    predicted: int

    @property
    def precision(self) -> float:
        """The share of the predicted slots that is right; 1 if there should be none and is none."""
        return self._share(self.predicted)

    @property
    def recall(self) -> float:
        """The share of the true slots that was found."""
        return self._share(self.true)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, 0 if both are."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    def _share(self, whole: int) -> float:
        return self.correct / whole if whole else float(not self.true and not self.predicted)


def equal(true: Json, predicted: Json) -> bool:
    """Upstream's equality: `True` and `"True"` differ, `True` and `1` do not."""
    return bool(true == predicted)


def tolerant(true: Json, predicted: Json) -> bool:
    """Equality but for case, white space and punctuation, and for truth values written as words."""
    return equal(_plain(true), _plain(predicted))


def count(true: Slots, predicted: Slots, same: Equal = equal) -> SlotCounts:
    """How the predicted slots agree with the true ones, name by name."""
    correct = sum(name in true and same(true[name], value) for name, value in predicted.items())
    return SlotCounts(correct, len(true), len(predicted))


def _plain(value: Json) -> Json:
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(_NO_LETTER.sub(" ", value).casefold().split()) if isinstance(value, str) else value
