"""Least differences: sentences in which one word stands in place of another, or one small word more.

Such words are compared as they were written, even in courtesies and requests that are not read otherwise:
unless both say the same, it is unclear what the exchange means.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import product, takewhile

from rig.reading.clauses import Atom, canonical, is_past, read_text, sentences
from rig.reading.lexicon import folded
from rig.scoring.texts.findings import Finding, unclear
from rig.scoring.texts.passages import same_word, token
from rig.toolbox.spec import Text

MAX_SENTENCES = 160
"""The most sentences that only one text has. With more, the texts are too different to be compared."""
IDLE = frozenset(("article", "copula", "courtesy", "degree", "thing", "helper", "person", "place"))
"""The families of small words that may be left out, or that are compared with their whole sentence."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def least_differences(kind: Text, first: str, second: str) -> Iterator[Finding]:
    """Yield words that stand in place of one another in otherwise equal sentences, or that only one has."""
    texts = [
        Counter(tuple(_WORD.findall(sentence)) for sentence in sentences(text)) for text in (first, second)
    ]
    rest = texts[0] - texts[1], texts[1] - texts[0]
    if max(map(len, rest)) > MAX_SENTENCES:
        return
    for pair in product(*rest):
        if _is_one_but_for_facts(*(" ".join(sentence) for sentence in pair)):
            continue
        words = [[folded(word) for word in sentence] for sentence in pair]
        start = _shared(*words)
        end = _shared(*(side[start:][::-1] for side in words))
        ones, others = (sentence[start : len(sentence) - end] for sentence in pair)
        if ones and others and len(ones) + len(others) < 4:
            one, other = " ".join(ones), " ".join(others)
            is_word = len(ones) == len(others) == 1
            if not (_is_one_word(kind, one, other) if is_word else _is_reworded(one, other)):
                yield unclear(f"{one} is not {other}")
        elif len(ones) + len(others) == 1:
            word = (*ones, *others)[0]
            if any(atom.family and atom.family not in IDLE for atom in read_text(word).atoms):
                yield unclear(f"only one says: {word}")


def _is_one_but_for_facts(first: str, second: str) -> bool:
    """Return whether only the form of facts differs: every other day, every second day."""
    ones, others = read_text(first), read_text(second)
    written = [[fact.shown for fact in text.facts] for text in (ones, others)]
    return written[0] != written[1] and list(map(token, ones.atoms)) == list(map(token, others.atoms))


def _shared(one: list[str], other: list[str]) -> int:
    """Return how many words two lists have in common at their start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _is_one_word(kind: Text, first: str, second: str) -> bool:
    words = {folded(first), folded(second)}
    # The writer of a reminder's task speaks for the reader.
    # Numbers are compared as facts.
    if (
        any(word.isdecimal() for word in words)
        or words == {"a", "one"}
        or (words == {"my", "your"} and kind.like == "task")
    ):
        return True
    if _is_short(*sorted(words, key=len)):
        return True
    ones, others = read_text(first).atoms, read_text(second).atoms
    if not (ones or others):  # although, though
        return canonical(first)[0].casefold() == canonical(second)[0].casefold()
    if len(ones) != 1 or len(others) != 1:
        return [atom.key for atom in ones] == [atom.key for atom in others]
    return _says_the_same(ones[0], others[0])


def _is_reworded(one: str, other: str) -> bool:
    """Return whether any word carries meaning, or all say the same: into is not out of."""
    first, second = read_text(one).atoms, read_text(other).atoms
    return any(not atom.family for atom in first + second) or [a.key for a in first] == [
        a.key for a in second
    ]


def _is_short(short: str, long: str) -> bool:
    """Return whether one is a short form of the other: w for with, u for you."""
    return len(short) == 1 and short not in ("a", "i") and short in long


def _says_the_same(one: Atom, other: Atom) -> bool:
    if one.fact is not None and other.fact is not None:
        return one.fact.agrees(other.fact)
    if one.family or other.family or one.fact is not None or other.fact is not None:
        return (one.key, one.family) == (other.key, other.family)
    return same_word(one, other) and (one.key != other.key or is_past(one.word) == is_past(other.word))
