"""The questions for a judge: one function's prompt with its fields, and the form of the verdict.

A long solution is cut to fit the judge's context: first what tools returned, then thoughts and arguments,
then the descriptions of tools. The arguments of Finish are never cut, and the prompt shows every cut.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rig.core.calls import Json, JsonObject
from rig.core.models import Request, StepKey, ToolDoc, UserMessage
from rig.plugins.judging import ReasonPlace
from rig.plugins.judging.evaluators import JudgeFunction
from rig.plugins.solutions.solution import FINISH, Node, Solution, readable

REASON = "reason"
LONGEST_REASON = 240
"""Characters; the grammar can count no further than 256."""

WHOLE = 1 << 30


class Cut(NamedTuple):
    """The most characters to show of each thing."""

    responses: int = WHOLE
    words: int = WHOLE
    tools: int = WHOLE


class Question(NamedTuple):
    """One question. `fields` returns the fields of its prompt for a cut; `values` are the possible answers.

    `is_of_task` says that the question is only about the query, and not about who tried to solve it.
    """

    function: str
    fields: Callable[[Cut], Mapping[str, str]]
    values: Mapping[str, Sequence[Json]] = {}
    is_of_task: bool = False


def request(
    function: JudgeFunction, question: Question, key: StepKey, vote: int, place: ReasonPlace, cut: Cut
) -> Request:
    """Return the request for a question. Each vote lists the choices in another order."""
    properties: JsonObject = {REASON: _REASON} if place == "first" else {}
    for name, schema in function.parameters["properties"].items():
        if values := _values(name, schema, question):
            # In their own order for the first vote, and in a different one for each later vote.
            orders = list(itertools.islice(itertools.permutations(values), 120))
            described = {"description": schema["description"]} if "description" in schema else {}
            properties[name] = {"enum": list(orders[vote % len(orders)]), **described}
        elif schema.get("type") == "number":
            # A count, if the schema only says that it is a number.
            properties[name] = {**schema, "type": "integer", "minimum": 0, "maximum": 999}
        else:
            whole = {"minimum": 0, "maximum": 999} if schema.get("type") == "integer" else {}
            properties[name] = {**whole, **schema}
    if place == "last":
        properties[REASON] = _REASON
    verdict: JsonObject = {"type": "object", "properties": properties, "required": list(properties)}
    verdict["additionalProperties"] = False
    tool = ToolDoc(function.name, function.description, verdict)
    prompt = UserMessage(function.filled(question.fields(cut)), len(function.beginning))
    return Request(key, function.system or INSTRUCTIONS, (tool,), "", (prompt,), tools_are_shared=False)


INSTRUCTIONS = "You are a careful and impartial judge."


def variations(function: JudgeFunction, question: Question) -> int:
    """Return in how many orders the choices of a question can be listed."""
    properties = function.parameters["properties"].items()
    return math.prod(math.factorial(len(_values(name, schema, question))) for name, schema in properties)


_REASON = {"type": "string", "maxLength": LONGEST_REASON, "description": "Why, in one sentence."}


def _values(name: str, schema: JsonObject, question: Question) -> Sequence[Json]:
    if name in question.values:
        return question.values[name]
    if schema.get("type") == "boolean":
        return (True, False)
    values = schema.get("enum", ())
    return values if isinstance(values, list) else ()


def read(arguments: Any, function: JudgeFunction, question: Question) -> JsonObject | None:
    """Return the arguments if they are a valid verdict, else None: the judge may have had no grammar."""
    if not isinstance(arguments, dict):
        return None
    for name, schema in function.parameters["properties"].items():
        if name not in arguments:
            return None
        values, value = _values(name, schema, question), arguments[name]
        if values and not any(value == choice and type(value) is type(choice) for choice in values):
            return None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not values and schema.get("type") in ("number", "integer") and not is_number:
            return None
    return arguments


LARGEST_SHOWN = 1 << 20


def fit(fits: Callable[[Cut], bool]) -> Cut:
    """Return the least cut with which a question fits; the greatest if none does."""
    cut = Cut()
    for part in Cut._fields:
        if fits(cut):
            return cut
        # As much of the part as fits, if leaving out all of it is enough.
        low, high = 0, LARGEST_SHOWN if fits(cut._replace(**{part: 0})) else 0
        while high - low > max(8, low // 16):
            middle = (low + high) // 2
            low, high = (middle, high) if fits(cut._replace(**{part: middle})) else (low, middle)
        cut = cut._replace(**{part: low})
    return cut


def shortened(text: str, most: int) -> str:
    """Cut off the end of a text and note that, unless the note takes as much room."""
    cut = f"{text[:most]}[... {len(text) - most} characters left out]"
    return text if len(text) <= max(most, len(cut)) else cut


def answer_json(solution: Solution, cut: Cut, most_final: int = WHOLE) -> str:
    """Return a solution as a judge reads it."""
    return readable(
        {
            "total_steps": solution.total_steps,
            "final_answer": solution.final_answer[:most_final],
            "answer_details": [_node(root, cut) for root in solution.details],
        }
    )


def details_json(solution: Solution, cut: Cut) -> str:
    """Return the path of a solution as a judge reads it."""
    return readable([_node(root, cut) for root in solution.details])


def task_json(solution: Solution, cut: Cut) -> str:
    """Return a query and the tools for it as a judge reads them."""
    tools = [_tool(tool, cut.tools) for tool in solution.tools]
    return readable({"query": solution.query, "available_tools": tools})


def _tool(tool: JsonObject, most: int) -> JsonObject:
    if most >= WHOLE:
        return tool
    return {
        "name": tool.get("name"),
        "description": shortened(str(tool.get("description", "")), most),
        "parameters": shortened(readable(tool.get("parameters")), most),
    }


def _node(root: Node, cut: Cut) -> JsonObject:
    message = root.message
    call = root.call
    if call is not None:
        is_finish = call.name == FINISH
        message = {
            "name": call.name,
            "arguments": call.arguments if is_finish else shortened(call.arguments, cut.words),
            "response": call.response if is_finish else shortened(call.response, cut.responses),
        }
    elif isinstance(message, str):
        message = shortened(message, cut.words)
    return {"role": root.role, "message": message, "next": [_node(child, cut) for child in root.next]}
