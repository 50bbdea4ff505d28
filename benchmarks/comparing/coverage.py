"""How often intervals hold the truth and equal arms are told apart, in simulated suites whose truth is known.

    .venv/bin/python benchmarks/comparing/coverage.py [--suites 2000] [--write]

Prints the tables; with --write puts them into docs/lab/statistics.md. Beside rig's intervals stand the
plain percentile bootstrap's, which they were chosen over. Takes about three minutes on one core.
"""

import argparse
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

import simulated_suites  # noqa: E402
from simulated_suites import METRICS, Array, Scenario  # noqa: E402

from benchmarks.published import publish  # noqa: E402
from rig.stats import interval, paired  # noqa: E402
from rig.stats.paired import PairedBootstrap  # noqa: E402

ALPHA = 0.05
RESAMPLES = 1_000
NOUNS = {metric: metric.replace("_", " ") for metric in METRICS}

PAIRS = {
    "equal arms, 78 conversations": Scenario(78, (1.5, 1.5)),
    "equal arms, 28": Scenario(28, (1.5, 1.5)),
    "equal arms, 28, nearly perfect": Scenario(28, (5.0, 5.0), (0.02, 0.02)),
    "equal arms, 78, 5 repeats": Scenario(78, (1.5, 1.5), repeats=5),
    "worse arm, 78": Scenario(78, (2.0, 1.0), (0.2, 1.0)),
    "worse arm, 28": Scenario(28, (2.0, 1.0), (0.2, 1.0)),
    "worse arm, 28, nearly perfect": Scenario(28, (5.0, 4.0), (0.02, 0.1)),
}
exact_mcnemar = cache(paired.exact_mcnemar)


def shares(scenario: Scenario, suites: int) -> Iterator[tuple[str, float, float, float]]:
    """By metric: of intervals that hold the truth, of plain ones that do, and of suites with a find."""
    simulated = simulated_suites.simulate(scenario, suites, seed=scenario.conversations)
    truths = simulated_suites.true_rates(scenario)
    bootstrap = PairedBootstrap(scenario.conversations, resamples=RESAMPLES)
    plain = np.random.default_rng(1).multinomial(
        scenario.conversations, np.full(scenario.conversations, 1 / scenario.conversations), RESAMPLES
    )
    for metric in METRICS:
        truth = truths[metric][1] - truths[metric][0]
        held = held_plainly = finds = 0
        for suite in range(suites):
            baseline, arm = simulated_suites.counts(simulated[metric], suite)
            found = bootstrap.difference(baseline, arm, ALPHA)
            p = found.p
            if metric == "success" and scenario.repeats == 1:
                difference = arm.numerators - baseline.numerators
                p = exact_mcnemar(int((difference > 0).sum()), int((difference < 0).sum()))
            finds += p is not None and p <= ALPHA
            held += found.low is not None and found.high is not None and found.low <= truth <= found.high
            low, high = _percentile(
                plain, (baseline.numerators, baseline.denominators), (arm.numerators, arm.denominators)
            )
            held_plainly += low <= truth <= high
        yield metric, held / suites, held_plainly / suites, finds / suites


def single(scenario: Scenario, suites: int) -> Iterator[tuple[str, float, float]]:
    """By metric, of one arm's intervals: Wilson's that hold the truth, and plain ones that do."""
    simulated = simulated_suites.simulate(scenario, suites, seed=7)
    truths = simulated_suites.true_rates(scenario)
    n = scenario.conversations
    plain = np.random.default_rng(1).multinomial(n, np.full(n, 1 / n), RESAMPLES)
    for metric in METRICS:
        truth = truths[metric][0]
        held = held_plainly = 0
        for right, calls in zip(*simulated[metric][0], strict=True):
            found = interval(right, calls, ALPHA, scenario.repeats * calls.sum())
            held += found.low is not None and found.high is not None and found.low <= truth <= found.high
            low, high = _percentile(plain, None, (right, calls))
            held_plainly += low <= truth <= high
        yield metric, held / suites, held_plainly / suites


def _percentile(
    times: Array, baseline: tuple[Array, Array] | None, arm: tuple[Array, Array]
) -> tuple[float, float]:
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = (times @ arm[0]) / (times @ arm[1])
        if baseline is not None:
            rates = rates - (times @ baseline[0]) / (times @ baseline[1])
    low, high = np.nanquantile(rates, [ALPHA / 2, 1 - ALPHA / 2])
    return float(low), float(high)


def tables(suites: int) -> Iterator[str]:
    """Lines of Markdown."""
    yield f"Shares of {suites:,} simulated suites, {RESAMPLES:,} draws each, at 95%."
    yield ""
    yield "| difference between arms | metric | interval holds | plain percentile | difference found |"
    yield "| --- | --- | --- | --- | --- |"
    for name, scenario in PAIRS.items():
        for metric, held, plainly, finds in shares(scenario, suites):
            yield f"| {name} | {NOUNS[metric]} | {held:.1%} | {plainly:.1%} | {finds:.1%} |"
    yield ""
    yield "| one arm's rate | metric | interval holds | plain percentile |"
    yield "| --- | --- | --- | --- |"
    for name in ("78 conversations", "28, nearly perfect", "78, 5 repeats"):
        for metric, held, plainly in single(PAIRS[f"equal arms, {name}"], suites):
            yield f"| {name} | {NOUNS[metric]} | {held:.1%} | {plainly:.1%} |"


def main() -> None:
    """Print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suites", type=int, default=2_000)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    lines = list(tables(asked.suites))
    print("\n".join(lines))
    if asked.write:
        publish("lab/statistics.md", "tables", "\n".join(lines))


if __name__ == "__main__":
    main()
