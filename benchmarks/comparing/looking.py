"""What looking after every conversation costs and saves, in simulated suites whose truth is known.

    .venv/bin/python benchmarks/comparing/looking.py [--suites 2000] [--write]

A run until a verdict about a loss of 5 points: how often it finds what is false, and which share of the arm's
conversations it plays. Prints the tables; with --write puts them into docs/comparing.md. About two minutes.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.published import publish  # noqa: E402
from rig.rates.sequential import LossTest  # noqa: E402

SIZE = 0.05
SUITES_OF = (28, 78, 500)
LOSSES = (0.0, 0.05, 0.1, 0.2)
BOTH_WAYS = (0.0, 0.05, 0.1)
"""Shares of conversations that flip either way beside the loss: half won, half lost."""

Array = NDArray[np.float64]


def suites(conversations: int, base: float, loss: float, both_ways: float, number: int) -> Array:
    """Differences of outcomes, suites × conversations, each conversation on its own.

    The first arm succeeds with `base`; what it gets right is lost, and what it gets wrong is won, with
    chances that make the loss and the flips what they are to be.
    """
    draw = np.random.default_rng(round(1e6 * (base + loss + both_ways)) + conversations)
    first = draw.random((number, conversations)) < base
    lost, won = (loss + both_ways / 2) / base, (both_ways / 2) / (1 - base)
    assert max(lost, won) <= 1, "no such suite"
    flips = draw.random((number, conversations)) < np.where(first, lost, won)
    second = first ^ flips
    return second.astype(float) - first


def outcome(test: LossTest, differences: Array) -> tuple[Array, Array]:
    """After how many conversations a loss is shown and excluded; infinity for never."""
    found = [each >= test.needed for each in test.e_processes(differences)]
    shown, excluded = (np.where(each.any(-1), each.argmax(-1) + 1.0, np.inf) for each in found)
    return shown, excluded


def wrong(differences: Array, shown: Array, excluded: Array) -> Array:
    """Whether what was found is false of the whole suite."""
    loses = -differences.mean(axis=1) >= SIZE - 1e-9
    return np.where(loses, excluded < shown, shown < excluded)


def tables(number: int) -> Iterator[str]:
    """Lines of Markdown."""
    yield f"False findings in {number:,} simulated suites, at 5%; in brackets two standard errors."
    yield ""
    yield "| conversations | baseline right | true loss | flips both ways | false findings |"
    yield "| --- | --- | --- | --- | --- |"
    for conversations in SUITES_OF:
        test = LossTest(SIZE, conversations, step=1.0)
        for base, loss, both_ways in ((0.5, 0.05, 0.0), (0.5, 0.05, 0.2), (0.9, 0.05, 0.1), (0.3, 0.04, 0.1)):
            drawn = suites(conversations, base, loss, both_ways, number)
            share = wrong(drawn, *outcome(test, drawn)).mean()
            error = 2 * np.sqrt(share * (1 - share) / number)
            said = f"{base:.0%} | {100 * loss:g} points | {both_ways:.0%} | {share:.1%} (± {error:.1%})"
            yield f"| {conversations} | {said} |"
    yield ""
    yield "Share of its conversations that an arm plays, on average, and how often a loss is shown."
    yield ""
    header = " | ".join(f"loss {100 * loss:g}" for loss in LOSSES)
    yield f"| conversations | arms | flips both ways | {header} |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for conversations in SUITES_OF:
        for arms in (1, 6):
            test = LossTest(SIZE, conversations, arms=arms, step=1.0)
            for both_ways in BOTH_WAYS:
                cells = []
                for loss in LOSSES:
                    drawn = suites(conversations, 0.5, loss, both_ways, number)
                    shown, excluded = outcome(test, drawn)
                    played = np.minimum(shown, excluded).mean() / conversations
                    cells.append(f"{played:.0%}, shown {(shown < excluded).mean():.0%}")
                yield f"| {conversations} | {arms} | {both_ways:.0%} | {' | '.join(cells)} |"


def main() -> None:
    """Print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suites", type=int, default=2_000)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    lines = list(tables(asked.suites))
    print("\n".join(lines))
    if asked.write:
        publish("comparing.md", "looking", "\n".join(lines))


if __name__ == "__main__":
    main()
