"""What looking after every conversation costs and saves, in simulated suites whose truth is known.

    .venv/bin/python benchmarks/comparing/looking.py [--suites 2000] [--write]

A run until a verdict about a loss of 5 points: how often it finds what is false, and which share of the
conversations the first arm and another play. Prints the tables; with --write puts them into
docs/lab/statistics.md. About ten minutes.
"""

import argparse
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.published import publish  # noqa: E402
from rig.plugins.strategies.sequential import DifferenceBounds, LossTest  # noqa: E402

SIZE = 0.05
SUITES_OF = (28, 78, 500)
LOSSES = (0.0, 0.05, 0.1, 0.2)
BASES = (0.3, 0.7)
BOTH_WAYS = (0.0, 0.1)
"""Shares of conversations that flip either way beside the loss: half won, half lost."""

MANY = 500
"""Of suites with so many conversations fewer are simulated."""

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


def suites(
    conversations: int, base: float, loss: float, both_ways: float, number: int
) -> tuple[Flags, Array]:
    """What the first arm gets right, and differences of outcomes: suites × conversations, each on its own.

    The first arm succeeds with `base`; what it gets right is lost, and what it gets wrong is won, with
    chances that make the loss and the flips what they are to be.
    """
    draw = np.random.default_rng(round(1e6 * (base + loss + both_ways)) + conversations)
    first = draw.random((number, conversations)) < base
    lost, won = (loss + both_ways / 2) / base, (both_ways / 2) / (1 - base)
    assert max(lost, won) <= 1, "no such suite"
    flips = draw.random((number, conversations)) < np.where(first, lost, won)
    second = first ^ flips
    return first, second.astype(float) - first


class Played(NamedTuple):
    """Of each suite: how many conversations the first arm and the other have played, and what was found."""

    first: Array
    other: Array
    shown: Flags


def play(test: LossTest, first: Flags, differences: Array) -> Played:
    """What runs until a verdict do, but for blocks."""
    number, conversations = differences.shape
    played = Played(np.zeros(number), np.zeros(number), np.zeros(number, dtype=bool))
    is_played = first.copy()
    is_played[:, 0] = True
    undecided = np.arange(number)
    for after in range(1, conversations + 1):
        known = _known(differences, is_played, undecided, after)
        found = _found(test, known)
        waiting = undecided[test.wins_matter(known) & ~found.any(axis=0)]
        if len(waiting):
            is_played[waiting, :after] = True
            found = _found(test, _known(differences, is_played, undecided, after))
        ended = undecided[found.any(axis=0)]
        played.first[ended] = after
        played.other[ended] = is_played[ended, :after].sum(axis=1)
        played.shown[ended] = found[0][found.any(axis=0)]
        undecided = undecided[~found.any(axis=0)]
    return played


def _known(differences: Array, is_played: Flags, suites: NDArray[np.int64], after: int) -> DifferenceBounds:
    """What is known of these suites after so many conversations of the first arm."""
    found, known = differences[suites, :after], is_played[suites, :after]
    return DifferenceBounds(np.where(known, found, 0.0), np.where(known, found, 1.0))


def _found(test: LossTest, known: DifferenceBounds) -> Flags:
    """Whether a loss is shown, and whether it is excluded: 2 × suites."""
    return np.array([(each >= test.needed).any(axis=-1) for each in test.e_processes(known).values()])


def wrong(differences: Array, shown: Flags) -> Flags:
    """Whether what was found is false of the whole suite."""
    return np.asarray(shown != (-differences.mean(axis=1) >= SIZE - 1e-9))


def tables(number: int) -> Iterator[str]:
    """Lines of Markdown."""
    yield f"False findings in {number:,} simulated suites ({number // 10:,} of 500 conversations), at 5%; in"
    yield "brackets two standard errors."
    yield ""
    yield "| conversations | first right | true loss | flips both ways | false findings |"
    yield "| --- | --- | --- | --- | --- |"
    for conversations in SUITES_OF:
        test = LossTest(SIZE, conversations, step=1.0)
        for base, loss, both_ways in ((0.5, 0.05, 0.0), (0.5, 0.05, 0.2), (0.9, 0.05, 0.1), (0.3, 0.04, 0.1)):
            many = number if conversations < MANY else number // 10
            first, differences = suites(conversations, base, loss, both_ways, many)
            share = wrong(differences, play(test, first, differences).shown).mean()
            error = 2 * np.sqrt(share * (1 - share) / many)
            said = f"{base:.0%} | {100 * loss:g} points | {both_ways:.0%} | {share:.1%} (± {error:.1%})"
            yield f"| {conversations} | {said} |"
    yield ""
    yield "Share of the conversations that the first arm / another arm plays until the other is decided, on"
    yield "average, and how often a loss is shown."
    yield ""
    header = " | ".join(f"loss {100 * loss:g}" for loss in LOSSES)
    yield f"| conversations | arms | first right | flips both ways | {header} |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for conversations in SUITES_OF:
        for arms, base, both_ways in product((1, 6), BASES, BOTH_WAYS):
            test = LossTest(SIZE, conversations, arms=arms, step=1.0)
            many = number if conversations < MANY else number // 20
            cells = []
            for loss in LOSSES:
                first, differences = suites(conversations, base, loss, both_ways, many)
                played = play(test, first, differences)
                shares = (f"{each.mean() / conversations:.0%}" for each in (played.first, played.other))
                cells.append(f"{' / '.join(shares)}, {played.shown.mean():.0%}")
            yield f"| {conversations} | {arms} | {base:.0%} | {both_ways:.0%} | {' | '.join(cells)} |"


def main() -> None:
    """Print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suites", type=int, default=2_000)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    lines = list(tables(asked.suites))
    print("\n".join(lines))
    if asked.write:
        publish("lab/statistics.md", "looking", "\n".join(lines))


if __name__ == "__main__":
    main()
