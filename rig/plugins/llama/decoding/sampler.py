"""Choosing a token from logits and a mask: the likeliest, or one drawn by llama.cpp's samplers.

llama.cpp's penalties and DRY are its own code, over the tokens that they can change. The other samplers use
only the logits and are written here with the same meaning: llama.cpp's sort a whole vocabulary, which takes 1
to 30 ms a token where 152,000 are allowed.
"""

import ctypes
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rig.core.models import StepKey
from rig.plugins.llama.core.llama import C
from rig.plugins.llama.core.settings import Sampling
from rig.plugins.llama.decoding.cache import Logits

_BREAKERS = ("\n", ":", '"', "*")
"""The texts at which llama.cpp's DRY stops its search back for a repetition."""

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""The memory of a `llama_token_data`."""

_BLOCK = 512
"""The number of weights that are summed at once before one of them is drawn."""

Places: TypeAlias = npt.NDArray[np.intp]
"""Positions in an array of logits, ascending."""


class ChosenToken(NamedTuple):
    """A token and the natural logarithm of its probability among the allowed tokens, before any sampler."""

    token: int
    logprob: float


class Sampler:
    """Chooses the tokens of one step. Equal settings, seed and step give equal choices from equal logits.

    The grammar masks first: samplers see only the allowed tokens, so whatever they leave is valid. llama.cpp
    itself samples first, and again under the mask if the grammar refuses the token; the distributions differ
    where a sampler cuts tokens off.
    """

    def __init__(self, sampling: Sampling, seed: int, key: StepKey, vocab: Any = None) -> None:
        """Set up the samplers. `vocab` is the model's, from llama.cpp; DRY needs it."""
        digest = key.digest(seed)
        self._sampling = sampling
        # The likeliest token needs no samplers where nothing else is asked for.
        self._active = sampling.active if sampling.active != ["temperature"] or sampling.temp else []
        self._random = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))
        self._coins = np.random.RandomState(int.from_bytes(digest[:4], "big"))
        self._recent: deque[int] = deque(maxlen=sampling.looks_back)
        kinds = [name for name in self._active if name in _PENALTIES]
        self._penalties = {name: _PENALTIES[name](sampling, vocab) for name in kinds}

    def close(self) -> None:
        """Free llama.cpp's samplers."""
        while self._penalties:
            C.llama_sampler_free(self._penalties.popitem()[1])

    def accept(self, tokens: Iterable[int]) -> None:
        """Tell the penalties about tokens of the prompt or the answer, however these were chosen."""
        if self._penalties:
            recent = [*tokens][-(self._recent.maxlen or 0) :]
            self._recent += recent
            for penalty in self._penalties.values():
                for token in recent:
                    C.llama_sampler_accept(penalty, token)

    def choose(self, logits: Logits, allowed: npt.NDArray[np.bool_]) -> ChosenToken:
        """Choose among the allowed tokens; shapes (n_vocab,). At least one must be allowed.

        Of equal logits, the lowest token id wins. The logits are not changed. Raises FloatingPointError if
        they are not numbers.
        """
        tokens = np.flatnonzero(allowed)
        values = logits[tokens]
        best = int(values.argmax())
        # Single precision, summed in double: within text nearly every token is allowed, and exponentials of a
        # large vocabulary in double precision take as long as a small model takes for the token.
        with np.errstate(invalid="ignore"):
            total = np.exp(values - values[best]).sum(dtype=np.float64)
        if not np.isfinite(total):
            raise FloatingPointError("the model's logits are not numbers")
        token = self._sampled(tokens, values) if self._active or self._sampling.temp else int(tokens[best])
        return ChosenToken(token, float(logits[token] - logits[tokens[best]]) - float(np.log(total)))

    def _sampled(self, tokens: Places, logits: Logits) -> int:
        """Return one of these tokens, which ascend, after all samplers in order."""
        sampling = self._sampling
        for name in self._active:
            if name in self._penalties:
                logits = self._penalized(self._penalties[name], tokens, logits)
            elif name == "temperature" and sampling.temp:
                logits = logits / np.float32(sampling.temp)
            elif name != "xtc" or self._tosses(len(tokens)):
                kept = _FILTERS[name](logits, sampling)
                tokens, logits = tokens[kept], logits[kept]
        return int(tokens[self._draw(logits) if sampling.temp else logits.argmax()])

    def _tosses(self, candidates: int) -> bool:
        """Return whether XTC acts on this token, by the random numbers that llama.cpp gets from the seed."""
        if candidates < 2:
            return False
        number = int.from_bytes(self._coins.bytes(4), "little")
        return bool(np.float32(number / 2**32) <= np.float32(self._sampling.xtc_probability))

    def _penalized(self, penalty: Any, tokens: Places, logits: Logits) -> Logits:
        """Return the logits after one of llama.cpp's samplers that change only those of recent tokens."""
        recent = np.unique(np.fromiter(self._recent, np.intp))
        places = np.minimum(np.searchsorted(tokens, recent), len(tokens) - 1)
        places = places[tokens[places] == recent]
        if not len(places):
            return logits
        candidates = np.zeros(len(places), _CANDIDATE)
        candidates["id"], candidates["logit"] = tokens[places], logits[places]
        address = candidates.ctypes.data_as(ctypes.POINTER(C.llama_token_data))
        array = C.llama_token_data_array(address, len(candidates), -1, False)
        C.llama_sampler_apply(penalty, ctypes.byref(array))
        changed = logits.copy()
        changed[places] = candidates["logit"]
        return changed

    def _draw(self, logits: Logits) -> int:
        """Draw a token by the logits; return its position."""
        weights = np.exp(logits - logits.max())
        blocks = np.add.reduceat(weights, np.arange(0, len(weights), _BLOCK), dtype=np.float64).cumsum()
        drawn = self._random.random() * blocks[-1]
        block = min(int(np.searchsorted(blocks, drawn, side="right")), len(blocks) - 1)
        sums = weights[block * _BLOCK : (block + 1) * _BLOCK].astype(np.float64).cumsum()
        place = int(np.searchsorted(sums, drawn - (blocks[block - 1] if block else 0.0), side="right"))
        return block * _BLOCK + min(place, len(sums) - 1)


