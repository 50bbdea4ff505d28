"""Raw answers, as ToolBench's inference writes them: converting them to solutions, and back.

Sources: upstream's `convert_to_answer_format.py`, and StableToolBench's for messages of OpenAI's newer shape.
Unlike these, rig also reads empty observations, a last call without an answer, and answers without messages.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile, zip_longest
from random import Random
from typing import cast, get_args

from pydantic import Field

from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.plugins.documents.documents import Foreign, Many, parsed
from rig.plugins.solutions.rules import SEED, Shape
from rig.plugins.solutions.solution import (
    FINISH,
    Node,
    Searched,
    Solution,
    as_text,
    begun,
    chain_of,
    counted,
    followed,
    tool_node,
)

_METHOD = re.compile(r"(?:CoT@\d+|DFS\w*)$", re.IGNORECASE)


def checked_shape(text: str) -> Shape:
    """Return the text as a shape of answers. Raises RigError if there is none of that name."""
    if text not in get_args(Shape):
        raise RigError(f"no shape of answers is called {text}; choose from: {', '.join(get_args(Shape))}")
    return cast(Shape, text)


def is_raw(data: Json) -> bool:
    """Return whether this JSON is a raw answer."""
    return isinstance(data, dict) and isinstance(data.get("answer_generation"), dict)


def query_id(stem: str) -> str:
    """Return the id of the query from the name of a raw answer's file."""
    return stem.partition("_")[0]


def method_of(stem: str) -> str:
    """Return the way of search from the name of a raw answer's file, or all that follows the id."""
    rest = stem.partition("_")[2]
    match = _METHOD.search(rest)
    return match.group() if match else rest


class _RawCall(Foreign):
    name: str
    arguments: Json = ""


class _RawToolCall(Foreign):
    id: str | None = None
    function: _RawCall


class _RawMessage(Foreign):
    role: str
    content: Json = None
    function_call: _RawCall | None = None
    tool_calls: Many[_RawToolCall] | None = None
    tool_call_id: str | None = None


class _RawNode(Foreign):
    node_type: str
    description: Json = ""
    observation: Json = ""
    children: Many["_RawNode"] = Field([])


class _Try(Foreign):
    chain: Many[_RawNode]


class _Root(Foreign):
    children: Many[_RawNode] = Field([])


class _Tree(Foreign):
    tree: _Root


class _AnswerGeneration(Foreign):
    valid_data: bool
    final_answer: Json = ""
    query: str = ""
    function: Many[JsonObject]
    train_messages: Many[Many[_RawMessage]] | None = None


class _Raw(Foreign):
    answer_generation: _AnswerGeneration
    tree: _Tree | None = None
    trys: Many[_Try] = Field([])


def convert(data: Json, method: str, where: str, shape: Shape = "seeded", seed: int = SEED) -> Solution:
    """Convert a raw answer to a solution. Raises RigError if it is not a raw answer.

    The walk through each answer has a generator of its own, so that it does not depend on other files.
    """
    raw = parsed(_Raw, data, where, "a raw answer")
    generation, messages = raw.answer_generation, raw.answer_generation.train_messages or []
    is_valid = generation.valid_data and bool(messages)
    is_whole = checked_shape(shape) == "tree" and raw.tree is not None
    try:
        if is_valid and not is_whole:
            following = chain_of(list(_conversation(messages[-1])))
        elif raw.tree is not None:
            following = tuple(map(_step, raw.tree.tree.children))
            following = following if is_whole else _path(following, shape, Random(seed))
        else:
            tries = [list(_steps(attempt.chain)) for attempt in raw.trys] or [[]]
            chosen = max(tries, key=len) if shape == "longest" else Random(seed).choice(tries)
            following = chain_of(chosen)
    except ValueError as error:
        raise RigError(f"{where}: not a raw answer: {error}") from error
    details = begun(following)
    final = as_text(generation.final_answer or "") if is_valid else ""
    return Solution(generation.query, tuple(generation.function), method, counted(details), final, details)


def _conversation(messages: Sequence[_RawMessage]) -> Iterator[Node]:
    """Yield the steps of a whole conversation, without its first two messages and thoughts beside calls.

    In the newer shape, a call's result is found by its id, else by order. Calls after a Finish are ignored.
    """
    answers = {message.tool_call_id: message for message in messages if message.role == "tool"}
    for number, message in enumerate(messages):
        if number < 2 or message.role != "assistant":
            continue
        behind = messages[number + 1 :]
        if message.function_call:
            call = message.function_call
            response = behind[0].content if behind and call.name != FINISH else ""
            yield tool_node(call.name, as_text(call.arguments), as_text(response or ""))
        elif message.tool_calls:
            results = takewhile(lambda other: other.role in ("tool", "function"), behind)
            unnamed = (other for other in results if other.tool_call_id is None)
            for tool_call in message.tool_calls:
                call = tool_call.function
                by_id = answers.get(tool_call.id) if tool_call.id is not None else None
                answer = None if call.name == FINISH else by_id or next(unnamed, None)
                response = answer.content if answer else ""
                yield tool_node(call.name, as_text(call.arguments), as_text(response or ""))
                if call.name == FINISH:
                    break
        else:
            yield Node("assistant", as_text(message.content or ""))


