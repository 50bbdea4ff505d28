"""Least differences: sentences in which one word stands in place of another, or one small word more.

Such words are compared as they were written, even in courtesies and requests that are not read otherwise:
unless both say the same, it is unclear what the exchange means.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, product, takewhile

from rig.plugins.text.judge.findings import Finding, unclear
from rig.plugins.text.judge.passages import MAX_SENTENCES, same_name, same_word, token
from rig.plugins.text.reading.clauses import Atom, canonical, closed_class, is_past, read_text, sentences
from rig.plugins.text.reading.lexicon import folded, is_common
from rig.world.spec import Text

IDLE = frozenset(("article", "copula", "courtesy", "degree", "thing", "helper", "person", "place"))
"""The families of small words that may be left out, or that are compared with their whole sentence."""
LONGEST = 5
"""The most small words in which two sentences differ: underneath, on top of."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def least_differences(kind: Text, first: str, second: str) -> Iterator[Finding]:
    """Yield words that stand in place of one another in otherwise equal sentences, or that only one has."""
    read = [
        [(tuple(_WORD.findall(sentence)), sentence) for sentence in sentences(text)]
        for text in (first, second)
    ]
    texts = [Counter(words for words, _ in side) for side in read]
    rest = texts[0] - texts[1], texts[1] - texts[0]
    if max(map(len, rest)) > MAX_SENTENCES:
        return
    asked = {words for side in read for words, sentence in side if sentence.rstrip().endswith("?")}
    pairs = list(product(*rest))
    if rest[0].total() != rest[1].total():
        # One of them has a full stop that the other reads as an abbreviation's, or none.
        one, other = (tuple(chain.from_iterable(side.elements())) for side in rest)
        pairs.append((one, other))
    for pair in pairs:
        words = [[folded(word) for word in sentence] for sentence in pair]
        start = _shared(*words)
        end = _shared(*(side[start:][::-1] for side in words))
        ones, others = (sentence[start : len(sentence) - end] for sentence in pair)
        reason = _difference(kind, ones, others)
        if ones and sorted(words[0]) == sorted(words[1]):
            clauses = [read_text(" ".join(sentence)).clauses for sentence in pair]
            asks = [one in asked or any(c.asks for c in own) for one, own in zip(pair, clauses, strict=True)]
            if asks[0] != asks[1]:
                reason = "only one asks"
            elif pair[0] != pair[1]:
                reason = reason or _exchanged(*words)
        if reason and not _is_one_but_for_facts(*(" ".join(sentence) for sentence in pair)):
            yield unclear(reason)


def _difference(kind: Text, ones: Sequence[str], others: Sequence[str]) -> str:
    """Return what the words left of two sentences say otherwise; empty if that is nothing, or more."""
    one, other = " ".join(ones), " ".join(others)
    if len(ones) == len(others) == 1:
        return "" if _is_one_word(kind, one, other) else f"{one} is not {other}"
    if len(ones) + len(others) == 1:
        atoms = read_text(one or other).atoms
        is_firm = any(atom.family and atom.family not in IDLE for atom in atoms)
        return f"only one says: {one or other}" if is_firm else ""
    if ones and others and len(ones) + len(others) <= LONGEST and not _is_reworded(one, other):
        return f"{one} is not {other}"
    return ""


def _exchanged(first: Sequence[str], second: Sequence[str]) -> str:
    """Return which small words for persons and things have changed places between others that have not:
    bring it with you to me, bring me with you to it.
    """
    small, rest = (
        [
            [word for word in side if (closed_class().get(word, ("",))[0] in ("person", "thing")) is wanted]
            for side in (first, second)
        ]
        for wanted in (True, False)
    )
    return f"{' '.join(small[0])} have changed places" if small[0] != small[1] and rest[0] == rest[1] else ""


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
    # Numbers are compared as facts, and the writer of a reminder's task speaks for the reader.
    if any(c.isdecimal() for c in first + second) or (words == {"my", "your"} and kind.like == "task"):
        return True
    if words == {"a", "one"}:
        return True
    ones, others = read_text(first).atoms, read_text(second).atoms
    if not (ones or others):  # although, though
        return canonical(first)[0].casefold() == canonical(second)[0].casefold()
    if len(ones) != 1 or len(others) != 1:
        return [atom.key for atom in ones] == [atom.key for atom in others]
    return _says_the_same(ones[0], others[0])


def _is_reworded(one: str, other: str) -> bool:
    """Return whether these are not just other places or modalities: into is not out of, is not might be."""
    first, second = read_text(one).atoms, read_text(other).atoms
    families = {atom.family for atom in first + second}
    is_other = families <= {"place"} or families == {"copula", "modal"}
    return not is_other or [atom.key for atom in first] == [atom.key for atom in second]


def _says_the_same(one: Atom, other: Atom) -> bool:
    if one.fact is not None and other.fact is not None:
        return one.fact.agrees(other.fact)
    if one.family or other.family or one.fact is not None or other.fact is not None:
        return (one.key, one.family) == (other.key, other.family)
    if one.word.capital and other.word.capital and not (is_common(one.shown) or is_common(other.shown)):
        return same_name(one.shown, other.shown)
    return same_word(one, other) and (one.key != other.key or is_past(one.word) == is_past(other.word))
