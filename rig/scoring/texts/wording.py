"""How alike two texts are worded, once days, amounts and the like are known to agree.

The embedding of a text is mostly its topic, and a near miss is on the same topic: "water the ferns" is close
to "repot the ferns". So what the texts share is set aside, and the rest is compared on its own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rig.reading.words import Word, content, missing
from rig.scoring.texts.pair import Pair, Side

ONE_SIDED = 0.5
"""How alike what is in only one text is to nothing, between "the same" (1) and "another thing" (0)."""
MOST_OMITTED = 5
LONGEST_SWAP = 2


@dataclass(frozen=True, slots=True)
class Embedded:
    """The embeddings of a text as a whole and of each of its words in it, as numpy arrays of shape (d,) and
    (words, d). Words past what the encoder reads are missing at the end.
    """

    whole: Any
    words: Any


class Embedder(Protocol):
    """Anything that embeds a text given as words."""

    def __call__(self, words: tuple[str, ...]) -> Embedded: ...


@dataclass(frozen=True, slots=True)
class Wording:
    """Coefficients of a logistic regression over `features`; fitted by benchmarks/free_text/calibrate.py."""

    intercept: float
    coefficients: Mapping[str, float]

    def __call__(self, measured: Mapping[str, float]) -> float:
        """The estimated probability that the texts mean the same, from 0 to 1."""
        z = self.intercept + sum(weight * measured[name] for name, weight in self.coefficients.items())
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, z))))


def features(pair: Pair, embed: Embedder) -> dict[str, float]:
    """What the wording is judged by.

    - `whole`: cosine of the texts' embeddings, greeting and signature left out.
    - `rest`: cosine of what only the one and only the other has, by the embeddings of those words in place.
    - `swap`: 1 - rest where the texts are equal but for one or two words in one spot, as near misses are.
    - `omitted`: content words of the one that the other, saying nothing of its own, lacks.
    - `shared`: the share of content words that both have.
    """
    first, second = pair.first, pair.second
    ones, others = pair.unshared.first, pair.unshared.second
    embedded = [embed(tuple(word.text for word in each.reading.words)) for each in (first, second)]
    rest = _rest(pair, embedded)
    total = pair.unshared.shared + len(ones) + len(others)
    return {
        "whole": cosine(embedded[0].whole, embedded[1].whole),
        "rest": rest,
        "swap": (1 - rest) * _swapped(first.content, second.content, len(ones), len(others)),
        "omitted": 0.0 if ones and others else float(min(MOST_OMITTED, len(ones) + len(others))),
        "shared": pair.unshared.shared / total if total else 0.0,
    }


def _rest(pair: Pair, embedded: Sequence[Embedded]) -> float:
    sides = (pair.first, pair.second)
    words = [_only(one, other) for one, other in (sides, sides[::-1])]
    rows = [
        [index for index, word in enumerate(side.reading.words[: len(each.words)]) if word.text in only]
        for side, each, only in zip(sides, embedded, words, strict=True)
    ]
    if not rows[0] and not rows[1]:
        return 1.0
    if not rows[0] or not rows[1]:
        return ONE_SIDED
    means = [each.words[row].mean(0) for each, row in zip(embedded, rows, strict=True)]
    return cosine(means[0], means[1])


def _only(one: Side, other: Side) -> set[str]:
    return {word.text for word in missing(content(one.plain), content(other.plain))}


def _swapped(first: Sequence[Word], second: Sequence[Word], ones: int, others: int) -> bool:
    """Whether the content is equal but for `ones` words of the one and `others` of the other, in one spot."""
    a, b = [word.stem for word in first], [word.stem for word in second]
    shorter = min(len(a), len(b))
    start = next((n for n in range(shorter) if a[n] != b[n]), shorter)
    end = next((n for n in range(shorter - start) if a[-1 - n] != b[-1 - n]), shorter - start)
    left = len(a) - start - end, len(b) - start - end
    return start + end > 0 and all(0 < n <= LONGEST_SWAP for n in left) and left == (ones, others)


def cosine(first: Any, second: Any) -> float:
    """The cosine of two numpy vectors, within [-1, 1]; 0 if one is all zeros or holds a NaN."""
    norm = math.sqrt(float(first @ first) * float(second @ second))
    value = float(first @ second) / norm if norm else 0.0
    return max(-1.0, min(1.0, value)) if math.isfinite(value) else 0.0
