"""Tokens are chosen as by llama.cpp: compared with vectors, twins in numpy, and llama.cpp's own chain."""

import ctypes
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import llama_cpp as C
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from rig.core.models import StepKey
from rig.plugins.llama.core.settings import SAMPLERS, Sampling
from rig.plugins.llama.decoding import sampler as samplers
from rig.plugins.llama.decoding.sampler import ChosenToken, Sampler

KEY = StepKey("c", 1, 0)
LOGITS = np.array([1.0, 3.0, 3.0, 2.0, 9.0], dtype=np.float32)
ALLOWED = np.array([1, 1, 1, 1, 0], dtype=bool)
FIVE = np.array([2.0, 1.0, 0.0, -1.0, -2.0], dtype=np.float32)
"""The logits of the vectors, with the probabilities .63641 .23412 .08613 .03168 .01166."""

Floats = npt.NDArray[np.float32]


def sampler_of(seed: int = 0, key: StepKey = KEY, **values: Any) -> Sampler:
    return Sampler(Sampling.model_validate(values), seed, key)


def choose(logits: Floats, allowed: Any, **values: Any) -> ChosenToken:
    return sampler_of(**values).choose(logits, allowed)


def draws(n: int = 400, **values: Any) -> list[int]:
    sampler = sampler_of(**values)
    return [sampler.choose(LOGITS, ALLOWED).token for _ in range(n)]


def shares(n: int, logits: Floats, accepted: Sequence[int] = (), **values: Any) -> npt.NDArray[np.float64]:
    sampler = sampler_of(**values)
    sampler.accept(accepted)
    everything = np.ones(len(logits), bool)
    drawn = [sampler.choose(logits, everything).token for _ in range(n)]
    return np.bincount(drawn, minlength=len(logits)) / n


# The twin: what each sampler makes of logits by token, -inf for what it drops.


def softmax(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def only(logits: Floats, kept: Any) -> Floats:
    out = np.full_like(logits, -np.inf)
    out[kept] = logits[kept]
    return out


def top_p(logits: Floats, p: float) -> Floats:
    order = np.argsort(-logits, kind="stable")
    sums = np.cumsum(softmax(logits)[order])
    return only(logits, order[: int(np.argmax(sums >= p)) + 1]) if p < 1 else logits


def typical(logits: Floats, p: float) -> Floats:
    shares = softmax(logits)
    inside = shares > 0
    surprise = np.where(inside, -np.log(np.where(inside, shares, 1)), np.inf)
    entropy = float((shares[inside] * surprise[inside]).sum())
    order = np.argsort(np.abs(surprise - entropy), kind="stable")
    sums = np.cumsum(shares[order])
    last = int(np.argmax(sums > p)) if (sums > p).any() else len(order) - 1
    return only(logits, order[: last + 1])


def top_n_sigma(logits: Floats, n: float) -> Floats:
    there = logits[np.isfinite(logits)]
    return np.where(logits >= there.max() - n * there.std(), logits, -np.inf)


def xtc(logits: Floats, threshold: float) -> Floats:
    order = np.argsort(-logits, kind="stable")
    above = int((softmax(logits)[order] >= threshold).sum())
    return only(logits, order[max(above - 1, 0) :])


TWINS: dict[str, tuple[dict[str, float], Callable[[Floats], Floats]]] = {
    "top_k": ({"top_k": 3}, lambda logits: only(logits, np.argsort(-logits, kind="stable")[:3])),
    "top_p": ({"top_p": 0.8}, lambda logits: top_p(logits, 0.8)),
    "min_p": ({"min_p": 0.1}, lambda logits: only(logits, logits >= logits.max() + np.log(0.1))),
    "typ_p": ({"typical_p": 0.7}, lambda logits: typical(logits, 0.7)),
    "top_n_sigma": ({"top_n_sigma": 1.0}, lambda logits: top_n_sigma(logits, 1.0)),
    "xtc": ({"xtc_probability": 1.0, "xtc_threshold": 0.1}, lambda logits: xtc(logits, 0.1)),
    "temperature": ({"temp": 0.6}, lambda logits: logits / np.float32(0.6)),
}
"""Each sampler with a setting, and what it does to logits."""


def chi_square(drawn: npt.NDArray[np.float64], expected: Floats, n: int) -> float:
    """By how many standard deviations the draws are too far off; infinite if the impossible was drawn."""
    possible = expected * n >= 5
    if drawn[expected == 0].any():
        return float("inf")
    statistic = float(((drawn[possible] - expected[possible]) ** 2 / expected[possible]).sum() * n)
    freedom = max(int(possible.sum()) - 1, 1)
    return (statistic - freedom) / (2 * freedom) ** 0.5


DRAWS = 100_000


def shares_of_llama_cpp(n: int, logits: Floats, **values: Any) -> npt.NDArray[np.float64]:
    """What llama.cpp's own chain draws, with its own random numbers."""
    chain = llama_cpps_chain(Sampling.model_validate(values), xtc=True)
    C.llama_sampler_chain_add(chain, C.llama_sampler_init_dist(11))
    drawn = np.zeros(len(logits))
    candidates = np.empty(len(logits), np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)]))
    data = candidates.ctypes.data_as(ctypes.POINTER(C.llama_token_data))
    for _ in range(n):
        candidates["id"], candidates["logit"] = np.arange(len(logits)), logits
        array = C.llama_token_data_array(data, len(logits), -1, False)
        C.llama_sampler_apply(chain, ctypes.byref(array))
        drawn[array.data[array.selected].id] += 1
    C.llama_sampler_free(chain)
    return drawn / n


