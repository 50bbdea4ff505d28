"""Whether predicting each difference makes sequential verdicts come sooner, in simulated suites.

    .venv/bin/python benchmarks/comparing/covariate.py [--suites 60] [--write]

A prediction, less its mean over the whole suite, is subtracted from each difference before it is bet on. rig
does not do this, and docs/lab/statistics.md says why. Prints the table; with --write puts it there. A minute.
"""

import argparse
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.published import publish  # noqa: E402
from rig.plugins.strategies.sequential import capital  # noqa: E402

CONVERSATIONS = 1_000
SIZE, NEEDED = 0.05, 20.0
TRUTHS = ((0.0, 0.05), (0.0, 0.1), (0.1, 0.1))
"""The loss, and the share of conversations that flips both ways beside it."""
SCREENS = ((0.3, 0.05), (0.5, 0.03), (0.7, 0.02))
"""The share of flips that are predicted, and the share of the others of which one is."""
SHARES = (0.0, 0.25, 0.5, 1.0)

Array = NDArray[np.float64]


def simulated(loss: float, flips: float, hits: float, alarms: float, suites: int) -> tuple[Array, Array]:
    """Differences and their predictions, suites × conversations."""
    draw = np.random.default_rng(0).random((2, suites, CONVERSATIONS))
    lost = draw[0] < loss + flips / 2
    differences = ((draw[0] < loss + flips) & ~lost).astype(float) - lost
    alarm = np.where(draw[1] < alarms / 2, 1.0, np.where(draw[1] < alarms, -1.0, 0.0))
    return differences, np.where(differences != 0, differences * (draw[1] < hits), alarm)


def conversations_until_found(differences: Array, predictions: Array, share: float) -> float:
    """Until a loss of 5 points is shown or excluded, on average."""
    adjusted = differences - share * (predictions - predictions.mean(axis=1, keepdims=True))
    widest = 1 + share * (1 + np.abs(predictions.mean(axis=1)).max())
    below = SIZE - 1 / CONVERSATIONS
    processes = (
        capital((1 - adjusted / widest) / 2, (1 + below / widest) / 2, CONVERSATIONS),
        capital((1 + adjusted / widest) / 2, (1 - SIZE / widest) / 2, CONVERSATIONS),
    )
    reached = [process >= NEEDED for process in processes]
    ends = [np.where(hit.any(axis=1), hit.argmax(axis=1) + 1, CONVERSATIONS) for hit in reached]
    return float(np.minimum(*ends).mean())


def table(suites: int) -> Iterator[str]:
    """Lines of Markdown."""
    yield "| true loss | flips both ways | correlation | plain | a quarter subtracted | half | all |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for (loss, flips), (hits, alarms) in product(TRUTHS, SCREENS):
        differences, predictions = simulated(loss, flips, hits, alarms, suites)
        correlation = np.corrcoef(differences.ravel(), predictions.ravel())[0, 1]
        counts = (conversations_until_found(differences, predictions, share) for share in SHARES)
        cells = " | ".join(f"{count:.0f}" for count in counts)
        yield f"| {100 * loss:g} points | {flips:.0%} | {correlation:.2f} | {cells} |"


def main() -> None:
    """Print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suites", type=int, default=60)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    lines = list(table(asked.suites))
    print("\n".join(lines))
    if asked.write:
        publish("lab/statistics.md", "covariate", "\n".join(lines))


if __name__ == "__main__":
    main()
