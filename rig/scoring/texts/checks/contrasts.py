"""Things of one sort: whether the texts are about different ones."""

from rig.reading.lexicon import contrast_sets, contrasting
from rig.reading.words import Unshared


def other_thing(unshared: Unshared) -> str | None:
    """Why the texts are about different things: what only one has excludes what only the other has."""
    sorts = contrast_sets()
    known = [[word for word in words if word.stem in sorts] for words in (unshared.first, unshared.second)]
    for one in known[0]:
        for other in known[1]:
            if contrasting(one.stem, other.stem) and not _part_of(one.stem, other.stem):
                return f"other thing: {one.text} is not {other.text}"
    return None


def _part_of(one: str, other: str) -> bool:
    """Whether the one says what the other says in more words: a train station is a station."""
    return set(one.split()) <= set(other.split()) or set(other.split()) <= set(one.split())