@pytest.mark.slow
@pytest.mark.parametrize("draw", [shares, shares_of_llama_cpp])
@pytest.mark.parametrize("name", TWINS)
def test_each_sampler_draws_from_its_twins_distribution(name: str, draw: Callable[..., Any]) -> None:
    values, twin = TWINS[name]
    logits = np.random.default_rng(3).normal(scale=2, size=30).astype(np.float32)
    drawn = draw(DRAWS, logits, **{"temp": 1.0, **values})
    assert chi_square(drawn, softmax(twin(logits)), DRAWS) < 4


@pytest.mark.slow
@pytest.mark.parametrize("draw", [shares, shares_of_llama_cpp])
def test_all_together_draw_from_the_twins_in_order(draw: Callable[..., Any]) -> None:
    logits = np.random.default_rng(4).normal(scale=2, size=40).astype(np.float32)
    # XTC at its full probability, with a threshold that leaves something to drop.
    values: dict[str, float] = {
        "top_n_sigma": 2.0,
        "top_k": 12,
        "typical_p": 0.97,
        "top_p": 0.9,
        "min_p": 0.05,
    }
    values |= {"xtc_probability": 1.0, "xtc_threshold": 0.2, "temp": 1.4}
    expected = top_n_sigma(logits, 2.0)
    expected = only(expected, np.argsort(-expected, kind="stable")[:12])
    expected = xtc(only(t := top_p(typical(expected, 0.97), 0.9), t >= t.max() + np.log(0.05)), 0.2)
    assert chi_square(draw(DRAWS, logits, **values), softmax(expected / np.float32(1.4)), DRAWS) < 4


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ({"top_k": 2}, [0, 1]),
        ({"top_p": 0.8}, [0, 1]),
        ({"top_p": 0.0}, [0]),
        ({"top_k": 5, "top_p": 0.8}, [0, 1]),
        ({"top_k": 5, "top_p": 0.0}, [0]),
        ({"min_p": 0.2}, [0, 1]),
        ({"typical_p": 0.5}, [0, 1]),
        ({"top_n_sigma": 1.0}, [0, 1]),
        ({"xtc_probability": 1.0, "xtc_threshold": 0.1}, [1, 2, 3, 4]),
    ],
)
def test_vectors_of_what_is_left(values: dict[str, float], kept: list[int]) -> None:
    drawn = shares(4000, FIVE, temp=1.0, **values)
    assert np.flatnonzero(drawn).tolist() == kept


@pytest.mark.slow
def test_penalties_count_what_came_before_and_stop_at_their_length() -> None:
    values = {"repeat_penalty": 2.0, "frequency_penalty": 0.5, "presence_penalty": 0.25}
    long = np.array([-0.25, 1.0, 0.0, -2.75, -2.0], np.float32)
    short = np.array([2.0, 1.0, 0.0, -2.75, -2.0], np.float32)
    n = DRAWS
    assert chi_square(shares(n, FIVE, (0, 0, 3), temp=1.0, **values), softmax(long), n) < 4
    assert chi_square(shares(n, FIVE, (0, 0, 3), temp=1.0, repeat_last_n=1, **values), softmax(short), n) < 4


