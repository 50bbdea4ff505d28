"""The words of two texts that carry their meaning, and those that only one of them has."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rig.scoring.texts.reading.lexicon import meanings, synonym_sets
from rig.scoring.texts.reading.listed import vocabulary
from rig.scoring.texts.reading.stems import roots
from rig.scoring.texts.reading.words import Word

EMPTY = vocabulary(
    "a an the this that these those it its of to in on at for with from by as and or but so if then "
    "than too also i me my mine we us our you your he him his she her they them their be is are was "
    "were am been do does did have has had will would shall should can could may might let there "
    "here just very really quite please kindly hi hey hello ok okay oh well yes yeah some any one "
    "ones about into onto up out off over s t am pm not no which who whom whose what when where how "
    "why ll ve re d m st nd rd th fwd fw sure definitely actually again only own much such hope lol "
    "haha yet ever able between nobody nothing never none neither nor nowhere without hardly barely "
    "scarcely yours ours hers theirs still already"
)
"""Words that say little by themselves; checks of their own look at negations, times and roles."""


SHORTEST_PART = 4
LONGEST_LINK = 2


def content(words: Iterable[Word]) -> tuple[Word, ...]:
    """The words that are worth comparing."""
    return tuple(word for word in words if word.is_word and (word.acronym or word.text not in EMPTY))


@dataclass(frozen=True, slots=True)
class Unshared:
    """The content words of each of two texts that the other has neither as such nor by a synonym, and how
    many of both are shared.
    """

    first: tuple[Word, ...]
    second: tuple[Word, ...]
    shared: int


def unshared(first: Sequence[Word], second: Sequence[Word]) -> Unshared:
    """Hold the content words of two texts together."""
    ones = missing(first, second)
    others = missing(second, first)
    return Unshared(ones, others, len(first) + len(second) - len(ones) - len(others))


def missing(words: Sequence[Word], elsewhere: Sequence[Word]) -> tuple[Word, ...]:
    """Those of the words that stand nowhere in another text: not as such, in
    another form or by a synonym, not written apart or as one, and not as initials.
    """
    stems = {word.stem for word in elsewhere}
    known_roots = frozenset[str]().union(*(roots(one) for one in stems))
    compounds = _compounds(elsewhere)
    apart = {word.text for word in elsewhere}
    meant = meanings(stems)
    initials = "".join(word.text[0] for word in elsewhere)
    acronyms = [word.text for word in elsewhere if word.acronym]
    own = "".join(word.text[0] for word in words)
    own_words = {word.text for word in words}
    spelt = {at + n for acronym in acronyms for at in _starts(own, acronym) for n in range(len(acronym))}
    joined = {
        at + n
        for at, (one, other) in enumerate(pairwise(words))
        if one.text + other.text in apart
        for n in (0, 1)
    }
    made = [parts for other in apart if (parts := _made_of(other, own_words))]
    sets = synonym_sets()
    return tuple(
        word
        for index, word in enumerate(words)
        if word.stem not in stems
        and known_roots.isdisjoint(roots(word.stem))
        and word.text not in compounds
        and not _made_of(word.text, apart)
        and not any(word.text in parts for parts in made)
        and index not in joined
        and index not in spelt
        and not (word.acronym and word.text in initials)
        and meant.isdisjoint(sets.get(word.stem, ()))
    )


def _compounds(words: Sequence[Word]) -> set[str]:
    """What two neighbours make when written as one: "boat house"."""
    return {one.text + other.text for one, other in pairwise(words)}


def _made_of(word: str, parts: Collection[str]) -> tuple[str, ...]:
    """The two parts that make a word, as in "Zahnarzttermin", with a letter or two between."""
    if len(word) < 2 * SHORTEST_PART:
        return ()
    for end in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1):
        for link in range(LONGEST_LINK + 1):
            if word[:end] in parts and word[end + link :] in parts:
                return word[:end], word[end + link :]
    return ()


def _starts(initials: str, acronym: str) -> Iterable[int]:
    at = initials.find(acronym)
    return () if at < 0 else (at,)
