"""Solutions as raw answers, as ToolBench's inference would have written them: a chain, or a tree."""

import re
from collections.abc import Iterator, Sequence

from rig.calls import JsonObject
from rig.solutions.solution import FINISH, Node, Solution, followed
from rig.solutions.trajectory import Searched

_WAY = re.compile(r"CoT@\d{1,6}|DFS\w*")
"""What ToolBench calls its ways of search."""

DEPTH = 12
BUDGET = 200
DEEPEST = 200
"""Levels of a tree that is written; Python's own reader of JSON knows no more than some hundreds."""


def raw_of(
    solution: Solution, tree: Sequence[Node] = (), search: Searched | None = None
) -> tuple[str, JsonObject]:
    """A raw answer, and what ToolBench calls its way of search.

    Without a `search`, a `tree` was searched depth first, and so was an answer that says so of itself; what
    has none is one chain. It converts to the solution again but for thoughts beside calls.
    """
    way = solution.method if search is None and _WAY.fullmatch(solution.method) else ""
    is_deep = way.startswith("DFS")
    # A tree begins with an empty system and an empty user node.
    systems = tree or (solution.details if is_deep else ())
    roots = tuple(step for system in systems for user in system.next for step in user.next)
    is_tree = bool(search.width) if search else bool(roots) or is_deep
    if is_tree and _levels(roots) <= DEEPEST:
        return _searched(solution, roots, search)
    chain = list(_nodes(solution.chain[2:]))
    is_valid = solution.is_finished and solution.final == "answer"
    chains = [list(_nodes(tuple(followed([root])))) for root in roots] if search and not is_tree else []
    tries = [{"chain": nodes, "win": is_valid and nodes == chain} for nodes in chains or [chain]]
    name = search.name if search and not is_tree else way if way and not is_deep else "CoT@1"
    attempts = int(name.removeprefix("CoT@"))
    return name, {
        "win": is_valid,
        "try_count": len(tries),
        "trys": tries,
        "compare_candidates": [chain] if is_valid else [],
        "forward_args": {"single_chain_max_step": DEPTH, "pass_at": attempts, "answer": 1},
        "answer_generation": _made(solution, is_valid, search),
    }


def _searched(solution: Solution, roots: Sequence[Node], search: Searched | None) -> tuple[str, JsonObject]:
    """A raw answer with the tree that was searched, from its first steps on."""
    is_ended = solution.is_finished and solution.final != "none"
    is_valid = is_ended and solution.final == "answer"
    whole = {**_node("Action Input", "", 0), "io_state": {}, "children": list(map(_branch, roots))}
    nodes = [whole]
    for node in nodes:
        nodes += node["children"]
    steps = sum(node.role in ("tool", "assistant") for root in roots for node in root.walk())
    widest = max(len(node["children"]) for node in nodes)
    is_named = _WAY.fullmatch(solution.method) and solution.method.startswith("DFS")
    name = solution.method if is_named else f"DFS_woFilter_w{widest}"
    told = search or Searched(name, (), steps, widest, budget=BUDGET)
    asked = {"tree_beam_size": told.width, "max_query_count": told.budget, "answer": 1}
    kind = "give_up" if solution.final == "give_up" else "give_answer"
    return told.name, {
        "win": is_valid,
        "tree": {"size": len(nodes), "max_length": _levels(roots), "tree": whole},
        "forward_args": {"single_chain_max_step": DEPTH, **asked, "with_filter": told.ranks},
        "compare_candidates": [list(_nodes(solution.chain[2:]))] if is_valid else [],
        "answer_generation": {**_made(solution, is_ended, told), "finish_type": kind},
    }


def _made(solution: Solution, is_valid: bool, search: Searched | None) -> JsonObject:
    """What is said about an answer, for any way of searching."""
    steps = sum(node.role in ("tool", "assistant") for node in solution.chain)
    return {
        "valid_data": is_valid,
        "final_answer": solution.final_answer if is_valid else "",
        "function": list(solution.tools),
        "query_count": search.queries if search else steps,
        "total_tokens": 0,
        "train_messages": [_messages(solution)] if is_valid else [],
        "chain": [],
        "query": solution.query,
    }


def _levels(roots: Sequence[Node]) -> int:
    """The nodes of the longest path, as raw answers count them, with the root."""
    most, waiting = 1, [(root, 1) for root in roots]
    while waiting:
        node, above = waiting.pop()
        depth = above + (2 if node.call else 1)
        most = max(most, depth)
        waiting += [(child, depth) for child in node.next]
    return most


def _branch(node: Node, depth: int = 0) -> JsonObject:
    """A step with all that follows it: a thought, or an action and what it was given."""
    nodes = list(_nodes([node], depth))
    below = [_branch(child, depth + len(nodes)) for child in node.next]
    for raw in reversed(nodes):
        raw |= {"children": below, "child_count": len(below)}
        below = [raw]
    return nodes[0]


def _nodes(nodes: Sequence[Node], depth: int = 0) -> Iterator[JsonObject]:
    """The nodes of a chain: a thought is one, a call is two."""
    for node in nodes:
        if (call := node.call) is None:
            depth += 1
            yield _node("Thought", node.text, depth)
        else:
            depth += 2
            yield _node("Action", call.name, depth - 1)
            observed = {"observation": call.response} if call.response else {}
            yield {**_node("Action Input", call.arguments, depth), **observed, "io_state": {}}


def _node(kind: str, text: str, depth: int) -> JsonObject:
    state = {"is_terminal": False, "pruned": False, "finished": False, "depth": depth}
    counts = {"Elo": 1000.0, "child_count": 1, "expand_num": 0}
    return {**state, "node_type": kind, "description": text, **counts}


def _messages(solution: Solution) -> list[JsonObject]:
    """The whole conversation, in OpenAI's older form."""
    messages: list[JsonObject] = [
        {"role": "system", "content": ""},
        {"role": "user", "content": f"\n{solution.query}\nBegin!\n"},
    ]
    for node in solution.chain[2:]:
        call = node.call
        if call is None:
            role = "user" if node.role == "user" else "assistant"
            messages.append({"role": role, "content": node.text})
            continue
        asked = {"name": call.name, "arguments": call.arguments}
        messages.append({"role": "assistant", "content": None, "function_call": asked})
        if call.name != FINISH:
            messages.append({"role": "function", "name": call.name, "content": call.response})
    return messages