def test_a_greedy_choice_can_be_penalized() -> None:
    assert shares(1, FIVE, (0,), temp=0.0, presence_penalty=1.5).tolist() == [0, 1, 0, 0, 0]


def test_only_what_the_grammar_allows_is_ever_sampled() -> None:
    random = np.random.default_rng(5)
    logits = random.normal(scale=3, size=500).astype(np.float32)
    for place in range(60):
        allowed = random.random(500) < random.choice([0.01, 0.3, 0.9])
        allowed[place] = True
        logits[~allowed] += 5  # what is likeliest is not allowed
        for values, _ in TWINS.values():
            assert allowed[choose(logits, allowed, **{"temp": 1.0, **values}).token]


def llama_cpps_chain(values: Sampling, *, xtc: bool = False) -> Any:
    """llama.cpp's own default chain, built apart from rig's; with XTC, which draws for itself, or without."""
    chain = C.llama_sampler_chain_init(C.llama_sampler_chain_default_params())
    for sampler in (
        C.llama_sampler_init_top_n_sigma(values.top_n_sigma),
        C.llama_sampler_init_top_k(values.top_k),
        C.llama_sampler_init_typical(values.typical_p, 0),
        C.llama_sampler_init_top_p(values.top_p, 0),
        C.llama_sampler_init_min_p(values.min_p, 0),
        *([C.llama_sampler_init_xtc(values.xtc_probability, values.xtc_threshold, 0, 5)] if xtc else []),
        C.llama_sampler_init_temp(values.temp),
    ):
        C.llama_sampler_chain_add(chain, sampler)
    return chain


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    values=st.fixed_dictionaries(
        {
            "temp": st.sampled_from([0.0, 0.6, 1.0, 1.5]),
            "top_k": st.sampled_from([0, 1, 5, 40]),
            "top_p": st.sampled_from([1.0, 0.95, 0.5, 0.05]),
            "min_p": st.sampled_from([0.0, 0.05, 0.5]),
            "typical_p": st.sampled_from([1.0, 0.8]),
            "top_n_sigma": st.sampled_from([-1.0, 1.0]),
        }
    ),
)
def test_what_can_be_drawn_is_what_llama_cpps_chain_leaves(seed: int, values: dict[str, float]) -> None:
    if values["top_n_sigma"] > 0:
        # llama.cpp's typical-p makes NaN of what top-n-sigma leaves with a logit of minus infinity.
        values = {**values, "typical_p": 1.0}
    logits = np.random.default_rng(seed).normal(scale=3, size=60).astype(np.float32)
    data = (C.llama_token_data * 60)(*((token, logit, 0.0) for token, logit in enumerate(logits)))
    array = C.llama_token_data_array(data, 60, -1, False)
    chain = llama_cpps_chain(Sampling.model_validate(values))
    C.llama_sampler_apply(chain, ctypes.byref(array))
    left = {array.data[place].id: array.data[place].logit for place in range(array.size)}
    C.llama_sampler_free(chain)
    expected = np.array([left.get(token, -np.inf) for token in range(60)], np.float32)
    n = 1000
    assert chi_square(shares(n, logits, **values), softmax(expected), n) < 6


def test_greedy_takes_the_likeliest_allowed_token_and_the_lowest_id_of_equals() -> None:
    choice = choose(LOGITS, ALLOWED, temp=0)
    weights = np.exp(LOGITS[:4].astype(float))
    assert choice.token == 1
    assert choice.logprob == pytest.approx(np.log(weights[1] / weights.sum()))


@pytest.mark.parametrize("values", [{}, {"top_p": 0.5, "min_p": 0.1}, {"top_k": 2, "repeat_penalty": 1.3}])
def test_logits_are_left_alone_and_log_probabilities_are_the_models_own(values: dict[str, float]) -> None:
    before = LOGITS.copy()
    choice = choose(LOGITS, ALLOWED, temp=1.0, **values)
    assert (before == LOGITS).all()
    exact = LOGITS[:4].astype(float)
    assert choice.logprob == pytest.approx(exact[choice.token] - np.log(np.exp(exact).sum()), abs=1e-6)


