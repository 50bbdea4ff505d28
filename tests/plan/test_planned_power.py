"""A plan's number of conversations keeps its promise: tried with the verdicts that `rig compare` gives."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from rig.compare.arms import ComparisonOptions
from rig.compare.compare import verdicts_of
from rig.compare.verdict import VerdictKind
from rig.core.metrics import TASKS, Counts, Declaration, Metric
from rig.plugins.plan.planned import conversations_needed, spread_of
from rig.stats import Tallied
from rig.stats.paired import PairedBootstrap, RateDifference, exact_mcnemar
from rig.stats.power import Spread

SUCCESS = Metric("success_rate", "success", "successes")
DECLARATION = Declaration("simulated", (SUCCESS,), "successes")
QUESTION = ComparisonOptions(resamples=1_000)


def suite(
    random: np.random.Generator, spread: Spread, loss: float, n: int, repeats: int
) -> list[NDArray[np.int64]]:
    """Two arms on a suite: what flips for good, what every repeat decides anew, what is lost, and the rest.

    1 or 0 by conversation and repeat.
    """
    lasting, anew = spread.flips - 2 * spread.within, 4 * spread.within
    rest = 1 - lasting - anew - loss
    kinds = random.choice(6, size=n, p=[lasting / 2, lasting / 2, anew, loss, 0.7 * rest, 0.3 * rest])
    chances = np.array([[1, 0], [0, 1], [0.5, 0.5], [1, 0], [1, 1], [0, 0]])[kinds]
    return [random.binomial(1, chances[:, side, None], size=(n, repeats)) for side in (0, 1)]


def is_found(outcomes: Sequence[NDArray[np.int64]], bootstrap: PairedBootstrap) -> bool:
    """Whether the verdict is that of a loss."""
    rows: list[list[list[Counts]]] = [
        [[{TASKS: 1, "successes": int(value)} for value in row] for row in of_arm] for of_arm in outcomes
    ]
    before, after = (Tallied.of(of_arm, DECLARATION) for of_arm in rows)
    told = bootstrap.difference(before.sides(SUCCESS), after.sides(SUCCESS), 0.05)
    p = told.p
    if before.is_played_once:
        gains = after.success - before.success
        p = exact_mcnemar(int((gains > 0).sum()), int((gains < 0).sum()))
    difference = RateDifference(told.value, told.low, told.high, p, None)
    pairing = (rows[0], rows[1]), (before, after), bootstrap
    [verdict] = verdicts_of([pairing], [difference], QUESTION, DECLARATION, SUCCESS)
    return verdict.kind is VerdictKind.LOSS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spread", "loss", "repeats"),
    [
        (Spread(0.0), 0.1, 1),
        (Spread(0.1), 0.1, 1),
        (Spread(0.2), 0.05, 1),
        (Spread(0.2, 0.1), 0.1, 2),
        (Spread(0.2, 0.1), 0.1, 8),
        (Spread(0.2, 0.05), 0.1, 4),
        (Spread(0.05), 0.1, 4),
    ],
    ids=str,
)
def test_a_loss_of_the_size_asked_about_is_found_as_often_as_promised(
    spread: Spread, loss: float, repeats: int
) -> None:
    conversations = conversations_needed(spread, loss, 0.05, repeats)
    assert conversations is not None
    random, bootstrap = np.random.default_rng(20_261_125), PairedBootstrap(conversations, resamples=1_000)
    drawn = (suite(random, spread, loss, conversations, repeats) for _ in range(400))
    # Of 400 suites, two and a half standard errors are 5 points.
    assert 0.75 <= np.mean([is_found(outcomes, bootstrap) for outcomes in drawn]) <= 0.87


@pytest.mark.slow
def test_what_is_detectable_and_what_is_needed_are_the_same_question() -> None:
    for spread, repeats in ((Spread(0.1), 1), (Spread(0.2, 0.08), 3)):
        needed = conversations_needed(spread, 0.1, 0.05, repeats)
        assert needed is not None
        assert (spread.detectable(needed, 0.05, repeats) or 1) <= 0.1
        assert (spread.detectable(needed - 4, 0.05, repeats) or 1) > 0.1
    assert conversations_needed(Spread(0.95), 0.1, 0.05) is None
    assert conversations_needed(Spread(0.3), 0.0001, 0.05) is None


def test_repeats_help_only_against_what_every_repeat_decides_anew() -> None:
    assert (Spread(0.2).detectable(78, 0.05, 8) or 1) == pytest.approx(
        Spread(0.2).detectable(78, 0.05, 2) or 1, abs=0.005
    )
    losses = [Spread(0.2, 0.1).detectable(78, 0.05, repeats) or 1 for repeats in (2, 4, 8, 16)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize("repeats", [1, 5])
def test_the_spread_of_simulated_arms_is_the_one_they_were_drawn_with(repeats: int) -> None:
    truth = Spread(0.2, 0.06)
    before, after = suite(np.random.default_rng(5), truth, 0.0, 40_000, repeats)
    spread = spread_of(*([(int(row.sum()), repeats) for row in side] for side in (before, after)))
    assert spread.flips == pytest.approx(truth.flips, abs=0.01)
    assert spread.within == pytest.approx(truth.within if repeats > 1 else 0.0, abs=0.005)
