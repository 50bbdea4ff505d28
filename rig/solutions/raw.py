"""Solutions as raw answers, as ToolBench's inference would have written them: a chain, or a tree."""

from collections.abc import Iterator, Sequence

from rig.calls import JsonObject
from rig.solutions.solution import FINISH, Node, Solution

DEPTH = 12
BUDGET = 200
DEEPEST = 200
"""Levels of a tree that is written; Python's own reader of JSON knows no more than some hundreds."""


def raw_of(solution: Solution, tree: Sequence[Node] = ()) -> tuple[str, JsonObject]:
    """A raw answer, and what ToolBench calls its way of search: one chain, or the `tree` that was searched.

    It converts to the solution again but for thoughts beside calls.
    """
    chain = list(_nodes(solution.chain[2:]))
    roots = _below_user(tree)
    is_ended = solution.is_finished and solution.final != "none"
    is_valid = is_ended and solution.final == "answer"
    candidates = [chain] if is_valid else []
    if not roots or _levels(roots) > DEEPEST:
        found: JsonObject = {
            "win": is_valid,
            "try_count": 1,
            "trys": [{"chain": chain, "win": is_valid}],
            "compare_candidates": candidates,
            "forward_args": {"single_chain_max_step": DEPTH, "pass_at": 1, "answer": 1},
            "answer_generation": _made(solution, is_valid),
        }
        return "CoT@1", found
    whole = {**_node("Action Input", "", 0), "io_state": {}, "children": list(map(_branch, roots))}
    nodes = list(_walk(whole))
    width = max(len(node["children"]) for node in nodes)
    asked = {"tree_beam_size": width, "max_query_count": BUDGET, "answer": 1, "with_filter": False}
    kind = "give_up" if solution.final == "give_up" else "give_answer"
    steps = sum(node.role in ("tool", "assistant") for root in roots for node in root.walk())
    return f"DFS_woFilter_w{width}", {
        "win": is_valid,
        "tree": {"size": len(nodes), "max_length": _levels(roots), "tree": whole},
        "forward_args": {"single_chain_max_step": DEPTH, **asked},
        "compare_candidates": candidates,
        "answer_generation": {**_made(solution, is_ended), "query_count": steps, "finish_type": kind},
    }


def _made(solution: Solution, is_valid: bool) -> JsonObject:
    """What is said of an answer, whatever way it was searched for."""
    return {
        "valid_data": is_valid,
        "final_answer": solution.final_answer if is_valid else "",
        "function": list(solution.tools),
        "query_count": sum(node.role in ("tool", "assistant") for node in solution.chain),
        "total_tokens": 0,
        "train_messages": [_messages(solution)] if is_valid else [],
        "chain": [],
        "query": solution.query,
    }


def _below_user(tree: Sequence[Node]) -> tuple[Node, ...]:
    """A tree without the empty nodes that it begins with."""
    return tuple(step for system in tree for user in system.next for step in user.next)


def _levels(roots: Sequence[Node]) -> int:
    """The nodes of the longest path, as raw answers count them, with the root."""
    most, waiting = 1, [(root, 1) for root in roots]
    while waiting:
        node, above = waiting.pop()
        depth = above + (2 if node.call else 1)
        most = max(most, depth)
        waiting += [(each, depth) for each in node.next]
    return most


def _branch(node: Node, depth: int = 0) -> JsonObject:
    """A step with all that follows it: a thought, or an action and what it was given."""
    made = list(_nodes([node], depth))
    below = [_branch(each, depth + len(made)) for each in node.next]
    for each in reversed(made):
        each |= {"children": below, "child_count": len(below)}
        below = [each]
    return made[0]


def _walk(node: JsonObject) -> Iterator[JsonObject]:
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += found["children"]


def _nodes(nodes: Sequence[Node], depth: int = 0) -> Iterator[JsonObject]:
    """The nodes of a chain: a thought is one, a call is two."""
    for node in nodes:
        call = node.call
        if call is None:
            depth += 1
            yield _node("Thought", node.text, depth)
            continue
        depth += 2
        yield _node("Action", call.name, depth - 1)
        given = _node("Action Input", call.arguments, depth)
        yield {**given, **({"observation": call.response} if call.response else {}), "io_state": {}}


def _node(kind: str, text: str, depth: int) -> JsonObject:
    return {
        "is_terminal": False,
        "pruned": False,
        "finished": False,
        "depth": depth,
        "node_type": kind,
        "description": text,
        "Elo": 1000.0,
        "child_count": 1,
        "expand_num": 0,
    }


def _messages(solution: Solution) -> list[JsonObject]:
    """The whole conversation, in OpenAI's older form."""
    found: list[JsonObject] = [
        {"role": "system", "content": ""},
        {"role": "user", "content": f"\n{solution.query}\nBegin!\n"},
    ]
    for node in solution.chain[2:]:
        call = node.call
        if call is None:
            role = "user" if node.role == "user" else "assistant"
            found.append({"role": role, "content": node.text})
            continue
        asked = {"name": call.name, "arguments": call.arguments}
        found.append({"role": "assistant", "content": None, "function_call": asked})
        if call.name != FINISH:
            found.append({"role": "function", "name": call.name, "content": call.response})
    return found
