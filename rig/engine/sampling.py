"""Choosing a token from logits and a mask: greedy, or by temperature, min-p and top-p, seeded per step."""

import hashlib
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rig.engine.settings import EngineSettings
from rig.models import StepKey


class Choice(NamedTuple):
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

    def choose(self, logits: npt.NDArray[np.float32], allowed: npt.NDArray[np.bool_]) -> Choice:
        """Choose among the allowed tokens; shapes (n_vocab,). At least one must be allowed.

        Equal logits go to the lowest token id. The logits are not changed.
        """
        tokens = np.flatnonzero(allowed)
        values = logits[tokens].astype(np.float64)
        if np.isnan(values).any():
            raise FloatingPointError("the model's logits are not numbers")
        index = int(values.argmax()) if self._random is None else self._draw(values, self._random)
        top = values.max()
        logprob = values[index] - top - np.log(np.exp(values - top).sum())
        return Choice(int(tokens[index]), float(logprob))

    def _draw(self, values: npt.NDArray[np.float64], random: np.random.Generator) -> int:
        scaled = values / self._settings.temperature
        weights = np.exp(scaled - scaled.max())
        weights[weights < self._settings.min_p] = 0.0  # min-p counts from the likeliest, whose weight is 1
        weights /= weights.sum()
        if self._settings.top_p < 1.0:
            order = np.argsort(-weights, kind="stable")
            beyond = np.cumsum(weights[order]) - weights[order] >= self._settings.top_p
            weights[order[beyond]] = 0.0
            weights /= weights.sum()
        return int(random.choice(len(weights), p=weights))
