"""How alike the words are that remain of two clauses, by their embeddings.

The embedding of a text is mostly its topic, and a near miss is on the same topic: "water the ferns" is close
to "repot the ferns". So what clauses share is set aside, and the rest is compared on its own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rig.reading.clauses import Atom
from rig.scoring.texts.residue import Residue

MOST_LEFT = 4


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
        """The estimated probability that the clauses mean the same, from 0 to 1."""
        z = self.intercept + sum(weight * measured[name] for name, weight in self.coefficients.items())
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, z))))


def features(found: Residue, embed: Embedder) -> dict[str, float]:
    """What the wording is judged by.

    - `whole`: cosine of the clauses' embeddings.
    - `rest`: cosine of what only the one and only the other has, by the embeddings of those words in place.
    - `alone`: cosine of those words by themselves.
    - `left`: content words that remain, of both.
    - `uneven`: how many more remain of one than of the other.
    - `shared`: the share of content words that both have.
    """
    sides = (found.first, found.second)
    embedded = [embed(tuple(atom.shown for atom in side)) for side in sides]
    means = [
        _mean(own, side, vectors) for own, side, vectors in zip(found.content, sides, embedded, strict=True)
    ]
    alone = [embed(tuple(atom.shown for atom in own)).whole for own in found.content]
    ones, others = map(len, found.content)
    total = len(found.first) + len(found.second)
    return {
        "whole": cosine(embedded[0].whole, embedded[1].whole),
        "rest": cosine(*means),
        "alone": cosine(*alone),
        "left": float(min(MOST_LEFT, ones + others)),
        "uneven": float(min(MOST_LEFT, abs(ones - others))),
        "shared": 2 * len(found.pairs) / total if total else 0.0,
    }


def _mean(own: Sequence[Atom], side: Sequence[Atom], embedded: Embedded) -> Any:
    rows = [at for at, atom in enumerate(side[: len(embedded.words)]) if any(atom is word for word in own)]
    return embedded.words[rows].mean(0) if rows else embedded.whole * 0


def cosine(first: Any, second: Any) -> float:
    """The cosine of two numpy vectors, within [-1, 1]; 0 if one is all zeros or holds a NaN."""
    norm = math.sqrt(float(first @ first) * float(second @ second))
    value = float(first @ second) / norm if norm else 0.0
    return max(-1.0, min(1.0, value)) if math.isfinite(value) else 0.0
