"""Solutions as ToolEval reads them: a query, the tools on offer, and the path that an answer took.

Source: ToolBench's `toolbench/tooleval` (Apache-2.0), whose files of converted answers these are. Upstream's
older files hold what a tool said as the text of a Python dict; both spellings are read. A played task of any
method is a solution, too: what was asked, called and said.
"""

import ast
import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import dropwhile
from math import log
from typing import Literal, NamedTuple, TypeAlias

from rig.core.budget import DEEPEST, parse_json
from rig.core.calls import ExecutedCall, Json, JsonObject
from rig.core.errors import RigError
from rig.core.models import ToolDoc
from rig.core.tasks import PlayedTurn, SearchPath, Step, Task

FINISH = "Finish"
"""The function that ends a solution."""

GIVE_ANSWER, GIVE_UP = "give_answer", "give_up_and_restart"
"""The ways to finish."""

LONGEST_REPR = 1_000_000
"""The longest Python dict that is read, in characters; a longer one is kept as text."""

_STRING = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_ITEMS = re.compile(rf"(?:(?<=^\{{)|(?<=, ))'(?:name|arguments|response)': {_STRING}(?=[,}}])", re.DOTALL)

_ABOVE = 4
"""The levels of a file of converted answers above the first step."""

Final: TypeAlias = Literal["answer", "give_up", "none"]


class Message(NamedTuple):
    """A call of a tool, as the model wrote it, and the tool's response."""

    name: str
    arguments: str
    response: str


@dataclass(frozen=True)
class Node:
    """A step of a solution. `message` is as the file has it: text, or for a tool an object or its text."""

    role: str
    message: Json = ""
    next: tuple["Node", ...] = ()

    @cached_property
    def call(self) -> Message | None:
        """The call in a tool's message; None for other roles, and for text that is not a call."""
        value = self.message if self.role == "tool" else None
        if isinstance(value, str):
            # Upstream's published messages can be cut off; the items that are whole are read.
            whole = [match.group() for match in _ITEMS.finditer(value[:LONGEST_REPR])]
            value = _literal(value) or _literal(f"{{{', '.join(whole)}}}")
        if not isinstance(value, dict) or not isinstance(value.get("name"), str):
            return None
        return Message(*(as_text(value.get(name, "")) for name in Message._fields))

    @property
    def text(self) -> str:
        """The message as upstream prints it: an object as Python would."""
        return self.message if isinstance(self.message, str) else str(self.message)

    def walk(self) -> Iterator["Node"]:
        """Yield the node and all nodes below it, each before its children."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.next))

    def as_json(self, levels: int = DEEPEST - _ABOVE) -> JsonObject:
        """Return the node as upstream's files have it, each step within the one before.

        Raises RigError for more steps than fit into as many levels of lists and objects.
        """
        if levels < 2:
            raise RigError(
                f"an answer has more than {(DEEPEST - _ABOVE) // 2} steps; a file of converted answers has"
                f" each within the one before, and {DEEPEST} levels at most"
            )
        following = [child.as_json(levels - 2) for child in self.next]
        return {"role": self.role, "message": self.message, "next": following}


@dataclass(frozen=True)
class Solution:
    """One answer to one query. `final_answer` is what Finish was called with, as the model wrote it."""

    query: str
    tools: tuple[JsonObject, ...]
    method: str
    total_steps: int
    final_answer: str
    details: tuple[Node, ...]

    @cached_property
    def chain(self) -> tuple[Node, ...]:
        """The nodes that are read: the first root, and the first child of every node."""
        return tuple(followed(self.details))

    @property
    def steps(self) -> tuple[Node, ...]:
        """The nodes of the chain in which a tool was called."""
        return tuple(node for node in self.chain if node.role == "tool" and node.message)

    @property
    def step_text(self) -> str:
        """The steps as upstream's metrics and tables show them."""
        return "\n".join(f"Step {number}: {node.text}" for number, node in enumerate(self.steps, start=1))

    @property
    def final_step(self) -> str:
        """The last step as upstream shows it; empty if there is none."""
        return f"Final step: {self.steps[-1].text}" if self.steps else ""

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The names of the tools on offer."""
        return tuple(str(tool.get("name", "")) for tool in self.tools)

    @property
    def is_finished(self) -> bool:
        """Whether the last step is a call of Finish."""
        if not self.steps:
            return False
        last = self.steps[-1]
        if last.call is not None:
            return last.call.name == FINISH
        return f"'name': '{FINISH}'" in last.text

    @property
    def final(self) -> Final:
        """How the solution ends: with an answer, by giving up, or without either."""
        if not self.final_answer:
            return "none"
        return "give_up" if GIVE_UP in self.final_answer else "answer"

    @property
    def final_words(self) -> str:
        """The text of the answer that Finish was called with."""
        finish = json_value(self.final_answer)
        words = finish.get("final_answer") if isinstance(finish, dict) else None
        return words if isinstance(words, str) else self.final_answer

    @property
    def invented(self) -> tuple[str, ...]:
        """The names of called tools that are not on offer, anywhere in the tree."""
        on_offer = set(self.tool_names)
        calls = (node.call for root in self.details for node in root.walk())
        return tuple(call.name for call in calls if call is not None and call.name not in on_offer)

    def as_json(self) -> JsonObject:
        """Return the solution as upstream's files of converted answers have it."""
        return {
            "query": self.query,
            "available_tools": list(self.tools),
            "answer": {
                "method": self.method,
                "total_steps": self.total_steps,
                "final_answer": self.final_answer,
                "answer_details": [node.as_json() for node in self.details],
            },
        }


def as_text(value: Json) -> str:
    """Return a text as it is, and any other value as JSON."""
    return value if isinstance(value, str) else readable(value)


