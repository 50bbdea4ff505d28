"""How often a loss is found between arms that are equally good, but leave unequally many texts unclear.

    .venv/bin/python benchmarks/comparing/unclear.py [--comparisons 600]

Both arms succeed equally often. Some of their conversations have a text that no rule can judge, of one arm
more than of the other; which of these are right is drawn at random, too. Prints how often each way of
comparing finds a loss: at most 5% may. In brackets, how often it would if unclear texts simply counted as
wrong. About two minutes.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from rig.compare.arms import ComparisonOptions  # noqa: E402
from rig.compare.compare import verdicts_of  # noqa: E402
from rig.compare.verdict import VerdictKind  # noqa: E402
from rig.core.metrics import UNCLEAR, Counts, Declaration, Metric  # noqa: E402
from rig.plugins.strategies.sequential import DifferenceBounds, LossTest  # noqa: E402
from rig.stats import Tallied  # noqa: E402
from rig.stats.paired import (  # noqa: E402
    PairedBootstrap,
    RateDifference,
    exact_mcnemar,
)
from rig.stats.rates import OutcomeBounds  # noqa: E402

SUCCESS = Metric("success_rate", "success", "successes")
RECALL = Metric("recall", "recall", "matches", "calls")
DECLARATION = Declaration("simulated", (SUCCESS, RECALL), "successes")
WAYS = ("success", "recall", "sequential, suite", "sequential, alike")
RESAMPLES = 400
SIZE = 0.02


class Mix(NamedTuple):
    """Conversations, how often both arms are right, and which share of them has an unclear text, by arm."""

    conversations: int
    right: float
    unclear: tuple[float, float]


MIXES = (
    Mix(200, 0.6, (0.02, 0.1)),
    Mix(200, 0.6, (0.1, 0.02)),
    Mix(78, 0.7, (0.0, 0.3)),
    Mix(500, 0.5, (0.02, 0.1)),
    Mix(200, 0.8, (0.2, 0.2)),
)


def suite(mix: Mix, draw: np.random.Generator) -> tuple[list[list[Counts]], list[list[Counts]]]:
    """The counts of both arms by conversation, as scored, and as they would be had a person decided.

    A text is unclear where it is right as where it is wrong, so that what is unclear says nothing of it.
    """
    skill = np.clip(draw.normal(mix.right, 0.2, mix.conversations), 0, 1)
    scored, decided = [], []
    for share in mix.unclear:
        right = draw.random(mix.conversations) < skill
        unclear = draw.random(mix.conversations) < share
        truth: list[Counts] = [_counts(success) for success in right]
        wrong = {**_counts(False), UNCLEAR: 1, f"{UNCLEAR}.successes": 1, f"{UNCLEAR}.matches": 1}
        scored.append([wrong if is_open else counts for is_open, counts in zip(unclear, truth, strict=True)])
        decided.append(truth)
    return scored, decided


def _counts(success: bool) -> Counts:
    return {"tasks": 1, "successes": int(success), "matches": 1 + int(success), "calls": 2}


def losses(arms: Sequence[Sequence[Counts]]) -> dict[str, bool]:
    """Whether each way of comparing finds that the second arm loses against the first."""
    rows = [[[counts] for counts in arm] for arm in arms]
    tallied = [Tallied.of(row, DECLARATION) for row in rows]
    bootstrap = PairedBootstrap(len(rows[0]), resamples=RESAMPLES)
    found = {}
    for way, metric in zip(WAYS, (SUCCESS, RECALL), strict=False):
        difference = _difference(bootstrap, tallied, metric)
        pairing = (rows[0], rows[1]), (tallied[0], tallied[1]), bootstrap
        [verdict] = verdicts_of([pairing], [difference], ComparisonOptions(), DECLARATION, metric)
        found[way] = verdict.kind is VerdictKind.LOSS
    outcomes = [[[OutcomeBounds.of(DECLARATION, counts)] for counts in arm] for arm in arms]
    differences = DifferenceBounds.of_outcomes(zip(*outcomes, strict=True))
    for way, of in zip(WAYS[2:], (len(rows[0]), None), strict=True):
        found[way] = LossTest(SIZE, of, step=1.0).evidence(differences).found == "shown"
    return found


def _difference(bootstrap: PairedBootstrap, tallied: Sequence[Tallied], metric: Metric) -> RateDifference:
    found = bootstrap.difference(*(each.sides(metric) for each in tallied), 0.05)
    if metric is not SUCCESS:
        return found
    gains = tallied[1].success - tallied[0].success
    p = exact_mcnemar(int((gains > 0).sum()), int((gains < 0).sum()))
    return RateDifference(found.value, found.low, found.high, p, found.detectable, "exact McNemar")


def shares(mix: Mix, comparisons: int, seed: int) -> tuple[dict[str, float], dict[str, float]]:
    """How often a loss is found that is none; and if unclear texts count as wrong and nobody says so.

    For the loss in the suite itself, only suites count in which the decided texts show none of that size.
    """
    draw = np.random.default_rng(seed)
    bounded, silent = dict.fromkeys(WAYS, 0), dict.fromkeys(WAYS, 0)
    for _ in range(comparisons):
        scored, decided = suite(mix, draw)
        rates = [np.mean([counts["successes"] for counts in arm]) for arm in decided]
        is_lost = rates[0] - rates[1] >= SIZE - 1e-9
        blind = [[{k: v for k, v in counts.items() if UNCLEAR not in k} for counts in arm] for arm in scored]
        for arms, sums in ((scored, bounded), (blind, silent)):
            for way, found in losses(arms).items():
                sums[way] += found and not (way == "sequential, suite" and is_lost)
    return tuple({way: n / comparisons for way, n in sums.items()} for sums in (bounded, silent))  # type: ignore[return-value]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=600)
    asked = parser.parse_args()
    print(f"| conversations | right | unclear | {' | '.join(WAYS)} |")
    print("| --- | --- | --- |" + " --- |" * len(WAYS))
    for seed, mix in enumerate(MIXES):
        bounded, silent = shares(mix, asked.comparisons, seed)
        cells = " | ".join(f"{bounded[way]:.1%} ({silent[way]:.1%})" for way in WAYS)
        unclear = " and ".join(f"{share:.0%}" for share in mix.unclear)
        print(f"| {mix.conversations} | {mix.right:.0%} | {unclear} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
