"""Least differences: sentences in which one word stands in place of another.

Even where the rest is read as the same (requests, greetings, courtesies, titles), such a word is compared as
it was written: unless both are known to say the same, it is unclear what the exchange means.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import product

from rig.reading.clauses import canonical, closed_class, is_past, sentences
from rig.reading.lexicon import folded, given_names, is_common, opposites, places, stem, synonymous
from rig.reading.times import MONTHS, PARTS, RELATIVE, WEEKDAYS
from rig.reading.typos import distance
from rig.reading.words import words_of
from rig.scoring.texts.aligning import same_name

MAX_SENTENCES = 160
"""The most sentences that only one text has. With more, the texts are too different to be compared."""
NEAR = 2
"""Words that differ by at most this many letters look alike: flour, flowers."""
DEGREES = frozenset(("r", "er", "st", "est"))
"""Endings that make a comparative: tall, taller."""
CALENDAR = frozenset((*MONTHS, *PARTS, *RELATIVE, *WEEKDAYS))
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def exchanged(first: str, second: str, spoken_for: bool) -> Iterator[tuple[str, str]]:
    """Yield the words that stand in place of one another in otherwise equal sentences. `spoken_for` means
    that the writer speaks for the reader, so that "my" and "your" are the same.
    """
    texts = [
        Counter(tuple(_WORD.findall(sentence)) for sentence in sentences(text)) for text in (first, second)
    ]
    rest = texts[0] - texts[1], texts[1] - texts[0]
    if max(map(len, rest)) > MAX_SENTENCES:
        return
    for one, other in product(*rest):
        places = [n for n, (a, b) in enumerate(zip(one, other, strict=False)) if folded(a) != folded(b)]
        if len(one) != len(other) or len(places) != 1:
            continue
        first_word, second_word = one[places[0]], other[places[0]]
        owners = {folded(first_word), folded(second_word)} == {"my", "your"}
        if not (spoken_for and owners) and not _is_one_word(first_word, second_word, places[0] > 0):
            yield first_word, second_word


def _is_one_word(first: str, second: str, is_inner: bool) -> bool:
    """Return whether one word can stand for the other, or other checks decide about them. A capitalized inner
    word can be a name even if it is a common word.
    """
    one, other = folded(first), folded(second)
    if one.isdecimal() or other.isdecimal() or {one, other} == {"a", "one"} or _is_short(one, other):
        return True
    closed = [closed_class().get(canonical(word)[0].casefold()) for word in (one, other)]
    if any(closed):
        return closed[0] == closed[1]
    if not CALENDAR.isdisjoint((one, other)) and stem(one) != stem(other):
        return synonymous(stem(one), stem(other))
    if all(word[0].isupper() and (is_inner or _may_be_name(word)) for word in (first, second)):
        is_name = not given_names().keys().isdisjoint((one, other))
        return same_name(one, other) or (not is_name and synonymous(stem(one), stem(other)))
    if opposites(stem(one), (stem(other),)) or opposites(stem(other), (stem(one),)):
        return False
    if any(
        long.startswith(short) and long[len(short) :] in DEGREES
        for short, long in ((one, other), (other, one))
    ):
        return False
    if distance(one, other) <= NEAR and min(map(len, (one, other))) > NEAR and stem(one) != stem(other):
        return not (is_common(one) and is_common(other)) or synonymous(stem(one), stem(other))
    return len({is_past(words_of(word)[0]) for word in (one, other)}) == 1 or stem(one) != stem(other)


def _is_short(one: str, other: str) -> bool:
    """Return whether one is a short form of the other: w for with, u for you."""
    short, long = sorted((one, other), key=len)
    return len(short) == 1 and short not in ("a", "i") and short in long


def _may_be_name(word: str) -> bool:
    return folded(word) in given_names() or folded(word) in places() or not is_common(folded(word))
