"""Choosing a token from logits and a mask: the likeliest, or one drawn after llama.cpp's samplers."""

import ctypes
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import llama_cpp as C
import numpy as np
import numpy.typing as npt

from rig.engine.core.settings import Sampling
from rig.models import StepKey

_BREAKERS = ("\n", ":", '"', "*")
"""llama.cpp's tokens at which DRY stops to look back for a repetition."""

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""The memory of a `llama_token_data`."""


class ChosenToken(NamedTuple):
    """A token and the natural logarithm of its probability among the allowed tokens, before any sampler."""

    token: int
    logprob: float


class Sampler:
    """Chooses the tokens of one step. Equal settings, seed and step give equal choices from equal logits.

    The grammar masks first: samplers see the allowed tokens alone, so whatever they leave is valid. llama.cpp
    itself samples first, and once more under the mask if the grammar refuses the token; the distributions
    differ where a sampler cuts tokens off.
    """

    def __init__(self, sampling: Sampling, seed: int, key: StepKey, vocab: Any = None) -> None:
        """`vocab` is llama.cpp's of the model; without it there are no penalties."""
        self._temp = sampling.temp
        self._random = None
        digest = key.digest(seed)
        if sampling.draws:
            self._random = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))
        active = sampling.active
        # Sorting a whole vocabulary takes longer than a small model does, and top-p first needs a small part.
        self._top_p = sampling.top_p if active[:1] == ["top_p"] else None
        chained = active[self._top_p is not None :]
        self._looks_back = sampling.looks_back
        self._buffer = np.empty(0, _CANDIDATE)
        self._chain = None
        if chained not in ([], ["temperature"]) or self._top_p is not None:
            self._chain = _chain(sampling, chained, vocab, int.from_bytes(digest[:4], "big"))

    def close(self) -> None:
        """Free llama.cpp's samplers."""
        if self._chain is not None:
            C.llama_sampler_free(self._chain)
            self._chain = None

    def accept(self, tokens: Iterable[int]) -> None:
        """Let penalties know of tokens of the prompt, or of the answer, whoever chose them."""
        if self._chain is not None and self._looks_back:
            for token in [*tokens][-self._looks_back :]:
                C.llama_sampler_accept(self._chain, token)

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
        is_bare = self._random is not None and self._chain is None
        with np.errstate(invalid="ignore"):
            distances -= distances[best]
            weights = np.exp(distances, out=None if is_bare else distances)
            total = weights.sum(dtype=np.float64)
        if not np.isfinite(total):
            raise FloatingPointError("the model's logits are not numbers")
        if is_bare:
            token = int(tokens[self._draw(distances / np.float32(self._temp))])
        elif self._chain is None:
            token = int(tokens[best])
        else:
            kept = tokens if self._top_p is None else tokens[nucleus(weights, self._top_p)]
            sampled = self._apply(kept, logits[kept])
            token = int(sampled["id"][self._draw(sampled["logit"] - sampled["logit"].max())])
        return ChosenToken(token, float(logits[token] - logits[tokens[best]]) - float(np.log(total)))

    def _apply(self, tokens: npt.NDArray[np.intp], logits: npt.NDArray[np.float32]) -> npt.NDArray[np.void]:
        """What llama.cpp's samplers leave of these tokens, in their order; theirs depends on the sampler."""
        if len(self._buffer) < len(tokens):
            self._buffer = np.empty(len(tokens), _CANDIDATE)
        candidates = self._buffer[: len(tokens)]
        candidates["id"], candidates["logit"], candidates["p"] = tokens, logits, 0.0
        address = candidates.ctypes.data_as(ctypes.POINTER(C.llama_token_data))
        array = C.llama_token_data_array(address, len(candidates), -1, False)
        C.llama_sampler_apply(self._chain, ctypes.byref(array))
        # A sampler may have moved the pointer within the array (XTC does).
        first = (ctypes.addressof(array.data.contents) - candidates.ctypes.data) // _CANDIDATE.itemsize
        left = candidates[first : first + array.size]
        return left[np.argsort(left["id"], kind="stable")]

    def _draw(self, distances: npt.NDArray[np.float32]) -> int:
        """The position of a token, by logits of which the largest is 0."""
        if self._random is None:
            return int(distances.argmax())
        bounds = np.cumsum(np.exp(distances), dtype=np.float64)
        drawn = int(np.searchsorted(bounds, self._random.random() * bounds[-1], side="right"))
        return min(drawn, len(bounds) - 1)


def _chain(sampling: Sampling, names: Iterable[str], vocab: Any, seed: int) -> Any:
    """llama.cpp's samplers of these names, without a last one that draws."""
    breakers = (ctypes.c_char_p * len(_BREAKERS))(*(breaker.encode() for breaker in _BREAKERS))
    n_vocab = C.llama_vocab_n_tokens(vocab) if vocab else 0
    repeat = sampling.repeat_penalty, sampling.frequency_penalty, sampling.presence_penalty
    dry = sampling.dry_multiplier, sampling.dry_base, sampling.dry_allowed_length, sampling.dry_last_n
    xtc = sampling.xtc_probability, sampling.xtc_threshold
    samplers: dict[str, Callable[[], Any]] = {
        "penalties": lambda: C.llama_sampler_init_penalties(n_vocab, sampling.repeat_last_n, *repeat),
        "dry": lambda: C.llama_sampler_init_dry(vocab, *dry, breakers, len(_BREAKERS)),
        "top_n_sigma": lambda: C.llama_sampler_init_top_n_sigma(sampling.top_n_sigma),
        "top_k": lambda: C.llama_sampler_init_top_k(sampling.top_k),
        "typ_p": lambda: C.llama_sampler_init_typical(sampling.typical_p, 0),
        "top_p": lambda: C.llama_sampler_init_top_p(sampling.top_p, 0),
        "min_p": lambda: C.llama_sampler_init_min_p(sampling.min_p, 0),
        "xtc": lambda: C.llama_sampler_init_xtc(*xtc, 0, seed),
        "temperature": lambda: C.llama_sampler_init_temp(sampling.temp),
    }
    chain = C.llama_sampler_chain_init(C.llama_sampler_chain_default_params())
    for name in names:
        C.llama_sampler_chain_add(chain, samplers[name]())
    return chain


def nucleus(weights: npt.NDArray[np.float32], top_p: float) -> npt.NDArray[np.intp]:
    """The likeliest tokens that together have `top_p` of the weight, or just more, in ascending order.

    Equal weights go to the lowest token id; the likeliest is always among them. `top_p` is below 1.
    """
    total = weights.sum(dtype=np.float64)
    # All that is left out weighs no more than 1 - top_p, so what has less than its even share of that is left
    # out for certain, and only the few others need sorting. The factor is for rounding.
    likely = np.flatnonzero(weights >= 0.99 * (1.0 - top_p) * total / len(weights))
    order = likely[np.argsort(-weights[likely], kind="stable")]
    sorted_weights = weights[order].astype(np.float64)
    before = np.cumsum(sorted_weights) - sorted_weights
    return np.sort(order[: max(1, np.count_nonzero(before < top_p * total))])
