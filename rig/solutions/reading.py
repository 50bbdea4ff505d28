"""Converted answers, and judgements of them, read from files and stores."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from rig.calls import Json, JsonObject
from rig.documents import Count, Foreign, Many, parsed
from rig.solutions.decisions import AnswerStatus
from rig.solutions.judgements import MOST_VOTES, Judgement
from rig.solutions.solution import Node, Solution


class _Node(Foreign):
    role: str
    message: str | JsonObject
    next: Many["_Node"]

    def node(self) -> Node:
        return Node(self.role, self.message, tuple(node.node() for node in self.next))


class _Answer(Foreign):
    method: str = ""
    total_steps: Count
    final_answer: str | None
    answer_details: Many[_Node]


class _Converted(Foreign):
    query: str
    available_tools: Many[JsonObject]
    answer: _Answer


def _solution(query: str, tools: list[JsonObject], answer: _Answer) -> Solution:
    details = tuple(node.node() for node in answer.answer_details)
    final = answer.final_answer or ""
    return Solution(query, tuple(tools), answer.method, answer.total_steps, final, details)


def parse(data: Json, where: str) -> Solution:
    """A solution from a file of converted answers. Raises RigError if it is not one."""
    row = parsed(_Converted, data, where, "a converted answer")
    return _solution(row.query, row.available_tools, row.answer)


class _Given(Foreign):
    """An answer of one model; query and tools where they are not those of the first."""

    query: str | None = None
    available_tools: Many[JsonObject] | None = None
    answer: _Answer


class _Judgement(Foreign):
    name: str
    query_id: str
    query: str
    available_tools: Many[JsonObject]
    answers: dict[str, _Given | None]
    votes: Annotated[int, Field(strict=True, ge=1, le=MOST_VOTES)]
    truths: Mapping[str, bool] = Field({})
    passes: Mapping[str, bool] = Field({})
    statuses: Mapping[str, AnswerStatus] = Field({})
    preferred: list[int] = Field([])


def parse_judgement(source: JsonObject, where: str, suite: str = "") -> Judgement:
    """A judgement from its `source`. Raises RigError if it is not one."""
    row = parsed(_Judgement, source, where, "a judgement")
    answers: dict[str, Solution | None] = {}
    for model, own in row.answers.items():
        query = own.query if own and own.query is not None else row.query
        tools = own.available_tools if own and own.available_tools is not None else row.available_tools
        answers[model] = _solution(query, tools, own.answer) if own else None
    verdicts = row.truths, row.passes, row.statuses, tuple(row.preferred)
    return Judgement(row.name, row.query_id, answers, row.votes, *verdicts, suite)
