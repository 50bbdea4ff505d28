"""Tests for the simulated ladders: they are played as runs are, and their losses are the true ones."""

from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.comparing.detectable import found
from benchmarks.comparing.ladder import DECISIONS, FILES, OPEN, Played, figures, ladders, rules, run
from benchmarks.comparing.looking import SIZE
from benchmarks.comparing.unclear import DECLARATION
from rig.core.metrics import TASKS
from rig.plugins.strategies.until import Deciding

LADDERS = [(0, 5, 10, 20, 5, 0), (30, 0, 0, 20, 0, 0)]


@pytest.mark.parametrize("losses", LADDERS)
@pytest.mark.parametrize(
    ("conversations", "in_suite"), [(80, True), pytest.param(130, False, marks=pytest.mark.slow)]
)
def test_a_simulated_ladder_is_played_as_a_run_until_a_verdict(
    losses: Sequence[float], conversations: int, in_suite: bool
) -> None:
    first, differences = ladders(losses, conversations, 1, np.random.default_rng(1), in_suite=in_suite)
    simulated = run(rules(conversations if in_suite else None)["verdict"], first, differences)
    arms = [first[0], *(first[0] + differences[:, 0])]
    tasks = [SimpleNamespace(name=str(each), known_turns=()) for each in range(conversations)]
    plan: Any = SimpleNamespace(arms=arms, tasks=tasks, repeats=1, declaration=DECLARATION)
    deciding = Deciding(plan, SIZE, (), in_suite=in_suite)
    played = Counter[int]()
    for arm, left in deciding.visits():
        for where, task in left:
            if not deciding.is_over(arm):
                deciding.finished(where, {DECLARATION.success: int(arms[arm][int(task.name)]), TASKS: 1})
                played[arm] += 1
    real = [deciding._evidence[arm].found for arm in range(1, FILES + 1)]
    assert [DECISIONS[each] if each else OPEN for each in real] == simulated.decisions[0].tolist()
    # A run stops among the conversations that can only be won, the simulation after them.
    assert played.total() <= simulated.conversations[0] <= 1.15 * played.total()


def test_a_sequence_ends_with_the_first_file_that_is_not_cleared() -> None:
    first, differences = ladders(LADDERS[1], 80, 20, np.random.default_rng(2), in_suite=True)
    decisions = run(rules(80)["sequence"], first, differences).decisions
    assert (decisions[:, 0] == DECISIONS["shown"]).all()
    assert (decisions[:, 1:] == OPEN).all()


def test_findings_are_false_by_the_true_losses() -> None:
    passes, worse = DECISIONS["excluded"], DECISIONS["shown"]
    decisions = np.array([[worse, passes], [passes, worse], [OPEN, passes], [passes, OPEN]])
    played = Played(np.array([10.0, 20, 30, 40]), decisions)
    assert figures(played, np.array([4.0, 5.0]), 5) == (0.5, 25, 1.5, 0.5)
    assert figures(played, np.array([4.0, 5.0]), 1) == (0.5, 25, 1.5, 0.5)
    assert figures(played, np.array([4.0, 0.0]), 1) == (0.25, 25, 1.5, 0.5)


def test_every_suite_has_exactly_the_losses_of_its_ladder() -> None:
    _, differences = ladders(LADDERS[0], 200, 5, np.random.default_rng(3), in_suite=True)
    assert np.allclose(-100 * differences.mean(axis=2).T, LADDERS[0])


def test_a_total_loss_is_found_in_every_suite() -> None:
    assert found(0.1, 0.5, arms=6, suites=2) == 1.0
