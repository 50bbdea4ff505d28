"""Search for an answer, by independent chains or a depth-first tree of decisions.

Source: ToolBench's `CoT@n` and `DFS` (DFSDT), with their budgets and depth rules. A node is a thought, the
name of a tool, or its arguments, so a call takes two of the levels and a thought before it one more. The
search is a generator: it asks for the next step after a node, and receives what was made there.
"""

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeAlias

from rig.core.errors import RigError

DEPTH = 12
"""The most levels of nodes below the root."""
BUDGET = 200
"""Questions to the model in one search of a tree, at most; the answer to the last is ignored."""

Kind: TypeAlias = Literal["root", "thought", "action", "input"]
Code: TypeAlias = Literal["ok", "unknown", "bad_finish", "answer", "give_up", "error", "failed"]
"""The outcome of a step; `failed` if the model itself failed."""

_COT = re.compile(r"cot@(\d{1,3})", re.IGNORECASE)
_DFS = re.compile(r"dfs(?:_wofilter)?(?:_w(\d{1,2}))?(_filter)?", re.IGNORECASE)


class Strategy(NamedTuple):
    """How to search. `tries` is the number of chains, `width` the number of a node's children in a tree."""

    tries: int = 1
    width: int = 0
    ranks: bool = False

    @classmethod
    def parse(cls, text: str) -> "Strategy":
        """Parse `cot@N`, or `dfs` with `_wN` for a width other than 2, and `_filter`. Raises RigError."""
        if match := _COT.fullmatch(text):
            tries = int(match.group(1))
            if tries:
                return cls(tries)
        elif match := _DFS.fullmatch(text):
            width = int(match.group(1) or 2)
            if width:
                return cls(1, width, bool(match.group(2)))
        raise RigError(f"--set search={text}: choose from cot@N, dfs, dfs_wN and dfs_wN_filter")

    @property
    def method(self) -> str:
        """ToolBench's name of the strategy."""
        if not self.width:
            return f"CoT@{self.tries}"
        return f"DFS{'' if self.ranks else '_woFilter'}_w{self.width}"