def _steps(chain: Sequence[_RawNode]) -> Iterator[Node]:
    for node, following in zip_longest(chain, chain[1:]):
        if node.node_type == "Thought":
            yield Node("assistant", _message(node.description))
        elif node.node_type == "Action":
            yield _called(node, following)


def _step(node: _RawNode) -> Node:
    """Convert a node with all nodes below it. An action and its input become one step."""
    if node.node_type == "Thought":
        return Node("assistant", _message(node.description), tuple(map(_step, node.children)))
    if node.node_type != "Action":
        raise ValueError(f"a {node.node_type} follows on no Action")
    action_input = node.children[0] if node.children else None
    return _called(node, action_input, tuple(map(_step, action_input.children)) if action_input else ())


def _called(node: _RawNode, action_input: _RawNode | None, following: tuple[Node, ...] = ()) -> Node:
    """Make a call from an action, which has its name, and the next node, if any, which has the rest."""
    arguments, observed = (action_input.description, action_input.observation) if action_input else ("", "")
    return tool_node(as_text(node.description), as_text(arguments), as_text(observed), following)


def _message(value: Json) -> Json:
    return value if isinstance(value, dict) else as_text(value)


def _path(following: tuple[Node, ...], shape: Shape, random: Random) -> tuple[Node, ...]:
    """Return one path through a tree: the (first) longest one, or a random choice at every branch."""
    depths: dict[int, int] = {}
    if shape == "longest":
        order = [node for root in following for node in root.walk()]
        for node in reversed(order):
            depths[id(node)] = 1 + max((depths[id(child)] for child in node.next), default=0)
    path: list[Node] = []
    random.choice("u")  # upstream's walk begins at the system node, which has one way on
    while following:
        node = max(following, key=lambda child: depths[id(child)]) if depths else random.choice(following)
        path.append(node)
        following = node.next
    return chain_of(path)


_WAY = re.compile(r"(?:CoT@\d{1,6}|DFS\w*)$")
"""ToolBench's names for its ways of search, at the end of a method's name."""

DEPTH = 12
BUDGET = 200
DEEPEST = 200
"""The most levels of a tree that is written, as Python's JSON reader fails at some hundreds."""


def raw_of(
    solution: Solution, tree: Sequence[Node] = (), search: Searched | None = None
) -> tuple[str, JsonObject]:
    """Return the name of ToolBench's way of search, and the raw answer of a solution.

    Without a `search`, a `tree` counts as searched depth first, as does an answer whose method says so. All
    others are one chain. It converts back to the same solution, except for thoughts beside calls.
    """
    way = "" if search else _way(solution.method)
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


def _way(method: str) -> str:
    """Return the way of search at the end of a method's name; DFS for folders such as `chatgpt_dfs`."""
    match = _WAY.search(method)
    return match.group() if match else "DFS" if "dfs" in method.casefold() else ""


def _searched(solution: Solution, roots: Sequence[Node], search: Searched | None) -> tuple[str, JsonObject]:
    """Return a raw answer with the searched tree, whose first steps are `roots`."""
    is_ended = solution.is_finished and solution.final != "none"
    is_valid = is_ended and solution.final == "answer"
    whole = {**_node("Action Input", "", 0), "io_state": {}, "children": list(map(_branch, roots))}
    nodes = [whole]
    for node in nodes:
        nodes += node["children"]
    steps = sum(node.role in ("tool", "assistant") for root in roots for node in root.walk())
    widest = max(len(node["children"]) for node in nodes)
    way = _way(solution.method)
    name = way if way.startswith("DFS") else f"DFS_woFilter_w{widest}"
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
    """Return the part of a raw answer that is the same for all ways of search."""
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
    """Return how many raw nodes the longest path has, with the root."""
    most, waiting = 1, [(root, 1) for root in roots]
    while waiting:
        node, above = waiting.pop()
        depth = above + (2 if node.call else 1)
        most = max(most, depth)
        waiting += [(child, depth) for child in node.next]
    return most


def _branch(node: Node, depth: int = 0) -> JsonObject:
    """Return the raw nodes of a step and all that follow: a thought, or an action and its input."""
    nodes = list(_nodes([node], depth))
    below = [_branch(child, depth + len(nodes)) for child in node.next]
    for raw in reversed(nodes):
        raw |= {"children": below, "child_count": len(below)}
        below = [raw]
    return nodes[0]


def _nodes(nodes: Sequence[Node], depth: int = 0) -> Iterator[JsonObject]:
    """Yield the raw nodes of a chain: one for a thought, two for a call."""
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
    """Return the whole conversation as messages in OpenAI's older form."""
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
