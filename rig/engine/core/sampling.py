"""A token chosen from logits, and a given answer as a model sees it. Reading this loads no llama.cpp."""

import hashlib
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from rig.engine.core.settings import EngineSettings
from rig.models import StepKey

Kind = Literal["answer", "tool", "parameter", "value"]
"""What a token decides: to call or to reply, which tool, which parameter comes or ends, what it is given."""


class Choice(NamedTuple):
    """A token of an answer where the grammar left a choice, and what the model makes of it.

    `start` is the byte of the answer where it begins. `logprob` is the natural logarithm of its probability
    among the `allowed` tokens. `rank` of them are likelier (equally likely ones count by id, as in greedy
    decoding). `top` is the likeliest, and `agrees` says whether its text is the answer's: other tokens can
    have the same text.
    """

    token: int
    start: int
    kind: Kind
    logprob: float
    rank: int
    top: int
    agrees: bool
    allowed: int


@dataclass(frozen=True, slots=True)
class Assessment:
    """A given answer as a model sees it: the tokens that were open, in order, and how many were not.

    Of a reply (`is_reply`), whose words could be any, it ends with the decision to reply. `fault` says why
    there is nothing to be said about an answer.
    """

    is_reply: bool
    choices: tuple[Choice, ...] = ()
    forced: int = 0
    prompt_tokens: int = 0
    computed_tokens: int = 0
    fault: str | None = None

    @property
    def logprob(self) -> float:
        """Of the whole answer."""
        return sum(choice.logprob for choice in self.choices)

    @property
    def is_greedy(self) -> bool:
        """Whether what greedy decoding takes goes on with this very call everywhere, or begins a reply.

        By text, since there can be other tokens for it: `"}` and `}` for `"` and `}}`.
        """
        return self.fault is None and all(choice.agrees for choice in self.choices)


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
