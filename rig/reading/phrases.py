"""Expressions of several words read as one: "turn the light off" says "turn off", as "switch off" does."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rig.reading.lexicon import LONGEST_PHRASE, phrases, vocabulary
from rig.reading.words import Word

PARTICLES = vocabulary("up down on off out back away over forward")
OPENING = vocabulary(
    "when while before after if because so and or but then again please now at by until for as once unless in"
)
"""What opens a part of its own, so that a particle before it belongs to its verb."""
ARTICLES = vocabulary("the a an my your our his their its")
"""After these it is not a particle: "the back door"."""
APART = 4
"""Words that may stand between a verb and its particle."""


def merged(words: Sequence[Word]) -> Iterator[tuple[Word, int]]:
    """The words with known expressions made one, also where their parts stand apart; each with its index."""
    used: set[int] = set()
    for index, word in enumerate(words):
        if index in used:
            continue
        phrase = _phrase(words, index, used) if word.is_word else None
        if phrase is None:
            yield word, index
        else:
            stems, parts = phrase
            used.update(parts)
            yield replace(word, text=" ".join([word.text, *stems.split()[1:]]), stem=stems), index


def _phrase(words: Sequence[Word], at: int, taken: set[int]) -> tuple[str, list[int]] | None:
    head = words[at].stem
    for end in range(min(at + LONGEST_PHRASE, len(words)), at + 1, -1):
        part = range(at + 1, end)
        if all(index not in taken and (words[index].is_word or words[index].is_number) for index in part):
            stems = " ".join([head, *(words[index].stem for index in part)])
            if stems in phrases():
                return stems, list(part)
    for index in range(at + 1, min(at + APART + 2, len(words))):
        word = words[index]
        if not word.is_word or index in taken:
            return None
        stems = f"{head} {word.stem}"
        if words[index - 1].text in ARTICLES:
            continue
        if word.text in PARTICLES and stems in phrases() and not _belongs_on(words, index):
            return stems, [index]
    return None


def _belongs_on(words: Sequence[Word], at: int) -> bool:
    following = words[at + 1] if at + 1 < len(words) else None
    return following is not None and following.is_word and following.text not in OPENING
