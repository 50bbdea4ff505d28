"""Small solutions, raw answers and public data of ToolBench, for tests."""

import json
from typing import Any

from public_data import public

from rig.plugins.solutions.solution import Node, Solution, begun, chain_of, counted, tool_node

TOOL = {"name": "clock", "description": "The time.", "parameters": {"type": "object", "properties": {}}}

PUBLIC, needs_public_data = public("RIG_TOOLEVAL")


def finish(words: str = "It is noon.", kind: str = "give_answer") -> str:
    """What Finish is called with."""
    return json.dumps({"return_type": kind, "final_answer": words})


def solution(
    words: str | None = "It is noon.",
    *,
    query: str = "What time is it?",
    calls: int = 1,
    name: str = "clock",
    response: str = "12",
) -> Solution:
    """A solution with so many calls, and an end unless `words` are None."""
    nodes: list[Node] = [
        tool_node(name, json.dumps({"n": n}), json.dumps({"error": "", "response": response}))
        for n in range(calls)
    ]
    final = "" if words is None else finish(words)
    if final:
        nodes.append(tool_node("Finish", final, ""))
    details = begun(chain_of(nodes))
    return Solution(query, (TOOL, {"name": "Finish"}), "CoT@1", counted(details), final, details)


def given_up() -> Solution:
    """A solution that gives up."""
    final = finish("", "give_up_and_restart")
    details = begun(chain_of([tool_node("Finish", final, "")]))
    return Solution("What time is it?", (TOOL,), "CoT@1", counted(details), final, details)


def raw(messages: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A raw answer of CoT that ends with an answer."""
    made = {
        "valid_data": True,
        "final_answer": finish(),
        "function": [TOOL],
        "query": "What time is it?",
        "train_messages": [messages],
    }
    return {"win": True, "trys": [], "compare_candidates": [], "answer_generation": {**made, **more}}


BEGINNING = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
"""The two messages that every conversation begins with, which are no steps."""
