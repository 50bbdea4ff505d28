"""Simulated sweeps whose truth is known: breaks are seldom false, and found where they are."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from rig.plugins.strategies.breaking import Bisection, Break, BreakTest, differences
from rig.stats.rates import OutcomeBounds

Flags = NDArray[np.bool_]
LEVELS, CONVERSATIONS, SIZE = 5, 200, 0.05


def suites(sweeps: int, base: float, drop: float, at: int, noise: float, seed: int = 1) -> Flags:
    """Sweeps × levels × conversations that succeed: with the chance `base` below the level `at`, and with
    `drop` less from there on. A level gets the same right as the others, but for the share `noise`, in which
    each draws anew.
    """
    draw = np.random.default_rng(seed)
    right = draw.random((sweeps, 1, CONVERSATIONS)) < base
    falls = draw.random((sweeps, 1, CONVERSATIONS)) < drop / base
    is_high = np.arange(LEVELS)[:, None] >= at
    alike = right & ~(falls & is_high)
    anew = draw.random((sweeps, LEVELS, CONVERSATIONS)) < np.where(is_high, base - drop, base)
    return np.where(draw.random((sweeps, LEVELS, CONVERSATIONS)) < noise, anew, alike)


def swept(right: Flags, curves: int = 1) -> list[tuple[Break, list[int]]]:
    """Each sweep played block by block as a run does it: what is located, and what each level has played."""
    test = BreakTest(LEVELS, SIZE, curves=curves)
    never = CONVERSATIONS + 1
    first = {}
    for low, high in combinations(range(LEVELS), 2):
        of_pair = test.of_pair.e_processes(right[:, high].astype(float) - right[:, low])
        reached = [process >= test.of_pair.needed for process in of_pair.values()]
        first[low, high] = [np.where(hits.any(-1), hits.argmax(-1) + 1, never) for hits in reached]
    ended = []
    for sweep in range(len(right)):
        played = [0] * LEVELS

        def finding(pair: tuple[int, int], played: list[int] = played, sweep: int = sweep) -> str | None:
            shown, excluded = (after[sweep] for after in first[pair])
            if min(shown, excluded) > min(played[pair[0]], played[pair[1]]):
                return None
            return "shown" if shown < excluded else "excluded"

        def done(level: int, played: list[int] = played, finding: object = finding) -> bool:
            return played[level] == CONVERSATIONS or finding((0, level)) is not None  # type: ignore[operator]

        while True:
            located = Break.of({pair: finding(pair) for pair in first}, LEVELS)  # type: ignore[misc]
            begun = [level for level in range(LEVELS) if played[level]]
            levels = Bisection(LEVELS, done).playing(located, begun)
            if not levels:
                break
            reached = min(min(played[level] for level in levels) + 13, CONVERSATIONS)
            for level in levels:
                played[level] = max(played[level], reached)
        ended.append((located, played))
    return ended


@pytest.mark.slow
@pytest.mark.parametrize("base", [0.3, 0.5, 0.9])
@pytest.mark.parametrize("noise", [0.0, 0.2, 1.0])
def test_a_model_that_no_level_touches_shows_a_break_in_fewer_than_5_percent(
    base: float, noise: float
) -> None:
    breaks = [located.high for located, _ in swept(suites(1_000, base, 0.0, LEVELS, noise))]
    assert sum(high is not None for high in breaks) / len(breaks) < 0.05


@pytest.mark.slow
def test_neither_does_one_that_loses_almost_as_much_as_is_asked_about() -> None:
    """4.9 points from the first level on: nearly the hardest null. No level is said to hold more than 5%."""
    below = [located.high for located, _ in swept(suites(1_000, 0.5, 0.049, 1, 0.1))]
    assert sum(high is not None for high in below) / len(below) < 0.05
    at = [located.holds for located, _ in swept(suites(1_000, 0.5, 0.05, 1, 0.1))]
    assert sum(holds is not None for holds in at) / len(at) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("at", range(1, LEVELS))
@pytest.mark.parametrize(("base", "drop", "noise"), [(0.8, 0.2, 0.1), (0.8, 0.3, 1.0), (0.5, 0.3, 0.2)])
def test_a_break_is_found_at_its_level_with_200_conversations(
    base: float, drop: float, noise: float, at: int
) -> None:
    ended = swept(suites(300, base, drop, at, noise))
    found = [(located.low, located.high) == (at - 1, at) for located, _ in ended]
    assert sum(found) / len(found) >= 0.8
    wrong = [located.high is not None and not (located.low or 0) < at <= located.high for located, _ in ended]
    assert sum(wrong) / len(wrong) < 0.05
    share = np.mean([sum(played) for _, played in ended]) / (LEVELS * CONVERSATIONS)
    assert share < 0.6


def outcomes(*right: bool) -> list[list[OutcomeBounds]]:
    return [[OutcomeBounds(one, one)] for one in right]


def test_the_lowest_level_that_loses_is_the_break_and_what_holds_below_it_bounds_it() -> None:
    assert Break.of({}, 4) == Break()
    assert Break.of({(0, 3): "excluded"}, 4) == Break(3)
    assert Break.of({(0, 3): "shown"}, 4) == Break(None, 0, 3)
    assert Break.of({(0, 3): "shown", (0, 1): "excluded"}, 4) == Break(1, 1, 3)
    assert Break.of({(0, 3): "shown", (2, 3): "shown"}, 4) == Break(None, 2, 3)
    assert Break.of({(0, 3): "excluded", (0, 1): "shown"}, 4) == Break(None, 0, 1)
    levels = ["0", "2k", "8k", "16k"]
    assert Break(2, 2, 3).text(levels, 0.05) == "holds to 8k; loses at least 5 points between 8k and 16k"
    assert Break(3).text(levels, 0.05) == "holds to 16k"
    assert Break().text(levels, 0.05) == ""


def test_pairs_end_with_the_first_conversation_that_a_level_has_not_played() -> None:
    both = differences([*outcomes(True, True), [], *outcomes(True)], outcomes(False, True, True, True))
    assert both.least.tolist() == both.most.tolist() == [-1.0, 0.0]
    assert not differences([[], []], outcomes(True, True))


def test_an_unclear_text_decides_nothing() -> None:
    unclear = [[OutcomeBounds(0.0, 1.0, 1)]] * 100
    test = BreakTest(2, SIZE)
    assert test.located([outcomes(*[True] * 100), outcomes(*[False] * 100)]) == Break(None, 0, 1)
    assert test.located([outcomes(*[True] * 100), unclear]) == Break()
