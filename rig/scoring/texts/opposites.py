"""Opposites: whether one text asks for or says the contrary of the other."""

from collections.abc import Sequence

from rig.scoring.texts.content import missing
from rig.scoring.texts.lexicon import opposites
from rig.scoring.texts.reading import Word


def contrary(
    first: Sequence[Word], denied_first: frozenset[str], second: Sequence[Word], denied_second: frozenset[str]
) -> str | None:
    """Why the texts are contrary, given the words of each and the stems it denies: an expression in one, its
    opposite in the other, and no negation to even it out.
    """
    if bool(denied_first) != bool(denied_second):
        return None
    ones = dict.fromkeys(word.stem for word in missing(first, second) if word.is_word)
    others = dict.fromkeys(word.stem for word in missing(second, first) if word.is_word)
    for one in ones:
        for other in opposites(one, others):
            if _in(one, denied_first) == _in(other, denied_second):
                return f"opposites: {one} against {other}"
    return None


def _in(expression: str, stems: frozenset[str]) -> bool:
    return any(part in stems for part in expression.split())