def readable(value: Json) -> str:
    """Return a value as JSON, with letters of any script left unescaped."""
    return json.dumps(value, ensure_ascii=False)


def chain_of(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Make a tree in which each node is the only child of the one before; return its root, or nothing."""
    below: tuple[Node, ...] = ()
    for node in reversed(nodes):
        below = (replace(node, next=below),)
    return below


def followed(roots: Sequence[Node]) -> Iterator[Node]:
    """Yield the first root, and the first child of every node."""
    while roots:
        yield roots[0]
        roots = roots[0].next


def begun(following: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return a tree of these steps below an empty system and user node, as upstream's files begin."""
    return (Node("system", "", (Node("user", "", following),)),)


def tool_node(name: str, arguments: str, response: str, following: tuple[Node, ...] = ()) -> Node:
    """Return a step in which a tool was called."""
    return Node("tool", Message(name, arguments, response)._asdict(), following)


def counted(details: Sequence[Node]) -> int:
    """Return how many nodes there are in all."""
    return sum(1 for root in details for _ in root.walk())


def json_value(text: str) -> Json:
    """Return the value of a JSON text; None for any other text."""
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        return None


def _literal(text: str) -> Json:
    """Return the value of a Python literal; None for any other text. Nothing is executed."""
    if len(text) > LONGEST_REPR:
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


APOLOGIES = ("sorry", "apologize", "apology", "unfortunately", "couldn't")
"""If any of these is in an answer, in any case, the answer fails by the keyword rule."""


def keyword_pass(solution: Solution) -> bool:
    """Return whether a solution ends with an answer that has no word of apology."""
    words = solution.final_answer.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    is_answer = solution.is_finished and solution.final == "answer"
    return is_answer and not any(word in words for word in APOLOGIES)


def without_judge(solution: Solution | None) -> dict[str, float]:
    """Return the counts of an answer that need no judge."""
    if solution is None:
        return {"answered": 0, "finished": 0}
    return {
        "answered": 1,
        "finished": int(solution.is_finished and solution.final == "answer"),
        "keyword_passes": int(keyword_pass(solution)),
        "detail_score": detail_score(solution),
        "invented": int(bool(solution.invented)),
        "steps": solution.total_steps,
    }


def detail_score(solution: Solution) -> float:
    """Return 10 per call that succeeded, plus 5 per tool used, less 5 times the logarithm of the steps."""
    calls = [call for node in solution.steps if (call := node.call) is not None and call.name != FINISH]
    succeeded = sum(is_success(call.response) for call in calls)
    return score_of(succeeded, len({call.name for call in calls}), solution.total_steps)


def score_of(succeeded: float, tools: float, steps: int) -> float:
    """Return the detail score of these numbers; `steps` is the number of all nodes."""
    return -100000.0 if steps <= 0 else 10 * succeeded + 5 * tools - 5 * log(steps)


def is_success(response: str) -> bool:
    """Return whether a tool reported no error."""
    answer = json_value(response)
    return not answer.get("error") if isinstance(answer, dict) else bool(response)


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
"""The tool with which every solution ends."""


class Searched(NamedTuple):
    """A search method by ToolBench's name, such as `CoT@3`, and what it did.

    `kept` are the numbers of the steps that are nodes; the other steps compared nodes, or came when no query
    was left. `width` is that of a tree, 0 if chains were tried one after another.
    """

    name: str
    kept: Collection[int]
    queries: int
    width: int = 0
    ranks: bool = False
    budget: int = 0


class Finished(NamedTuple):
    """One finished task of one arm. `model` is the arm's name, with the number of the repeat after the first.

    `solution` is None if it should have been made elsewhere and was not; `success` is unknown for any made
    elsewhere. `tree` is all that a `search` tried, or that was tried on more than one path.
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
    """Return what the evaluated model, the only speaker of `role`, did.

    For a search, `path` holds the steps that count, and there is an answer only if Finish was called.
    Otherwise the last reply is the answer, as if Finish had been called with it; so is a last call if the
    task ended with one.
    """
    nodes: list[Node] = []
    for turn in turns:
        nodes += [Node("user", text) for text in task.expected(turn.turn).said]
        nodes += [_node(step, role) for step in turn.steps if path is None]
    nodes += [_node(step, role) for step in path or ()]
    query = "\n".join(node.text for node in nodes if node.role == "user")
    # The user's first words are the query.
    answered = list(dropwhile(lambda node: node.role == "user", nodes))
    nodes, final = _finished(answered, turns, path is not None)
    details = begun(chain_of(nodes))
    functions = [function_of(tool) for tool in tools]
    if not any(tool.name == FINISH for tool in tools):
        functions.append(function_of(FINISH_TOOL))
    return Solution(query, tuple(functions), method, counted(details), final, details)


def tree_of(turns: Sequence[PlayedTurn], role: str, search: Searched | None = None) -> tuple[Node, ...]:
    """Return all that a `search` tried; without one, the steps if they form a tree, else nothing."""
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
    """Return a tool as upstream's files declare it."""
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
    """Return the outcome of a call as upstream's tools answer it."""
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
    """Return the nodes with an end, and the final answer, which is empty if the last step failed."""
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


def search_path(steps: Sequence[Step]) -> SearchPath:
    """Return steps that lead to the end of a search, with whether the last gives an answer that counts."""
    call, executed = (steps[-1].prediction.call, steps[-1].executed) if steps else (None, None)
    arguments = call.arguments if call is not None and call.name == FINISH else None
    is_refused = executed is not None and executed.exception is not None
    gives = isinstance(arguments, dict) and arguments.get("return_type") == GIVE_ANSWER
    return SearchPath(steps, gives and not is_refused)