def _penalties(sampling: Sampling, vocab: Any) -> Any:
    n_vocab = C.llama_vocab_n_tokens(vocab) if vocab else 0
    repeat = sampling.repeat_penalty, sampling.frequency_penalty, sampling.presence_penalty
    return C.llama_sampler_init_penalties(n_vocab, sampling.repeat_last_n, *repeat)


def _dry(sampling: Sampling, vocab: Any) -> Any:
    breakers = (ctypes.c_char_p * len(_BREAKERS))(*(breaker.encode() for breaker in _BREAKERS))
    dry = sampling.dry_multiplier, sampling.dry_base, sampling.dry_allowed_length, sampling.dry_last_n
    return C.llama_sampler_init_dry(vocab, *dry, breakers, len(_BREAKERS))


def top_k(logits: Logits, k: int) -> Places:
    """Return the places of the `k` likeliest tokens; of equal ones, the lowest ids."""
    if len(logits) <= k:
        return np.arange(len(logits))
    # At least k reach the k-th of the largest of each block, and few others do.
    width = max(len(logits) // (16 * k), 1)
    largest = logits[: len(logits) // width * width].reshape(-1, width).max(axis=1)
    likely = np.flatnonzero(logits >= np.partition(largest, -k)[-k])
    return np.sort(likely[np.argsort(-logits[likely], kind="stable")[:k]])


def top_p(logits: Logits, p: float) -> Places:
    """Return the places of the likeliest tokens that together reach `p` of the weight; one at least."""
    distances = logits.max() - logits
    weights = np.exp(-distances)
    bound = p * weights.sum(dtype=np.float64)
    # The tokens left out weigh no more than the rest of the total, so any that weighs less than an even share
    # of that rest is certainly left out; the factor allows for rounding.
    likely = np.flatnonzero(weights >= 0.99 * (bound / p - bound if p else 0.0) / len(weights))
    return likely[_leading(distances[likely], weights[likely], bound, "left")]


def typical(logits: Logits, p: float) -> Places:
    """Return the places of tokens whose information is closest to the entropy.

    Together they have more than `p` of the weight.
    """
    distances = np.minimum(logits.max() - logits, np.float32(200))  # the weight of more is 0
    weights = np.exp(-distances)
    total = weights.sum(dtype=np.float64)
    # Information and entropy, both less the logarithm of the total: their difference is the same.
    mean = np.float32(np.dot(weights, distances) / total)
    return _leading(np.abs(distances - mean), weights, p * total, "right")


def _leading(keys: Logits, weights: Logits, bound: float, side: Literal["left", "right"]) -> Places:
    """Return the places with the smallest keys, from 0, that reach the bound in weight; on `right`, pass it.

    Of equal keys, the lowest token id comes first.
    """
    kept = np.zeros(len(keys), bool)
    undecided, before = np.arange(len(keys)), 0.0
    if len(keys) > 4 * _BLOCK:
        # Only one of these bins has to be sorted.
        bins = (np.minimum(keys, 60) * np.float32(16)).astype(np.intp)
        sums = np.bincount(bins, weights=weights.astype(np.float64)).cumsum()
        last = min(int(np.searchsorted(sums, bound, side)), len(sums) - 1)
        kept, undecided = bins < last, np.flatnonzero(bins == last)
        before = float(sums[last - 1]) if last else 0.0
    order = undecided[np.argsort(keys[undecided], kind="stable")]
    sums = before + weights[order].astype(np.float64).cumsum()
    kept[order[: np.searchsorted(sums, bound, side) + 1]] = True
    return np.flatnonzero(kept)


def min_p(logits: Logits, p: float) -> Places:
    """Return the places of tokens at least `p` times as likely as the likeliest."""
    return np.flatnonzero(logits >= logits.max() + np.float32(np.log(p)))


def top_n_sigma(logits: Logits, n: float) -> Places:
    """Return the places of logits at most `n` standard deviations below the largest."""
    return np.flatnonzero(logits >= logits.max() - np.float32(n) * logits[np.isfinite(logits)].std())


def without_top_choices(logits: Logits, threshold: float) -> Places:
    """Return the places of all tokens less likely than `threshold`, and of the least likely other (XTC)."""
    weights = np.exp(logits - logits.max())
    above = np.flatnonzero(weights >= threshold * weights.sum(dtype=np.float64))
    kept = np.ones(len(logits), bool)
    kept[above[np.argsort(-weights[above], kind="stable")[:-1]]] = False
    return np.flatnonzero(kept)


_PENALTIES: dict[str, Callable[[Sampling, Any], Any]] = {"penalties": _penalties, "dry": _dry}
"""Functions that make the llama.cpp samplers which depend on earlier tokens, by name."""

_FILTERS: dict[str, Callable[[Logits, Sampling], Places]] = {
    "top_n_sigma": lambda logits, sampling: top_n_sigma(logits, sampling.top_n_sigma),
    "top_k": lambda logits, sampling: top_k(logits, sampling.top_k),
    "typ_p": lambda logits, sampling: typical(logits, sampling.typical_p),
    "top_p": lambda logits, sampling: top_p(logits, sampling.top_p),
    "min_p": lambda logits, sampling: min_p(logits, sampling.min_p),
    "xtc": lambda logits, sampling: without_top_choices(logits, sampling.xtc_threshold),
    "temperature": lambda logits, _: logits.argmax(axis=0, keepdims=True),
}
"""Which tokens the samplers that use only logits keep, by name; only a temperature of 0 drops any."""
