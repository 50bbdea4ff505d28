"""Sentences of long texts: which both have, and which belong together."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

LONGEST = 60
"""Words. What goes on for longer without a full stop is cut."""
_WRAPPED = re.compile(r"(?<=[^\n.!?:;])\n(?=[a-z(])")
_END = re.compile(r"(?<=[.!?。！？])[\"')\]]*\s+|(?<=[。！？])|\n+")
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:mr|mrs|ms|dr|prof|st|no|nr|vs|etc|jr|sr|approx|dept|tel|e\.g|i\.e|[a-z])\.$", re.I
)
_WORD = re.compile(r"[^\W_]+|[$€£%+]")


def sentences(text: str) -> list[str]:
    """The sentences of a text, in order, each of at most LONGEST words."""
    found: list[str] = []
    for part in _END.split(_WRAPPED.sub(" ", text)):
        if found and _ABBREVIATED.search(found[-1][-8:]):
            found[-1] += f" {part}"
        elif part and part.strip():
            found.append(part.strip())
    return [piece for sentence in found for piece in _cut(sentence)]


def _cut(sentence: str) -> Iterator[str]:
    words = sentence.split()
    if len(words) <= LONGEST:
        yield sentence
        return
    for start in range(0, len(words), LONGEST):
        yield " ".join(words[start : start + LONGEST])


def key(sentence: str) -> tuple[str, ...]:
    """What makes two sentences equal: their words and amounts, ignoring case and punctuation. A question
    never equals a statement.
    """
    return (*_WORD.findall(sentence.casefold()), "?" if sentence.rstrip().endswith("?") else "")


def different(first: Sequence[str], second: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """The sentences that only the first text has, that only the second has, and that both have."""
    shared = Counter(map(key, first)) & Counter(map(key, second))
    both, ones = _split(first, shared)
    _, others = _split(second, shared)
    return ones, others, both


def _split(found: Sequence[str], shared: Counter[tuple[str, ...]]) -> tuple[list[str], list[str]]:
    left = Counter(shared)
    both, own = [], []
    for sentence in found:
        if left[key(sentence)] > 0:
            left[key(sentence)] -= 1
            both.append(sentence)
        else:
            own.append(sentence)
    return both, own


def aligned(first: Sequence[str], second: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The sentences that are most alike together, each once; what is left over stands beside an empty one."""
    words = [[frozenset(key(each)) for each in text] for text in (first, second)]
    alike = sorted(
        (-2 * len(one & other) / (len(one) + len(other)), abs(a - b), a, b)
        for a, one in enumerate(words[0])
        for b, other in enumerate(words[1])
        if one & other
    )
    left = [dict(enumerate(text)) for text in (first, second)]
    for _, _, a, b in alike:
        if a in left[0] and b in left[1]:
            yield left[0].pop(a), left[1].pop(b)
    yield from ((one, "") for one in left[0].values())
    yield from (("", other) for other in left[1].values())
