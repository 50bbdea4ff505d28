"""2,000 simulated suites: how often equal arms are told apart, and how often intervals hold the truth.

docs/lab/statistics.md has the figures of more scenarios, from benchmarks/comparing/coverage.py.
"""

from functools import cache

import numpy as np
import pytest
import simulated_suites
from simulated_suites import METRICS, Scenario

from rig.stats import paired
from rig.stats.paired import PairedBootstrap, holm

SUITES = 2_000
NULL = Scenario(78, (1.5, 1.5))
WORSE = Scenario(78, (2.0, 1.0), (0.2, 1.0))
MARGIN = 0.01
"""Two standard errors of a share of 5% in 2,000 suites."""

exact_mcnemar = cache(paired.exact_mcnemar)


def _found(scenario: Scenario) -> dict[str, tuple[float, float]]:
    """For each metric, the share of false alarms or finds, and of intervals that hold the truth."""
    simulated = simulated_suites.simulate(scenario, SUITES, seed=scenario.conversations)
    truths = simulated_suites.true_rates(scenario)
    bootstrap = PairedBootstrap(scenario.conversations, resamples=1_000)
    shares = {}
    for metric in METRICS:
        truth = truths[metric][1] - truths[metric][0]
        alarms = covered = 0
        for suite in range(SUITES):
            baseline, arm = simulated_suites.counts(simulated[metric], suite)
            found = bootstrap.difference(baseline, arm, 0.05)
            assert found.p is not None
            assert found.low is not None
            assert found.high is not None
            p = found.p
            if metric == "success":
                difference = arm.numerators - baseline.numerators
                p = exact_mcnemar(int((difference > 0).sum()), int((difference < 0).sum()))
            alarms += p <= 0.05
            covered += found.low <= truth <= found.high
        shares[metric] = (alarms / SUITES, covered / SUITES)
    return shares


@pytest.mark.slow
def test_equal_arms_raise_a_false_alarm_in_one_suite_of_twenty_at_most() -> None:
    for metric, (alarms, covered) in _found(NULL).items():
        assert alarms <= 0.05 + MARGIN, metric
        assert 0.95 - MARGIN <= covered <= 0.98, metric


@pytest.mark.slow
def test_intervals_hold_the_truth_where_arms_differ() -> None:
    for metric, (found, covered) in _found(WORSE).items():
        assert found >= 0.95, metric
        assert 0.93 <= covered <= 0.985, metric


@pytest.mark.parametrize("arms", [2, 5])
def test_among_several_equal_arms_there_is_a_false_alarm_in_one_suite_of_twenty_at_most(arms: int) -> None:
    """All arms are held against one baseline, so their tests are not independent."""
    draw = np.random.default_rng(arms)
    alarms = 0
    for _ in range(SUITES):
        skill = draw.beta(1, 1.5, size=78)
        success = draw.random((arms + 1, 78)) < skill
        tests = [
            exact_mcnemar(int((~success[0] & arm).sum()), int((success[0] & ~arm).sum()))
            for arm in success[1:]
        ]
        alarms += any(p is not None and p <= 0.05 for p in holm(tests))
    assert alarms / SUITES <= 0.05 + MARGIN
