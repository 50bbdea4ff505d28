"""Choosing a token from logits and a mask: greedy, or by temperature, min-p and top-p, seeded per step."""

import hashlib
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rig.engine.core.settings import EngineSettings
from rig.models import StepKey


class ChosenToken(NamedTuple):
    """A token and the natural logarithm of its probability among the allowed tokens, before temperature."""

    token: int
    logprob: float


class Sampler:
    """Chooses the tokens of one step. Equal settings, seed and step give equal choices from equal logits."""

    def __init__(self, settings: EngineSettings, key: StepKey) -> None:
        self._settings = settings
        self._random = None
        if settings.temperature > 0:
            name = f"{settings.seed}/{key.conversation}/{key.turn}/{key.step}/{key.repeat}"
            digest = hashlib.blake2b(name.encode(), digest_size=16).digest()
            self._random = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))

    def choose(self, logits: npt.NDArray[np.float32], allowed: npt.NDArray[np.bool_]) -> ChosenToken:
        """Choose among the allowed tokens; shapes (n_vocab,). At least one must be allowed.

        Equal logits go to the lowest token id. The logits are not changed. Raises FloatingPointError if
        they are not numbers.
        """
        tokens = np.flatnonzero(allowed)
        distances = logits[tokens]
        best = int(distances.argmax())
        # Single precision, summed in double, in place where that is possible: within text nearly every token
        # is allowed, and exponentials of a large vocabulary in double precision take as long as a small model
        # takes for the token.
        with np.errstate(invalid="ignore"):
            distances -= distances[best]
            total = np.exp(distances, out=distances if self._random is None else None).sum(dtype=np.float64)
        if not np.isfinite(total):
            raise FloatingPointError("the model's logits are not numbers")
        if self._random is None:
            return ChosenToken(int(tokens[best]), 0.0 - float(np.log(total)))
        index = self._draw(distances, self._random)
        return ChosenToken(int(tokens[index]), float(distances[index]) - float(np.log(total)))

    def _draw(self, distances: npt.NDArray[np.float32], random: np.random.Generator) -> int:
        weights = np.exp(distances / np.float32(self._settings.temperature))
        # min-p counts from the likeliest, whose weight is 1
        kept = np.flatnonzero(weights >= self._settings.min_p)
        if self._settings.top_p < 1.0:
            kept = kept[nucleus(weights[kept], self._settings.top_p)]
        bounds = np.cumsum(weights[kept], dtype=np.float64)
        drawn = int(np.searchsorted(bounds, random.random() * bounds[-1], side="right"))
        return int(kept[min(drawn, len(kept) - 1)])


def margin(logits: npt.NDArray[np.float32], allowed: npt.NDArray[np.bool_]) -> float:
    """How far the best of the allowed tokens is above the second; infinite where there is no second."""
    values = logits[allowed]
    best = int(values.argmax())
    top, values[best] = values[best], -np.inf
    return float(top - values.max())


def nucleus(weights: npt.NDArray[np.float32], top_p: float) -> npt.NDArray[np.intp]:
    """The likeliest tokens that together have `top_p` of the weight, or just more, in ascending order.

    Equal weights go to the lowest token id. `top_p` is below 1.
    """
    total = weights.sum(dtype=np.float64)
    # All that is left out weighs no more than 1 - top_p, so what has less than its even share of that is left
    # out for certain, and only the few others need sorting. The factor is for rounding.
    likely = np.flatnonzero(weights >= 0.99 * (1.0 - top_p) * total / len(weights))
    order = likely[np.argsort(-weights[likely], kind="stable")]
    sorted_weights = weights[order].astype(np.float64)
    before = np.cumsum(sorted_weights) - sorted_weights
    return np.sort(order[before < top_p * total])
