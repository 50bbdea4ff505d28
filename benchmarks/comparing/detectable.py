"""The loss that a suite shows four times out of five, and whether it does, by the verdicts of `rig compare`.

    .venv/bin/python benchmarks/comparing/detectable.py [--suites 300] [--write]

In simulated suites of 1,000 conversations, a share flips, half of them won and half lost, and a loss of the
size that rig calls detectable comes on top. Prints the table; with --write puts it into
docs/lab/statistics.md. Some minutes.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.comparing.unclear import DECLARATION, SUCCESS  # noqa: E402
from benchmarks.published import publish  # noqa: E402
from rig.compare.compare import _difference  # noqa: E402
from rig.compare.verdict import VerdictKind, verdict  # noqa: E402
from rig.core.metrics import TASKS  # noqa: E402
from rig.stats import Tallied  # noqa: E402
from rig.stats.paired import PairedBootstrap, holm  # noqa: E402
from rig.stats.power import detectable_success_loss  # noqa: E402

CONVERSATIONS = 1_000
BASE = 0.7
FLIPS = (0.05, 0.1, 0.2)
ARMS = (1, 6)
ALPHA = 0.05


def tallied(right: np.ndarray) -> Tallied:
    """An arm's counts, from what it got right."""
    return Tallied.of([[{DECLARATION.success: int(one), TASKS: 1}] for one in right], DECLARATION)


def found(flips: float, loss: float, arms: int, suites: int) -> float:
    """How often rig finds a loss, among `arms` of which the others lose nothing."""
    draw = np.random.default_rng(round(1e6 * (flips + loss)) + arms)
    bootstrap = PairedBootstrap(CONVERSATIONS, resamples=1_000)
    kinds = []
    for _ in range(suites):
        first = draw.random(CONVERSATIONS) < BASE
        lost, won = (loss + flips / 2) / BASE, flips / 2 / (1 - BASE)
        sides = tallied(first), tallied(first ^ (draw.random(CONVERSATIONS) < np.where(first, lost, won)))
        difference = _difference(bootstrap, SUCCESS, sides, DECLARATION, ALPHA, arms)
        difference = replace(difference, p_holm=holm([difference.p, *[1.0] * (arms - 1)])[0])
        gains = sides[1].success - sides[0].success
        flipped = int((gains > 0).sum()), int((gains < 0).sum())
        judged = verdict(
            SUCCESS, sides[0].rate(SUCCESS), difference, CONVERSATIONS, flipped, ALPHA, is_success=True
        )
        kinds.append(judged.kind)
    return float(np.mean([kind is VerdictKind.LOSS for kind in kinds]))


def table(suites: int) -> Iterator[str]:
    """Lines of Markdown."""
    yield f"{suites} simulated suites of {CONVERSATIONS:,} each; the first arm gets {BASE:.0%} right."
    yield ""
    yield "| flips both ways | arms compared | detectable loss | found | found where nothing is lost |"
    yield "| --- | --- | --- | --- | --- |"
    for flips, arms in product(FLIPS, ARMS):
        half = round(CONVERSATIONS * flips / 2)
        loss = detectable_success_loss(CONVERSATIONS, half, half, ALPHA / arms)
        assert loss is not None
        there, nothing = (found(flips, size, arms, suites) for size in (loss, 0.0))
        yield f"| {flips:.0%} | {arms} | {100 * loss:.1f} points | {there:.1%} | {nothing:.1%} |"


def main() -> None:
    """Print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suites", type=int, default=300)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    lines = list(table(asked.suites))
    print("\n".join(lines))
    if asked.write:
        publish("lab/statistics.md", "detectable", "\n".join(lines))


if __name__ == "__main__":
    main()
