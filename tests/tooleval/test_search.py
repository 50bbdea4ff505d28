"""Searches ask as often, and grow as large, as ToolBench's do."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.core.errors import RigError
from rig.plugins.tooleval.search import Found, Made, Rank, SearchNode, Strategy, search

CALL = Made("ok", "", "f", "{}", "seen")
BOTH = Made("ok", "thought", "f", "{}", "seen")
THOUGHT = Made("ok", "thought")
GIVE_UP = Made("give_up", "", "Finish", "{}")
ANSWER = Made("answer", "", "Finish", "{}")
FAILED = Made("failed", "no answer")

Script = Callable[[int, SearchNode], Made]


def play(way: str, script: Script, **more: Any) -> Found:
    """A search by a script of the number of the question and the node that it is asked at."""
    course = search(Strategy.parse(way), **more)
    asked, number = next(course), 0
    try:
        while True:
            if isinstance(asked, Rank):
                asked = course.send(True)
                continue
            number += 1
            asked = course.send(script(number, asked.node))
    except StopIteration as stop:
        found: Found = stop.value
        return found


def always(made: Made) -> Script:
    return lambda number, node: made


def after(calls: int, made: Made) -> Script:
    """So many bare calls on a path, then this."""
    return lambda number, node: made if node.depth >= 2 * calls else CALL


def late(number: int, node: SearchNode) -> Made:
    return GIVE_UP if number == 4 else ANSWER if number >= 8 else CALL


DFS: list[tuple[str, Script, dict[str, int], tuple[int, int, int, int, int]]] = [
    # queries, size of the tree, longest path, answers, times given up
    ("dfs_w2", always(CALL), {}, (126, 253, 13, 0, 0)),
    ("dfs", always(BOTH), {}, (30, 91, 13, 0, 0)),
    ("dfs_w1", always(BOTH), {}, (4, 13, 13, 0, 0)),
    ("dfs_w2", always(THOUGHT), {}, (200, 200, 13, 0, 0)),
    ("dfs_w2", always(GIVE_UP), {}, (1, 3, 3, 0, 1)),
    ("dfs_w3", always(GIVE_UP), {}, (1, 3, 3, 0, 1)),
    ("dfs_w2", after(2, GIVE_UP), {}, (10, 21, 7, 0, 4)),
    ("dfs_w2", after(3, GIVE_UP), {}, (22, 45, 9, 0, 8)),
    ("dfs_w3", after(3, GIVE_UP), {}, (66, 133, 9, 0, 27)),
    ("dfs_w2", after(3, ANSWER), {}, (4, 9, 9, 1, 0)),
    ("dfs_w2", late, {}, (8, 17, 13, 1, 1)),
    ("dfs_w2", always(CALL), {"budget": 5}, (5, 9, 9, 0, 0)),
    ("dfs_w2", always(CALL), {"budget": 1}, (1, 1, 1, 0, 0)),
    ("dfs_w2", lambda n, _: ANSWER if n == 5 else CALL, {"budget": 5}, (5, 9, 9, 0, 0)),
    ("dfs_w2", always(FAILED), {}, (2, 3, 2, 0, 0)),
    ("dfs_w2_filter", after(3, ANSWER), {}, (16, 17, 9, 1, 0)),
]


@pytest.mark.parametrize(("way", "script", "more", "expected"), DFS)
def test_a_tree_is_searched_as_upstream_searches_it(
    way: str, script: Script, more: dict[str, int], expected: tuple[int, ...]
) -> None:
    found = play(way, script, **more)
    told = found.queries, found.size, found.longest, len(found.terminals), len(found.given_up)
    assert told == expected


@pytest.mark.parametrize(
    ("script", "budget", "last"),
    [
        (always(THOUGHT), 200, 99_991),
        (always(CALL), 5, 99_996),
        (always(CALL), 1, 100_000),
        (after(3, ANSWER), 200, 10_000),
        (late, 200, 10_000),
    ],
)
def test_how_far_a_search_goes_up(script: Script, budget: int, last: int) -> None:
    assert play("dfs_w2", script, budget=budget).last == last


CHAINS: list[tuple[str, Script, int, list[int], bool]] = [
    ("cot@1", always(CALL), 6, [12], False),
    ("cot@1", always(BOTH), 4, [12], False),
    ("cot@1", always(THOUGHT), 12, [12], False),
    ("cot@3", always(GIVE_UP), 3, [2, 2, 2], False),
    ("cot@3", lambda n, _: (GIVE_UP, ANSWER)[n - 1], 2, [2, 2], True),
    ("cot@1", lambda n, _: ANSWER if n == 6 else CALL, 6, [12], True),
]


@pytest.mark.parametrize(("way", "script", "queries", "lengths", "wins"), CHAINS)
def test_chains_are_as_long_as_upstreams(
    way: str, script: Script, queries: int, lengths: list[int], wins: bool
) -> None:
    found = play(way, script)
    ends = [[*root.walk()][-1] for root in found.roots]
    assert (found.queries, [node.depth for node in ends]) == (queries, lengths)
    assert bool(found.terminals) is wins
    assert (found.end is not None) is wins


def test_who_gives_up_in_a_tree_has_an_end_all_the_same() -> None:
    found = play("dfs_w2", always(GIVE_UP))
    assert found.end is found.given_up[0]
    assert [node.kind for node in found.end.path] == ["action", "input"]


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("cot@1", "CoT@1"),
        ("CoT@5", "CoT@5"),
        ("dfs", "DFS_woFilter_w2"),
        ("DFS_woFilter_w2", "DFS_woFilter_w2"),
        ("dfs_w3_filter", "DFS_w3"),
    ],
)
def test_ways_of_search_have_upstreams_names(text: str, method: str) -> None:
    assert Strategy.parse(text).method == method


@pytest.mark.parametrize("text", ["cot", "cot@0", "dfs_w0", "bfs", "dfs_w2_filter_w3", ""])
def test_other_ways_are_refused(text: str) -> None:
    with pytest.raises(RigError, match="choose from cot@N, dfs"):
        Strategy.parse(text)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 3),
    st.integers(1, 40),
    st.lists(st.sampled_from([CALL, BOTH, THOUGHT, GIVE_UP, ANSWER, FAILED]), min_size=1, max_size=40),
)
def test_no_search_leaves_its_bounds(width: int, budget: int, made: list[Made]) -> None:
    found = play(f"dfs_w{width}", lambda n, _: made[n % len(made)], budget=budget)
    assert found.queries <= budget
    assert found.longest <= 12 + 3
    for node in found.roots[0].walk():
        assert len({child.step for child in node.children} | {0}) <= width + 1
        assert not (node.terminal and node.children)
    assert len(found.terminals) <= 1
