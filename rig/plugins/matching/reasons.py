"""Explain verdicts in one line of words, short and harmless whatever a model wrote."""

import reprlib
from collections.abc import Sequence

from rig.core.calls import Difference, Json
from rig.plugins.matching.agreement import first_difference

MOST_DIFFERENCES = 3
REPEATS = "repeats a call that was matched already"
TOO_EARLY = "comes before a call that has to come first"
FAILED = "was let fail by --tool-errors, and counts for nothing"

_brief = reprlib.Repr()
_brief.maxlevel, _brief.maxdict, _brief.maxlist, _brief.maxstring = 2, 3, 3, 60


def matched(turn: int, truth_turn: int) -> str:
    """Return why a prediction of `turn` is right, which matches a ground-truth call of `truth_turn`."""
    if turn == truth_turn:
        return "matches the ground truth"
    when = "a later turn, early" if turn < truth_turn else "an earlier turn, late"
    return f"matches the ground truth of {when}"


def differs(differences: Sequence[Difference]) -> str:
    """Return what distinguishes a prediction from the nearest ground-truth call."""
    parts = [difference(one) for one in differences[:MOST_DIFFERENCES]]
    rest = len(differences) - len(parts)
    return "; ".join([*parts, f"{rest} more"] if rest else parts)


def difference(found: Difference) -> str:
    """Return one difference in words."""
    if found.what == "exception" and found.got is not None:
        return f"failed: {show(found.got)}"
    if found.note is not None:
        return f"{_place(found.what)}: {found.note}"
    if found.similarity is not None:
        return f"{_place(found.what)}: similarity {found.similarity:.2f}, needs {found.threshold:.2f}"
    path, expected, got = "", found.expected, found.got
    if isinstance(expected, dict | list) and isinstance(got, dict | list):
        path, expected, got = first_difference(expected, got)
    return f"{_place(found.what + path)}: expected {show(expected)}, got {show(got)}"


def _place(name: str) -> str:
    """Return where a difference is; names of arguments and of keys within them may be a model's, too."""
    return name if name.isprintable() and len(name) <= _brief.maxstring else show(name)


def show(value: Json) -> str:
    """Return a JSON value in a few hundred printable characters at most."""
    return _brief.repr(value)
