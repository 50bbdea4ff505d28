"""Verdicts in one line of words, short and harmless whatever the model wrote."""

import reprlib
from collections.abc import Sequence

from rig.calls import Json
from rig.verdicts import Difference

MOST_DIFFERENCES = 3

_brief = reprlib.Repr()
_brief.maxlevel, _brief.maxdict, _brief.maxlist, _brief.maxstring = 2, 3, 3, 60


def matched(turn: int, truth_turn: int) -> str:
    """Why a prediction of `turn` is right, being a ground-truth call of `truth_turn`."""
    if turn == truth_turn:
        return "matches the ground truth"
    return f"matches the ground truth of turn {truth_turn}, {'early' if turn < truth_turn else 'late'}"


def differs(differences: Sequence[Difference]) -> str:
    """What keeps a prediction from being the nearest ground-truth call."""
    parts = [_difference(difference) for difference in differences[:MOST_DIFFERENCES]]
    rest = len(differences) - len(parts)
    return "; ".join([*parts, f"{rest} more"] if rest else parts)


def _difference(difference: Difference) -> str:
    if difference.what == "exception" and difference.got is not None:
        return f"failed: {show(difference.got)}"
    if difference.similarity is not None:
        return f"{difference.what}: similarity {difference.similarity:.2f}, needs {difference.threshold:.2f}"
    return f"{difference.what}: expected {show(difference.expected)}, got {show(difference.got)}"


def show(value: Json) -> str:
    """A JSON value in a few hundred printable characters at most."""
    return _brief.repr(value)
