import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.engine.core.sampling import Sampler, nucleus
from rig.engine.core.settings import EngineSettings
from rig.models import StepKey

KEY = StepKey("c", 1, 0)
LOGITS = np.array([1.0, 3.0, 3.0, 2.0, 9.0], dtype=np.float32)
ALLOWED = np.array([1, 1, 1, 1, 0], dtype=bool)


def draws(n: int = 400, **settings: float) -> list[int]:
    sampler = Sampler(EngineSettings(**settings), KEY)  # type: ignore[arg-type]
    return [sampler.choose(LOGITS, ALLOWED).token for _ in range(n)]


def test_greedy_takes_the_likeliest_allowed_token_and_the_lowest_id_of_equals() -> None:
    choice = Sampler(EngineSettings(), KEY).choose(LOGITS, ALLOWED)
    weights = np.exp(LOGITS[:4].astype(float))
    assert choice.token == 1
    assert choice.logprob == pytest.approx(np.log(weights[1] / weights.sum()))


def test_logits_are_left_alone() -> None:
    before = LOGITS.copy()
    draws(temperature=1.0, top_p=0.5, min_p=0.1)
    assert (before == LOGITS).all()


def test_sampling_follows_the_distribution() -> None:
    counts = np.bincount(draws(8000, temperature=1.0), minlength=5) / 8000
    weights = np.exp(LOGITS[:4].astype(float))
    assert counts[4] == 0
    assert counts[:4] == pytest.approx(weights / weights.sum(), abs=0.03)


@pytest.mark.parametrize(
    ("settings", "possible"),
    [
        ({"temperature": 1.0, "min_p": 0.5}, {1, 2}),
        ({"temperature": 1.0, "min_p": 0.3}, {1, 2, 3}),
        ({"temperature": 1.0, "top_p": 0.3}, {1}),
        ({"temperature": 1.0, "top_p": 0.6}, {1, 2}),
        ({"temperature": 1e-3}, {1, 2}),
    ],
)
def test_truncation_keeps_the_likeliest(settings: dict[str, float], possible: set[int]) -> None:
    assert set(draws(**settings)) == possible


def test_seeds_are_a_matter_of_the_step_alone() -> None:
    settings = EngineSettings(temperature=1.0, seed=7)
    keys = [KEY, StepKey("c", 1, 1), StepKey("c", 3, 0), StepKey("d", 1, 0), StepKey("c", 1, 0, 1)]

    def series(key: StepKey) -> tuple[int, ...]:
        sampler = Sampler(settings, key)
        return tuple(sampler.choose(LOGITS, ALLOWED).token for _ in range(50))

    assert series(KEY) == series(KEY)
    assert len({series(key) for key in keys}) == len(keys)
    assert tuple(draws(50, temperature=1.0, seed=8)) != series(KEY)


@pytest.mark.parametrize("fault", [np.nan, np.inf, -np.inf])
def test_logits_that_are_no_numbers_are_refused(fault: float) -> None:
    with pytest.raises(FloatingPointError):
        Sampler(EngineSettings(), KEY).choose(np.full(5, fault, dtype=np.float32), ALLOWED)


def test_tokens_that_the_model_itself_excludes_are_left_out() -> None:
    logits = np.array([-np.inf, 1.0, 1.0, -np.inf, 0.0], dtype=np.float32)
    choice = Sampler(EngineSettings(temperature=1.0), KEY).choose(logits, ALLOWED)
    assert choice.token in (1, 2)
    assert choice.logprob == pytest.approx(np.log(0.5))


@given(
    st.lists(st.sampled_from([-30.0, -8.0, -1.0, 0.0, 0.1, 2.5]) | st.floats(-20, 20), min_size=1),
    st.floats(0.01, 0.99),
)
def test_the_nucleus_is_that_of_sorting_everything(values: list[float], top_p: float) -> None:
    weights = np.exp(np.array(values, dtype=np.float32) - np.float32(max(values)))
    expected = by_sorting(weights, top_p)
    assert nucleus(weights, top_p).tolist() == expected


def by_sorting(weights: npt.NDArray[np.float32], top_p: float) -> list[int]:
    order = sorted(range(len(weights)), key=lambda index: (-weights[index], index))
    kept, sum_before, total = [], 0.0, float(weights.sum(dtype=np.float64))
    for index in order:
        if sum_before < top_p * total:
            kept.append(index)
        sum_before += float(weights[index])
    return sorted(kept)


def test_log_probabilities_hold_over_a_large_vocabulary() -> None:
    random = np.random.default_rng(1)
    logits = random.normal(scale=4, size=250_000).astype(np.float32)
    allowed = random.random(250_000) < 0.9
    choice = Sampler(EngineSettings(), KEY).choose(logits, allowed)
    exact = logits.astype(np.float64)[allowed]
    assert choice.token == int(np.where(allowed, logits, -np.inf).argmax())
    assert choice.logprob == pytest.approx(exact.max() - np.logaddexp.reduce(exact), abs=1e-6)
