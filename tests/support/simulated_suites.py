"""Suites of which the truth is known: two arms that play the same conversations, which are alike within.

A conversation has a difficulty of its own and 1 to 8 calls, each with a difficulty of its own; both are the
same for both arms. What decides on a call beyond that is normal noise, correlated between the arms. Calls
that fail are often still made, and now and then incorrect actions; hard conversations draw extra calls.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rig.stats.rates import Sides

Array = NDArray[np.float64]
METRICS = ("success", "recall", "precision", "incorrect_action_rate")


@dataclass(frozen=True)
class Scenario:
    """`skill` is in logits of a call of middling difficulty, `extra` in calls made for each that is due."""

    conversations: int
    skill: tuple[float, float]
    extra: tuple[float, float] = (0.5, 0.5)
    alike: float = 0.6
    repeats: int = 1

    @property
    def is_null(self) -> bool:
        return self.skill[0] == self.skill[1] and self.extra[0] == self.extra[1]

    def __str__(self) -> str:
        return f"n={self.conversations} skill={self.skill} extra={self.extra} repeats={self.repeats}"


def simulate(scenario: Scenario, suites: int, seed: int) -> dict[str, list[tuple[Array, Array]]]:
    """For each metric (numerators, denominators) of both arms, suites × conversations, means over repeats."""
    draw = np.random.default_rng(seed)
    shape = (suites, scenario.conversations)
    calls = draw.integers(1, 9, size=shape)
    is_due = np.arange(8) < calls[..., None]
    difficulty = draw.normal(size=(*shape, 1))
    of_call = draw.normal(size=(*shape, 8))
    is_action = draw.random((*shape, 8)) < 0.5
    shared = draw.normal(size=(*shape, 8))
    found: dict[str, list[tuple[Array, Array]]] = {metric: [] for metric in METRICS}
    for skill, extra in zip(scenario.skill, scenario.extra, strict=True):
        sums = np.zeros((5, *shape))
        for _ in range(scenario.repeats):
            own = draw.normal(size=(*shape, 8))
            noise = np.sqrt(scenario.alike) * shared + np.sqrt(1 - scenario.alike) * own
            is_right = (special.ndtr(noise) < special.expit(skill + difficulty + of_call)) & is_due
            right = is_right.sum(-1)
            wrong = ~is_right & is_due & (draw.random((*shape, 8)) < 0.7)
            more = draw.poisson(extra * np.exp(-0.3 * difficulty[..., 0]) * calls)
            bad = (wrong & is_action).sum(-1) + draw.binomial(more, 0.2)
            actions = (is_right & is_action).sum(-1) + bad + draw.binomial(more, 0.1)
            success = (right == calls) & (bad == 0)
            sums += np.stack([success, right, right + wrong.sum(-1) + more, bad, actions])
        success, right, made, bad, actions = sums / scenario.repeats
        found["success"].append((success, np.ones(shape)))
        found["recall"].append((right, calls.astype(float)))
        found["precision"].append((right, made))
        found["incorrect_action_rate"].append((bad, actions))
    return found


def counts(found: list[tuple[Array, Array]], suite: int) -> tuple[Sides, Sides]:
    """Both arms in one suite, the baseline first."""
    baseline, arm = (Sides(numerators[suite], denominators[suite]) for numerators, denominators in found)
    return baseline, arm


@cache
def true_rates(scenario: Scenario) -> dict[str, tuple[float, float]]:
    """What both arms' rates are in the long run, from 200,000 conversations."""
    large = Scenario(200, scenario.skill, scenario.extra, scenario.alike, scenario.repeats)
    found = simulate(large, 1_000, seed=99)
    first, second = (
        {metric: float(sides[arm][0].sum() / sides[arm][1].sum()) for metric, sides in found.items()}
        for arm in (0, 1)
    )
    # Equal arms differ by chance even in so large a suite.
    return {
        metric: (first[metric], first[metric] if scenario.is_null else second[metric]) for metric in METRICS
    }