def test_sampling_follows_the_distribution() -> None:
    counts = np.bincount(draws(8000, temp=1.0), minlength=5) / 8000
    weights = np.exp(LOGITS[:4].astype(float))
    assert counts[4] == 0
    assert counts[:4] == pytest.approx(weights / weights.sum(), abs=0.03)


@pytest.mark.parametrize("values", [{}, {"xtc_probability": 0.5, "xtc_threshold": 0.05}, {"top_k": 4}])
def test_seeds_are_a_matter_of_the_step_alone(values: dict[str, float]) -> None:
    keys = [KEY, StepKey("c", 1, 1), StepKey("c", 3, 0), StepKey("d", 1, 0), StepKey("c", 1, 0, 1)]

    def series(key: StepKey, seed: int = 7) -> tuple[int, ...]:
        sampler = sampler_of(seed, key, temp=1.0, **values)
        return tuple(sampler.choose(LOGITS, ALLOWED).token for _ in range(50))

    assert series(KEY) == series(KEY)
    assert len({series(key) for key in keys}) == len(keys)
    assert series(KEY, 8) != series(KEY)


@pytest.mark.parametrize("fault", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("values", [{"temp": 0}, {"temp": 1.0}, {"top_k": 2}])
def test_logits_that_are_no_numbers_are_refused(fault: float, values: dict[str, float]) -> None:
    with pytest.raises(FloatingPointError):
        choose(np.full(5, fault, dtype=np.float32), ALLOWED, **values)


@pytest.mark.parametrize("values", [{}, {"top_k": 4}, {"typical_p": 0.9}, {"top_n_sigma": 3.0}])
def test_tokens_that_the_model_itself_excludes_are_left_out(values: dict[str, float]) -> None:
    logits = np.array([-np.inf, 1.0, 1.0, -np.inf, 0.0], dtype=np.float32)
    choice = choose(logits, ALLOWED, temp=1.0, **values)
    assert choice.token in (1, 2)
    assert choice.logprob == pytest.approx(np.log(0.5))


@given(
    st.lists(st.sampled_from([-30.0, -8.0, -1.0, 0.0, 0.1, 2.5]) | st.floats(-20, 20), min_size=1),
    st.floats(0.01, 0.99),
)
def test_the_nucleus_is_that_of_sorting_everything(values: list[float], share: float) -> None:
    logits = np.array(values, dtype=np.float32)
    weights = np.exp(logits - logits.max())
    order = sorted(range(len(weights)), key=lambda index: (-logits[index], index))
    kept, sum_before, total = [], 0.0, float(weights.sum(dtype=np.float64))
    for index in order:
        if sum_before < share * total:
            kept.append(index)
        sum_before += float(weights[index])
    assert samplers.top_p(logits, share).tolist() == sorted(kept)


@pytest.mark.parametrize("scale", [0.3, 2.0, 5.0])
def test_a_large_vocabulary_is_cut_as_by_llama_cpps_own_samplers(scale: float) -> None:
    """Only at the edge of what is kept may single and double precision disagree, on next to no weight."""
    logits = np.random.default_rng(6).normal(scale=scale, size=152_000).astype(np.float32)
    logits[:40] += 8 * scale / 2
    weights = softmax(logits)
    for name, setting, kept in (
        ("top_k", 40, samplers.top_k(logits, 40)),
        ("top_k", 60_000, samplers.top_k(logits, 60_000)),
        ("top_p", 0.95, samplers.top_p(logits, 0.95)),
        ("typical", 0.9, samplers.typical(logits, 0.9)),
        ("min_p", 0.05, samplers.min_p(logits, 0.05)),
        ("top_n_sigma", 1.0, samplers.top_n_sigma(logits, 1.0)),
    ):
        least = (0,) if name in ("top_p", "typical", "min_p") else ()
        sampler = getattr(C, f"llama_sampler_init_{name}")(setting, *least)
        left = left_by_llama_cpp(sampler, logits)
        C.llama_sampler_free(sampler)
        assert float(weights[np.setxor1d(kept, left)].sum()) < 5e-4, name
        assert 0 < len(kept) < len(logits), name


def left_by_llama_cpp(sampler: Any, logits: Floats) -> npt.NDArray[np.int32]:
    """The tokens that a sampler of llama.cpp leaves, in ascending order."""
    candidates = np.zeros(len(logits), np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)]))
    candidates["id"], candidates["logit"] = np.arange(len(logits)), logits
    data = candidates.ctypes.data_as(ctypes.POINTER(C.llama_token_data))
    array = C.llama_token_data_array(data, len(logits), -1, False)
    C.llama_sampler_apply(sampler, ctypes.byref(array))
    first = (ctypes.addressof(array.data.contents) - candidates.ctypes.data) // candidates.dtype.itemsize
    left = candidates[first : first + array.size]
    return np.sort(left["id"][np.isfinite(left["logit"])])