@dataclass(eq=False)
class SearchNode:
    """A node. `state` is anything that the caller attaches to it; `step` is the number of its step."""

    kind: Kind
    text: str
    depth: int
    parent: "SearchNode | None" = None
    state: Any = None
    step: int = -1
    observation: str = ""
    code: Code = "ok"
    pruned: bool = False
    terminal: bool = False
    children: list["SearchNode"] = field(default_factory=list)

    @property
    def path(self) -> list["SearchNode"]:
        """The nodes from below the root to this one."""
        path: list[SearchNode] = []
        node: SearchNode | None = self
        while node is not None and node.parent is not None:
            path.append(node)
            node = node.parent
        return path[::-1]

    def walk(self) -> Iterator["SearchNode"]:
        """Yield the node and all below it, parents before their children."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


class Made(NamedTuple):
    """What a model made after a node: words, or a call with its outcome, or both.

    `state` is the state after the call.
    """

    code: Code
    thought: str = ""
    name: str | None = None
    arguments: str = ""
    observation: str = ""
    state: Any = None
    step: int = -1


class Expand(NamedTuple):
    """A request for the next step after a node. Earlier attempts from there are its children."""

    node: SearchNode


class Rank(NamedTuple):
    """A question which of two nodes is better. The answer is True for the first."""

    node: SearchNode
    first: SearchNode
    second: SearchNode


Asked: TypeAlias = Expand | Rank
Searching: TypeAlias = Generator[Asked, Any, "Found"]


@dataclass
class Found:
    """The result of a search. `roots` are the chains' or the tree's; `last` is what the tree returned."""

    strategy: Strategy
    roots: list[SearchNode] = field(default_factory=list)
    terminals: list[SearchNode] = field(default_factory=list)
    given_up: list[SearchNode] = field(default_factory=list)
    queries: int = 0
    last: int = 0

    @property
    def end(self) -> SearchNode | None:
        """The node that counts: the first answer, else in a tree the first that gave up, else None."""
        if self.terminals:
            return self.terminals[0]
        return self.given_up[0] if self.strategy.width and self.given_up else None

    @property
    def size(self) -> int:
        """The number of nodes, including the roots."""
        return sum(1 for root in self.roots for _ in root.walk())

    @property
    def longest(self) -> int:
        """The number of nodes on the longest path, including its root."""
        return max((node.depth + 1 for root in self.roots for node in root.walk()), default=0)


def search(strategy: Strategy, state: Any = None, budget: int = BUDGET) -> Searching:
    """Search from a state until an answer is found."""
    result = Found(strategy)
    if strategy.width:
        root = SearchNode("root", "", 0, state=state)
        result.roots.append(root)
        result.last = yield from _tree(root, result, budget)
    else:
        yield from _chains(result, state)
    return result


def _chains(result: Found, state: Any) -> Generator[Asked, Any, None]:
    for _ in range(result.strategy.tries):
        node = SearchNode("root", "", 0, state=state)
        result.roots.append(node)
        while not (node.pruned or node.terminal or node.depth >= DEPTH):
            result.queries += 1
            node = _grow(node, (yield Expand(node)))
        node.pruned = not node.terminal
        if node.terminal:
            result.terminals.append(node)
            return
        if node.code == "give_up":
            result.given_up.append(node)


def _tree(node: SearchNode, result: Found, budget: int) -> Generator[Asked, Any, int]:
    """Visit a node and what is below it, and return how many levels to go up from it."""
    if node.terminal:
        result.terminals.append(node)
        return 2
    if node.depth >= DEPTH or node.pruned:
        node.pruned = True
        if node.code == "give_up":
            result.given_up.append(node)
            return 2
        return 1
    ends: list[SearchNode] = []
    for _ in range(result.strategy.width):
        result.queries += 1
        step = yield Expand(node)
        if result.queries >= budget:
            return 100_000
        end = _grow(node, step)
        if result.strategy.ranks:
            ends.append(end)
        elif levels := (yield from _below(end, result, budget)):
            return levels
    for end in (yield from _ranked(node, ends, result)):
        if levels := (yield from _below(end, result, budget)):
            return levels
    return 1


def _below(node: SearchNode, result: Found, budget: int) -> Generator[Asked, Any, int]:
    """Visit a child, and return how many levels to go up: 0 to go on with the next child."""
    levels = yield from _tree(node, result, budget)
    return 10_000 if result.terminals else levels - 1


def _ranked(
    node: SearchNode, ends: Sequence[SearchNode], result: Found
) -> Generator[Asked, Any, list[SearchNode]]:
    """Return the nodes, best first: each pair is compared in both orders, and each win is half a point."""
    scores = dict.fromkeys(map(id, ends), 0.0)
    for pair in combinations(ends, 2):
        for one, other in (pair, pair[::-1]):
            result.queries += 1
            better = one if (yield Rank(node, one, other)) else other
            scores[id(better)] += 0.5
    return sorted(ends, key=lambda end: scores[id(end)], reverse=True)


def _grow(node: SearchNode, step: Made) -> SearchNode:
    """Add the nodes of a step, and return the last. Only a call's input node has the state after it."""
    if step.thought or step.name is None:
        node = _child(node, "thought", step.thought, step.step)
    if step.name is not None:
        node = _child(node, "action", step.name, step.step)
        node = _child(node, "input", step.arguments, step.step)
        node.state, node.observation = step.state, step.observation
    node.code = step.code
    node.terminal = step.code == "answer"
    node.pruned = step.code in ("give_up", "failed")
    return node


def _child(node: SearchNode, kind: Kind, text: str, step: int) -> SearchNode:
    child = SearchNode(kind, text, node.depth + 1, node, node.state, step)
    node.children.append(child)
    return child
