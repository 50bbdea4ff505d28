"""An answer's nodes as the steps of a turn, so that it is shown like any other."""

import json
from collections.abc import Iterator, Sequence

from rig.calls import Call, ExecutedCall, Json, Outcome
from rig.episodes import ASSISTANT, PlayedTurn, Step
from rig.methods.scripted import replied
from rig.models import Prediction
from rig.solutions.solution import FINISH, Node, Solution


def steps_of(solution: Solution | None) -> tuple[Step, ...]:
    """The nodes below the beginning. Of a tree each says which one it follows, of a chain none does."""
    if solution is None:
        return ()
    numbered = list(_numbered(solution.details))
    is_tree = any(parent != number - 1 for number, (_, parent) in enumerate(numbered))
    return tuple(_step(node, parent if is_tree else None) for node, parent in numbered)


def _numbered(roots: Sequence[Node]) -> Iterator[tuple[Node, int]]:
    """The nodes that are steps, each before those below it, with the number of the one above it."""
    waiting = [(root, -1) for root in reversed(roots)]
    number = 0
    while waiting:
        node, above = waiting.pop()
        is_beginning = node.role in ("system", "user") and not node.message
        if not is_beginning:
            yield node, above
            above, number = number, number + 1
        waiting += [(child, above) for child in reversed(node.next)]


def _step(node: Node, parent: int | None) -> Step:
    """A node; an error of a tool is one that it reported as ToolBench's do."""
    call = node.call
    if call is None:
        role = node.role if node.role == "user" else ASSISTANT
        return Step(replied(node.text), role=role, parent=parent)
    arguments, answer = _json(call.arguments), _json(call.response)
    asked = Call(call.name, arguments if isinstance(arguments, dict) else call.arguments)
    outcome = Outcome(call.response)
    if call.name == FINISH:
        outcome = Outcome("")
    elif isinstance(answer, dict) and {"error", "response"} <= answer.keys():
        error = answer["error"]
        text = error if isinstance(error, str) else json.dumps(error)
        outcome = Outcome(answer["response"], text or None)
    return Step(Prediction(raw=call.arguments, call=asked), ExecutedCall(asked, outcome), parent=parent)


def _json(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def calls_of(turns: Sequence[PlayedTurn]) -> list[ExecutedCall]:
    """The calls of tools, without Finish."""
    return [call for turn in turns for call in turn.executed if call.name != FINISH]


def path_of(turns: Sequence[PlayedTurn]) -> list[Step]:
    """The first step, and of every step the first that follows: what metrics read of a tree."""
    steps = [step for turn in turns for step in turn.steps]
    path: list[Step] = []
    last = -1
    for number, step in enumerate(steps):
        if (number - 1 if step.parent is None else step.parent) == last:
            path.append(step)
            last = number
    return path
