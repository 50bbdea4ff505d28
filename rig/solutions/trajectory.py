"""A played task as a solution, for any method: what was asked, called and said."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import dropwhile
from typing import NamedTuple

from rig.calls import ExecutedCall, JsonObject
from rig.models import ToolDoc
from rig.solutions.solution import (
    FINISH,
    GIVE_ANSWER,
    GIVE_UP,
    Node,
    Solution,
    as_text,
    begun,
    chain_of,
    counted,
    tool_node,
)
from rig.tasks import PlayedTurn, Step, Task

FINISH_TOOL = ToolDoc(
    FINISH,
    "End the task. Give the answer to the user's query, or give up where it cannot be answered from here. The"
    " user sees nothing but the final answer.",
    {
        "type": "object",
        "properties": {
            "return_type": {
                "type": "string",
                "enum": [GIVE_ANSWER, GIVE_UP],
                "description": "Whether this is an answer.",
            },
            "final_answer": {
                "type": "string",
                "description": "The whole answer, as the user is to read it; needed with give_answer.",
            },
        },
        "required": ["return_type"],
        "additionalProperties": False,
    },
)
"""What every solution ends with."""


class Searched(NamedTuple):
    """A way of search by ToolBench's name, such as `CoT@3`, and what came of it.

    `kept` are the numbers of the steps that are nodes. The others compared nodes, or came when nothing more
    could be asked. `width` is that of a tree, 0 if chains were tried one after another.
    """

    name: str
    kept: Collection[int]
    queries: int
    width: int = 0
    ranks: bool = False
    budget: int = 0


class Finished(NamedTuple):
    """One finished task of one arm. `model` is the arm's name, and which repeat it was after the first.

    There is no `solution` where it was to be made elsewhere and was not. Of those made elsewhere nobody knows
    of `success`. `tree` is all that was tried by a `search`, or where that is more than one path.
    """

    model: str
    name: str
    suite: str
    solution: Solution | None
    success: bool | None
    tree: tuple[Node, ...] = ()
    search: Searched | None = None


def solution_of(
    task: Task,
    turns: Sequence[PlayedTurn],
    tools: Sequence[ToolDoc],
    role: str,
    method: str,
    path: Sequence[Step] | None = None,
) -> Solution:
    """What the one who was evaluated did, the only speaker of `role`.

    Of a search `path` are the steps that count, and it has an answer only if Finish was called. Elsewhere the
    last reply is the answer, as if Finish had been called with it; so is a last call where the task ended
    with one.
    """
    nodes: list[Node] = []
    for turn in turns:
        nodes += [Node("user", text) for text in task.expected(turn.turn).said]
        nodes += [_node(step, role) for step in turn.steps if path is None]
    if path is not None:
        nodes += [_node(step, role) for step in path]
    query = "\n".join(node.text for node in nodes if node.role == "user")
    # The words that began it all are the query.
    nodes, final = _finished(
        list(dropwhile(lambda node: node.role == "user", nodes)), turns, path is not None
    )
    details = begun(chain_of(nodes))
    functions = [function_of(tool) for tool in tools]
    if not any(tool.name == FINISH for tool in tools):
        functions.append(function_of(FINISH_TOOL))
    return Solution(query, tuple(functions), method, counted(details), final, details)


def tree_of(turns: Sequence[PlayedTurn], role: str, search: Searched | None = None) -> tuple[Node, ...]:
    """All that a `search` tried. Of other steps what they tried if they form a tree; nothing of a line."""
    steps = [step for turn in turns for step in turn.steps]
    is_line = len(turns) != 1 or all(step.parent in (None, number - 1) for number, step in enumerate(steps))
    if search is None and is_line:
        return ()
    below: dict[int, tuple[Node, ...]] = {-1: ()}
    for number, step in reversed(list(enumerate(steps))):
        if search is not None and number not in search.kept:
            continue
        node = replace(_node(step, role), next=below.get(number, ()))
        above = number - 1 if step.parent is None else step.parent
        below[above] = (node, *below.get(above, ()))
    return begun(below[-1])


def function_of(tool: ToolDoc) -> JsonObject:
    """A tool as upstream's files declare it."""
    properties = tool.parameters.get("properties", {})
    required = list(tool.parameters.get("required", []))
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": required,
            "optional": [name for name in properties if name not in required],
        },
    }


def observation(executed: ExecutedCall) -> str:
    """The outcome of a call, as upstream's tools answer."""
    return as_text({"error": executed.exception or "", "response": executed.response})


def _node(step: Step, role: str) -> Node:
    prediction = step.prediction
    if step.role != role:
        return Node("user", prediction.reply or "")
    if prediction.call is None:
        return Node("assistant", prediction.reply or prediction.error_detail or str(prediction.error or ""))
    name = prediction.call.name
    response = "" if name == FINISH or step.executed is None else observation(step.executed)
    return tool_node(name, as_text(prediction.call.arguments), response)


def _finished(nodes: list[Node], turns: Sequence[PlayedTurn], is_search: bool) -> tuple[list[Node], str]:
    """The nodes with an end, and the final answer; none where the last step failed."""
    last = nodes[-1] if nodes else None
    error = turns[-1].error if turns else None
    if last is None or error is not None:
        return nodes, ""
    call = last.call
    if call is not None and call.name == FINISH:
        return nodes, call.arguments
    if last.role == "user" or is_search:
        return nodes, ""
    words = last.text if call is None else f"{call.name}({call.arguments})"
    final = as_text({"return_type": GIVE_ANSWER, "final_answer": words})
    kept = nodes[:-1] if call is None else nodes
    return [*kept, tool_node(FINISH, final, "")], final
