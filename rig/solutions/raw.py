"""Solutions as raw answers, as ToolBench's inference would have written them: a single chain each."""

from collections.abc import Iterator, Sequence

from rig.calls import JsonObject
from rig.solutions.solution import FINISH, GIVE_UP, Node, Solution

METHOD = "CoT@1"
DEPTH = 12


def raw_of(solution: Solution) -> JsonObject:
    """A raw answer of one chain, which converts to the solution again but for thoughts beside calls."""
    chain = list(_nodes(solution.chain[2:]))
    is_valid = solution.is_finished and bool(solution.final_answer) and GIVE_UP not in solution.final_answer
    candidates = [chain] if is_valid else []
    return {
        "win": is_valid,
        "try_count": 1,
        "trys": [{"chain": chain, "win": is_valid}],
        "compare_candidates": candidates,
        "forward_args": {"single_chain_max_step": DEPTH, "pass_at": 1, "answer": 1},
        "answer_generation": {
            "valid_data": is_valid,
            "final_answer": solution.final_answer if is_valid else "",
            "function": list(solution.tools),
            "query_count": sum(node.role in ("tool", "assistant") for node in solution.chain),
            "total_tokens": 0,
            "train_messages": [_messages(solution)] if is_valid else [],
            "chain": [],
            "query": solution.query,
        },
    }


def _nodes(nodes: Sequence[Node]) -> Iterator[JsonObject]:
    """The nodes of a chain: a thought is one, a call is two."""
    depth = 0
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
