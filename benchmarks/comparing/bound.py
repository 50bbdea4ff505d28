"""What no rule can beat: the least share of a suite that has to be played to find a loss of 20 points.

    .venv/bin/python benchmarks/comparing/bound.py [--rounds 300]

A rule stops after some conversations of a finite suite, drawn in a random order, and says that the loss is
shown or excluded; after the last it knows. Under every suite in which that is false it may say so with a
chance of 5% at most. Of all such rules, also of those that are made for a loss of 20 points and for nothing
else, how little can the best play on average? Weak duality: charge for each wrong finding; the cheapest
policy then, found backwards from the end of the suite, costs at most what the best rule plays, whatever is
charged.
The charges are moved uphill for some rounds. So every number printed is a bound, sharp or not.
"""

import argparse
from math import ceil, lgamma

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SIZE = 0.05
ALPHA = 0.05
MOST = 14
"""Suites of so many won conversations are charged for at most; charging for fewer keeps a bound a bound."""


class Suite:
    """Of so many conversations, after each of which one may stop; states are (played, lost, won)."""

    def __init__(self, conversations: int, loss: float, both_ways: float) -> None:
        self.of = conversations
        least = ceil(SIZE * conversations - 1e-9)
        lost, won = np.indices((conversations + 1, conversations + 1))
        self.lost, self.won = lost, won
        self.factorial = np.array([lgamma(each + 1) for each in range(conversations + 1)])
        self.chances = (loss + both_ways / 2, both_ways / 2, 1 - loss - both_ways)
        # The suites in which a finding is false and nearly true: their loss is just below the size, or is it.
        self.below = [(won + least - 1, won) for won in range(min((conversations - least) // 2 + 1, MOST))]
        self.least = [(won + least, won) for won in range(min((conversations - least) // 2 + 1, MOST))]

    def of_suite(self, played: int, suite: tuple[int, int]) -> Array:
        """The chance of each one order of so many lost and won, from a suite of so many: (lost, won)."""
        log = np.zeros(self.lost.shape)
        drawn = (self.lost, self.won, played - self.lost - self.won)
        possible = np.ones(self.lost.shape, dtype=bool)
        for number, count in zip((*suite, self.of - sum(suite)), drawn, strict=True):
            fits = (count >= 0) & (count <= number)
            possible &= fits
            log += self.factorial[number] - self.factorial[np.where(fits, number - count, 0)]
        log += self.factorial[self.of - played] - self.factorial[self.of]
        return np.where(possible, np.exp(log), 0.0)

    def alike(self, played: int) -> Array:
        """The same where every conversation is lost or won with the chances asked about."""
        counts = (self.lost, self.won, played - self.lost - self.won)
        found = np.ones(self.lost.shape)
        for chance, count in zip(self.chances, counts, strict=True):
            found = found * np.where(count < 0, 0.0, np.power(chance, np.maximum(count, 0), dtype=np.float64))
        return found


def best(suite: Suite, alpha: float, rounds: int) -> float:
    """The highest bound that was found: conversations played on average."""
    suites = suite.below + suite.least
    charges = np.full(len(suites), suite.of / 2 / len(suites))
    tables = [
        (suite.alike(played), np.array([suite.of_suite(played, each) for each in suites]))
        for played in range(suite.of)
    ]
    highest = 0.0
    for step in range(rounds):
        value, wrong = cheapest(suite, tables, charges)
        highest = max(highest, value - alpha * charges.sum())
        charges = charges * np.exp(np.clip((wrong - alpha) / alpha, -1, 1) / (1 + step / 20))
    return highest


def cheapest(suite: Suite, tables: list[tuple[Array, Array]], charges: Array) -> tuple[float, Array]:
    """What the cheapest policy costs, and how often it is wrong of each suite."""
    half = len(suite.below)
    stops: list[tuple[Array, Array]] = []
    later = np.zeros(suite.lost.shape)
    for alike, chances in reversed(tables):
        shown, excluded = (
            np.tensordot(charges[part], chances[part], 1) for part in (slice(half), slice(half, None))
        )
        on = alike + later
        on[:-1] += later[1:]
        on[:, :-1] += later[:, 1:]
        stops.append((shown <= np.minimum(excluded, on), excluded <= np.minimum(shown, on)))
        later = np.minimum(np.minimum(shown, excluded), on)
    wrong = np.zeros(len(suite.below) + len(suite.least))
    paths = np.zeros(suite.lost.shape)
    paths[0, 0] = 1.0
    for (_, chances), (shows, excludes) in zip(tables, reversed(stops), strict=True):
        ends = [np.where(shows, paths, 0.0), np.where(excludes & ~shows, paths, 0.0)]
        wrong[:half] += np.tensordot(chances[:half], ends[0], 2)
        wrong[half:] += np.tensordot(chances[half:], ends[1], 2)
        paths = paths - ends[0] - ends[1]
        following = paths.copy()
        following[1:] += paths[:-1]
        following[:, 1:] += paths[:, :-1]
        paths = following
    return float(later[0, 0]), wrong


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=300)
    rounds = parser.parse_args().rounds
    print("| conversations | arms | flips both ways | no rule plays less than |\n| --- | --- | --- | --- |")
    for conversations in (28, 78):
        for arms in (1, 6):
            for both_ways in (0.0, 0.05, 0.1):
                played = best(Suite(conversations, 0.2, both_ways), ALPHA / arms, rounds)
                share = f"{played / conversations:.0%}"
                print(f"| {conversations} | {arms} | {both_ways:.0%} | {share} |", flush=True)


if __name__ == "__main__":
    main()
