"""Opposites: whether one text asks for or says the contrary of the other."""

from collections.abc import Sequence

from rig.reading.lexicon import opposites, stem
from rig.reading.words import Word, missing

GIVEN = frozenset(stem(word) for word in ("lend", "loan", "give", "send"))
TAKEN = frozenset(stem(word) for word in ("borrow", "get", "receive", "have"))
NEAR = 2


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
            if _in(one, denied_first) != _in(other, denied_second):
                continue
            if not (_converse(one, first, other, second) or _converse(other, second, one, first)):
                return f"opposites: {one} against {other}"
    return None


def _converse(given: str, giving: Sequence[Word], taken: str, taking: Sequence[Word]) -> bool:
    """Whether the one gives me what I take from the other: "lend us one" and "we borrow one"."""
    if given not in GIVEN or taken not in TAKEN:
        return False
    at = next(index for index, word in enumerate(giving) if word.stem == given)
    to_me = any(word.text in ("me", "us") for word in giving[at + 1 : at + 1 + NEAR])
    before = [word.text for word in taking if word.stem == taken or word.text in ("i", "we", "you")]
    agent = before[max(0, before.index(taken) - 1)] if taken in before else ""
    return to_me and agent != "you"


def _in(expression: str, stems: frozenset[str]) -> bool:
    return any(part in stems for part in expression.split())
