"""Figures of screens by hand: what is a mean of what, and what there is where nothing can be compared."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.core.errors import RigError
from rig.core.models import StepKey
from rig.plugins.llama.core.assessment import Assessment, Choice
from rig.plugins.screen.divergence import TokenDivergence
from rig.plugins.screen.results import KINDS, ArmScreen, Screen, ScreenedStep, ScreenedToken, TurnKey, by_turn
from rig.plugins.screen.screening import knowing
from rig.plugins.screen.verb import screen_text


def choice(logprob: float = -1.0, rank: int = 0, kind: Any = "value") -> Choice:
    return Choice(5, 0, kind, logprob, rank, 5, rank == 0, 3)


def step(
    conversation: str, turn: int, number: int = 0, *choices: Choice, fault: str | None = None, **more: Any
) -> ScreenedStep:
    made = Assessment(False, choices, 4) if fault is None else Assessment(False, (), 0, fault=fault)
    return ScreenedStep(StepKey(conversation, turn, number), turn, "T", made, **more)


def arm(*steps: ScreenedStep, name: str = "x") -> ArmScreen:
    return ArmScreen(name, {"file_sha256": name}, steps, 1.0)


RANKS = st.lists(st.tuples(st.floats(-9, 0), st.integers(0, 50)), min_size=1, max_size=6)


@given(RANKS)
def test_figures_of_a_kind_are_means_over_its_choices(values: list[tuple[float, int]]) -> None:
    found = arm(step("c", 1, 0, *(choice(*each) for each in values))).kind("value")
    assert found.choices == len(values)
    assert found.logprob == pytest.approx(sum(each for each, _ in values) / len(values))
    assert found.top1 == pytest.approx(sum(rank == 0 for _, rank in values) / len(values))
    assert found.mrr is not None
    assert found.top1 is not None
    assert found.top1 <= found.mrr <= 1
    assert (found.constrained_kl, found.same_top) == (None, None)


@given(RANKS, st.floats(-3, 3))
def test_a_model_is_as_much_better_as_its_calls_are_likelier(
    values: list[tuple[float, int]], more: float
) -> None:
    base = arm(*(step(str(n), 1, 0, choice(each)) for n, (each, _) in enumerate(values)))
    other = arm(*(step(str(n), 1, 0, choice(each + more)) for n, (each, _) in enumerate(values)))
    found, back = other.less_than(base), base.less_than(other)
    assert found is not None
    assert back is not None
    assert found.value == pytest.approx(more, abs=1e-9)
    assert back.value == pytest.approx(-more, abs=1e-9)
    if len(values) == 1:
        assert (found.low, found.high) == (None, None)


def test_only_calls_that_both_assessed_are_compared() -> None:
    base = arm(step("a", 1, 0, choice(-1)), step("b", 1, fault="too long"))
    other = arm(step("a", 1, fault="no grammar"), step("b", 1, 0, choice(-2)))
    assert other.less_than(base) is None
    assert (base.faults, other.faults) == ({"too long": 1}, {"no grammar": 1})
    assert [len(each.assessed) for each in (base, other)] == [1, 1]


def test_a_turn_counts_only_as_a_whole() -> None:
    found = arm(step("a", 1, 0, choice()), step("a", 1, 1, fault="x"), step("a", 3, 0, choice()))
    assert [key for key, _ in by_turn(found)] == [TurnKey("a", 3)]
    assert list(by_turn(arm())) == []


def test_an_interval_of_divergences_ends_at_zero() -> None:
    """Student's interval of two conversations that differ much would go on below."""
    tokens = [TokenDivergence(1.0, 1.0, kld, True) for kld in (0.01, 0.9)]
    steps = [
        step(str(n), 1, 0, choice(), tokens=(ScreenedToken("value", each),)) for n, each in enumerate(tokens)
    ]
    figures = arm(*steps).divergence()
    assert figures is not None
    assert figures.kld_interval is not None
    assert figures.kld_interval.low == 0
    assert figures.kld_interval.value == pytest.approx(0.455)


def test_a_model_that_begins_few_calls_in_its_form_is_named() -> None:
    """Such a model may write its calls in another form, which screening does not ask for."""
    leaking = arm(step("a", 1, 0, choice(-5, 3, "answer")), name="leaking")
    calling = arm(step("a", 1, 0, choice(-1, 0, "answer")), name="calling")
    lines = screen_text(Screen((leaking, calling), ("a",), {})).split("\n")
    [note] = [line for line in lines if "own form" in line]
    assert note.startswith("calls begin in the model's own form in 0.0% of true calls or less (leaking);")


def test_a_screen_says_everything_by_name_and_steps_if_asked() -> None:
    base = arm(step("a", 1, 0, choice()), name="base")
    other = arm(step("a", 1, 0, choice(-3), divergences=(0.5,), same_top=(True,)), name="other")
    screen = Screen((base, other), ("a",), {"limit": 1})
    told = screen.as_json()
    assert (told["base"], told["conversations"], told["settings"]) == ("base", ["a"], {"limit": 1})
    assert [each["arm"] for each in told["arms"]] == ["base", "other"]
    assert "steps" not in told["arms"][0]
    assert told["arms"][0]["difference"] is None
    assert told["arms"][1]["difference"] == {"value": -2.0, "low": None, "high": None}
    assert set(told["arms"][0]["kinds"]) == set(KINDS)
    [written] = screen.as_json(steps=True)["arms"][1]["steps"]
    assert (written["answer"], written["tool"], written["logprob"]) == ("call", "T", -3)
    assert [(each["constrained_kl"], each["same_top"]) for each in written["choices"]] == [(0.5, True)]


def test_a_method_that_knows_nothing_cannot_be_screened() -> None:
    class Ignorant:
        name = "ignorant"
        knowing: dict[str, str] = {}  # noqa: RUF012 - as `Method` has it

    with pytest.raises(RigError, match="ignorant has no models that know what is right"):
        knowing(Ignorant(), [])  # type: ignore[arg-type]
