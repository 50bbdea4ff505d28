"""Roles: who does it, whose it is, and from where to where."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from rig.reading.lexicon import in_order, stem
from rig.reading.words import EMPTY, Word

SELF, OTHER = frozenset(("i", "we")), frozenset(("you",))
OWNERS = {"my": "my", "our": "my", "your": "your"}
REACH = 4
_WAYS = {"from": "from", "to": "to", "into": "to", "onto": "to"}
MUTUAL = frozenset(stem(word) for word in in_order("meet talk chat speak discuss see get know hear agree"))
"""What both do: "can I get it from you" is "can you get it for me"."""


def swapped(first: Sequence[Word], second: Sequence[Word]) -> str | None:
    """Why the roles differ: another one does the same, or it goes the other way."""
    ones, others = _agents(first), _agents(second)
    for verb, agent in ones.items():
        if verb in others and others[verb] != agent:
            return f"roles: {agent} {verb} against {others[verb]} {verb}"
    start, end = _ends(first)
    other_start, other_end = _ends(second)
    if start and start == other_end and end in (None, other_start):
        return f"roles: from {start} against to {start}"
    if end and end == other_start and start in (None, other_end):
        return f"roles: to {end} against from {end}"
    return None


def owned_otherwise(first: Sequence[Word], second: Sequence[Word]) -> str | None:
    """Why it is another's: "my place" in one text, "your place" in the other."""
    ones, others = dict(_owned(first)), dict(_owned(second))
    for thing, owner in ones.items():
        if others.get(thing, owner) != owner:
            return f"roles: {owner} {thing} against {others[thing]} {thing}"
    return None


def _owned(words: Sequence[Word]) -> Iterator[tuple[str, str]]:
    for word, following in pairwise(words):
        if word.text in OWNERS and following.is_word:
            yield following.stem, OWNERS[word.text]


def _agents(words: Sequence[Word]) -> Mapping[str, str]:
    """Who does it, for each verb that follows "I", "we" or "you" closely."""
    found: dict[str, str] = {}
    for index, word in enumerate(words):
        if word.text not in SELF | OTHER:
            continue
        for other in words[index + 1 : index + 1 + REACH]:
            if not other.is_word or other.text in SELF | OTHER:
                break
            if other.text not in EMPTY:
                if other.stem not in MUTUAL:
                    found.setdefault(other.stem, "I" if word.text in SELF else "you")
                break
    return found


def _ends(words: Sequence[Word]) -> tuple[str | None, str | None]:
    """Where it goes from and to."""
    found: dict[str, str] = {}
    kept = [word for word in words if word.text not in ("the", "a", "an")]
    for word, following in pairwise(kept):
        if word.text in _WAYS and following.is_word and following.text not in EMPTY:
            found.setdefault(_WAYS[word.text], following.stem)
    return found.get("from"), found.get("to")
