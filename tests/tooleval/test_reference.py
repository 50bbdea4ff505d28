"""Searches held against ToolBench's algorithm told again in the plainest words, whatever a model does."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.core.errors import RigError
from rig.plugins.tooleval.search import DEPTH, Code, Expand, Found, Made, Rank, SearchNode, Strategy, search

CALLS: tuple[Code, ...] = ("ok", "unknown", "bad_finish", "answer", "give_up", "error")
WORDS = st.sampled_from(["", "hm"])
MADE = st.one_of(
    st.tuples(st.sampled_from(CALLS), WORDS).map(lambda each: Made(*each, "clock", "{}")),
    st.just(Made("ok", "hm")),
    WORDS.map(lambda words: Made("failed", words)),
)
SCRIPT = st.lists(MADE, min_size=1, max_size=30)


@dataclass
class Plain:
    """A node as upstream has it. `kind` is T, A or I; `code` is of the last node of a step alone."""

    kind: str
    depth: int
    code: str = "ok"
    pruned: bool = False
    terminal: bool = False
    parent: "Plain | None" = None
    children: list["Plain"] = field(default_factory=list)

    def add(self, kind: str) -> "Plain":
        child = Plain(kind, self.depth + 1, parent=self)
        self.children.append(child)
        return child

    def outline(self) -> str:
        """The node and all below it, in marks."""
        mark = f"{self.kind}{'*' if self.terminal else ''}"
        return f"{mark}({''.join(each.outline() for each in self.children)})"


class Upstream:
    """DFS and CoT as ToolBench has them: recursion, a budget, and numbers that say how far to go up."""

    def __init__(self, script: list[Made], budget: int, prefers: Callable[[int], bool]) -> None:
        self.left = iterate(script)
        self.budget = budget
        self.prefers = prefers
        self.queries = self.compared = 0
        self.terminals: list[Plain] = []
        self.given_up: list[Plain] = []

    def step(self, node: Plain) -> Plain:
        made = next(self.left)
        if made.thought or made.name is None:
            node = node.add("T")
        if made.name is not None:
            node = node.add("A").add("I")
        node.code = made.code
        node.terminal = made.code == "answer"
        node.pruned = made.code in ("give_up", "failed")
        return node

    def dfs(self, node: Plain, width: int, ranks: bool) -> int:
        if node.depth >= DEPTH or node.pruned or node.terminal:
            if node.terminal:
                self.terminals.append(node)
                return 2
            node.pruned = True
            if node.code == "give_up":
                self.given_up.append(node)
                return 2
            return 1
        ends = []
        for _ in range(width):
            self.queries += 1
            if self.queries >= self.budget:
                next(self.left)
                return 100_000
            end = self.step(node)
            ends.append(end)
            if ranks:
                continue
            if (found := self.visit(end, width, ranks)) is not None:
                return found
        if ranks:
            points = [0.0] * len(ends)
            for one, other in combinations(range(len(ends)), 2):
                votes = [self.ask(), self.ask()]
                self.queries += 2
                if votes[0] != votes[1]:
                    points[one if votes[0] else other] += 1
                else:
                    points[one] += 0.5
                    points[other] += 0.5
            for number in sorted(range(len(ends)), key=lambda each: -points[each]):
                if (found := self.visit(ends[number], width, ranks)) is not None:
                    return found
        return 1

    def visit(self, end: Plain, width: int, ranks: bool) -> int | None:
        result = self.dfs(end, width, ranks)
        if self.terminals:
            return 10_000
        return result - 1 if result > 1 else None

    def ask(self) -> bool:
        self.compared += 1
        return self.prefers(self.compared)

    def cot(self, tries: int) -> list[Plain]:
        roots = []
        for _ in range(tries):
            node = Plain("R", 0)
            roots.append(node)
            while not (node.pruned or node.terminal or node.depth >= DEPTH):
                self.queries += 1
                node = self.step(node)
            if node.terminal:
                self.terminals.append(node)
                break
        return roots


def iterate(script: list[Made]) -> Iterator[Made]:
    while True:
        yield from script


def searched(strategy: Strategy, script: list[Made], budget: int, prefers: Callable[[int], bool]) -> Found:
    left, compared = iterate(script), 0
    course = search(strategy, budget=budget)
    try:
        asked = next(course)
        while True:
            if isinstance(asked, Rank):
                compared += 1
                asked = course.send(prefers(compared))
            else:
                assert isinstance(asked, Expand)
                asked = course.send(next(left))
    except StopIteration as stop:
        found: Found = stop.value
        return found


KINDS = {"root": "R", "thought": "T", "action": "A", "input": "I"}


def outline(node: SearchNode) -> str:
    mark = f"{KINDS[node.kind]}{'*' if node.terminal else ''}"
    return f"{mark}({''.join(map(outline, node.children))})"


@settings(max_examples=60)
@given(SCRIPT, st.integers(1, 4), st.integers(1, 60), st.booleans(), st.lists(st.booleans(), min_size=1))
def test_trees_are_those_of_the_algorithm(
    script: list[Made], width: int, budget: int, ranks: bool, liked: list[bool]
) -> None:
    def prefers(number: int) -> bool:
        return liked[number % len(liked)]

    found = searched(Strategy(1, width, ranks), script, budget, prefers)
    told, root = Upstream(script, budget, prefers), Plain("R", 0)
    assert found.last == told.dfs(root, width, ranks)
    assert [outline(each) for each in found.roots] == [root.outline()]
    assert found.queries == told.queries
    assert len(found.terminals) == len(told.terminals)
    assert len(found.given_up) == len(told.given_up)


@settings(max_examples=60)
@given(SCRIPT, st.integers(1, 5))
def test_chains_are_those_of_the_algorithm(script: list[Made], tries: int) -> None:
    found = searched(Strategy(tries), script, 0, lambda _: True)
    told = Upstream(script, 0, lambda _: True)
    roots = told.cot(tries)
    assert [outline(each) for each in found.roots] == [each.outline() for each in roots]
    assert (found.queries, len(found.terminals)) == (told.queries, len(told.terminals))
    assert found.size == sum(outline(each).count("(") for each in found.roots)


@pytest.mark.parametrize(
    ("text", "strategy"),
    [
        ("cot@1", Strategy(1)),
        ("CoT@12", Strategy(12)),
        ("dfs", Strategy(1, 2)),
        ("DFS_woFilter_w2", Strategy(1, 2)),
        ("dfs_w3", Strategy(1, 3)),
        ("dfs_filter", Strategy(1, 2, True)),
        ("dfs_w5_filter", Strategy(1, 5, True)),
    ],
)
def test_ways_of_search_by_name(text: str, strategy: Strategy) -> None:
    assert Strategy.parse(text) == strategy
    if not strategy.ranks:
        assert Strategy.parse(strategy.method) == strategy


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cot",
        "cot@",
        "cot@0",
        "cot@-1",
        "cot@1000",
        "dfs_w0",
        "dfs_w",
        "dfs_w2_",
        "bfs",
        "dfs w2",
        "cot@1 ",
    ],
)
def test_ways_that_there_are_not(text: str) -> None:
    with pytest.raises(RigError, match="choose from cot@N, dfs, dfs_wN and dfs_wN_filter"):
        Strategy.parse(text)