def test_xtc_acts_on_the_very_tokens_that_llama_cpps_acts_on() -> None:
    """Its random numbers are llama.cpp's, so that runs begun with that go on as they began."""
    logits = np.array([3.0, 2.5, 0.0], np.float32)
    values = {"temp": 0.0, "xtc_probability": 0.4, "xtc_threshold": 0.1}
    own = sampler_of(9, **values)
    seed = int.from_bytes(KEY.digest(9)[:4], "big")
    theirs = C.llama_sampler_init_xtc(0.4, 0.1, 0, seed)
    for _ in range(200):
        token = own.choose(logits, np.ones(3, bool)).token
        assert token == left_by_llama_cpp(theirs, logits)[0]
    C.llama_sampler_free(theirs)
    assert Sampling.model_validate(values).draws


def test_log_probabilities_hold_over_a_large_vocabulary() -> None:
    random = np.random.default_rng(1)
    logits = random.normal(scale=4, size=250_000).astype(np.float32)
    allowed = random.random(250_000) < 0.9
    choice = choose(logits, allowed, temp=0)
    exact = logits.astype(np.float64)[allowed]
    assert choice.token == int(np.where(allowed, logits, -np.inf).argmax())
    assert choice.logprob == pytest.approx(exact.max() - np.logaddexp.reduce(exact), abs=1e-6)


def test_settings_go_by_the_names_of_files_too() -> None:
    file = {"temperature": 0.6, "repetition_penalty": 1.05, "typ_p": 0.9, "penalty_last_n": "32"}
    same = {"temp": 0.6, "repeat_penalty": 1.05, "typical_p": 0.9, "repeat_last_n": 32}
    assert Sampling.model_validate(file) == Sampling.model_validate(same)
    assert Sampling.model_validate(file).changed == same
    assert str(Sampling(temp=0.6, top_k=20)) == "temp=0.6,top_k=20"


@pytest.mark.parametrize(
    "values",
    [
        {"temp": -1},
        {"temp": 1e-9},
        {"top_p": 2},
        {"top_k": 1.5},
        {"min_p": "nan"},
        {"warmth": 1},
        {"samplers": "x"},
    ],
)
def test_settings_that_are_none_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Sampling.model_validate(values)


def test_samplers_work_in_the_order_that_is_asked_for() -> None:
    first = {"temp": 0.5, "top_p": 0.8, "samplers": "temperature;top_p"}
    assert Sampling.model_validate(first).active == ["temperature", "top_p"]
    assert np.flatnonzero(shares(2000, FIVE, **first)).tolist() == [0]
    assert np.flatnonzero(shares(2000, FIVE, temp=0.5, top_p=0.8)).tolist() == [0, 1]
    assert all(
        SAMPLERS.index(one) < SAMPLERS.index(other) for one, other in pairwise(Sampling().samplers.split(";"))
    )


@pytest.mark.parametrize(
    ("values", "random"),
    [
        ({"temp": 0.0, "top_k": 3, "samplers": "top_k"}, False),
        ({"temp": 0.0, "min_p": 0.01, "samplers": "min_p;top_p"}, False),
        ({"temp": 0.8, "top_k": 1, "samplers": "temperature"}, True),
        ({"temp": 0.8, "top_k": 1, "samplers": "temperature;top_k"}, False),
    ],
)
def test_a_sampler_that_is_left_out_decides_nothing(values: dict[str, Any], random: bool) -> None:
    assert Sampling.model_validate(values).draws is random
    assert (len(set(draws(100, **values))) > 1) is random
