"""Judgements: a query with the answers of several models, and what the votes on them are worth.

A judgement is a task. A setting says whose answer is judged, so every model's answers are an arm. Votes are
counted by upstream's decision table, with every rule a setting. Source: ToolBench's `eval_pass_rate.py`, and
StableToolBench's SoPR for `solvable_score`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from statistics import fmean, pvariance
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import Field

from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.core.tasks import ExpectedTurn, Task
from rig.plugins.documents.documents import Count, Foreign, Many, parsed
from rig.plugins.solutions.rules import VoteRules
from rig.plugins.solutions.solution import Node, Solution

AnswerStatus: TypeAlias = Literal["Solved", "Unsure", "Unsolved"]
TaskStatus: TypeAlias = Literal["Solvable", "Unsure", "Unsolvable"]
Decision: TypeAlias = Literal["pass", "fail", "unsure"]


class Vote(NamedTuple):
    """One evaluation of one answer. `is_certain` means that nobody was asked, as there is no answer."""

    answer: AnswerStatus
    task: TaskStatus = "Solvable"
    is_certain: bool = False


def decide(vote: Vote, rules: VoteRules) -> Decision:
    """Return what one evaluation decides."""
    if vote.is_certain:
        return "fail"
    if vote.answer == "Solved":
        return "pass"
    if vote.task == "Unsolvable" and rules.unsolvable == "pass":
        return "pass"
    if vote.answer == "Unsolved" and vote.task != "Unsure":
        return "fail"
    return "unsure"


class Tally(NamedTuple):
    """The votes on one answer: how many are for it and against it, in parts of votes, and what follows."""

    passed: float
    failed: float
    passes: bool
    sopr: float
    variance: float


def tally(votes: Sequence[Vote], rules: VoteRules, name: str) -> Tally:
    """Count the votes, at least one, on the answer to the query `name`."""
    shares = []
    for number, vote in enumerate(votes):
        decision: str = decide(vote, rules)
        if decision == "unsure":
            decision = rules.unsure
        is_heads = decision == "coin" and _coin(rules.seed, f"{name}/{number}")
        shares.append({"pass": 1.0, "fail": 0.0, "half": 0.5, "coin": float(is_heads)}[decision])
    passed = sum(shares)
    failed = len(shares) - passed
    passes = passed > failed
    if passed == failed:
        passes = _coin(rules.seed, name) if rules.ties == "coin" else rules.ties == "pass"
    return Tally(passed, failed, passes, sopr(votes), pvariance(shares))


def _coin(seed: int, name: str) -> bool:
    return Random(f"{seed}/{name}").random() < 0.5


SCORES: Mapping[AnswerStatus, float] = {"Solved": 1.0, "Unsure": 0.5, "Unsolved": 0.0}
"""What a status is worth in StableToolBench's solvable pass rate."""


def sopr(votes: Sequence[Vote]) -> float:
    """Return the mean of what the statuses are worth; whether the task can be solved does not matter."""
    return fmean(SCORES[vote.answer] for vote in votes)


class RecordedPasses(NamedTuple):
    """The contents of a file of pass rates: whether each query passes, and the statuses of each run."""

    passes: Mapping[str, bool]
    runs: Mapping[str, Mapping[str, AnswerStatus]]

    @property
    def sopr(self) -> tuple[float, ...]:
        """The solvable pass rate of each run."""
        return tuple(fmean(SCORES[status] for status in run.values()) for run in self.runs.values() if run)


class Preference(NamedTuple):
    """The votes on one query: for the reference, for the candidate, and for neither (`ties`)."""

    reference: float
    candidate: float
    ties: int = 0
    rounds: int = 0

    @property
    def label(self) -> Literal[1, 2, 3]:
        """1 if the candidate loses, 2 if it wins, 3 for a tie."""
        if self.reference == self.candidate:
            return 3
        return 1 if self.reference > self.candidate else 2


class Judged(NamedTuple):
    """One answer with its votes and their tally; `reasons` are the last vote's, for answer and task."""

    test_set: str
    model: str
    query_id: str
    solution: Solution
    votes: tuple[Vote, ...]
    tally: Tally
    reasons: tuple[str, str] = ("", "")


class Compared(NamedTuple):
    """The answers of a reference and a candidate to one query, None for a missing one, and the votes."""

    test_set: str
    reference: str
    model: str
    query_id: str
    pair: tuple[Solution | None, Solution | None]
    votes: Preference


MOST_VOTES = 120


@dataclass(frozen=True)
class ModelAnswers:
    """One model's answers to one test set, by the ids of the queries."""

    model: str
    test_set: str
    solutions: Mapping[str, Solution]

    def as_json(self) -> JsonObject:
        """Return the answers as a file of converted answers has them."""
        return {name: solution.as_json() for name, solution in self.solutions.items()}


class Results(NamedTuple):
    """A file of results: votes on the answers of one model, or of a reference and a candidate.

    `table` makes the matching table from the answers, with raw cells or inert ones.
    """

    path: Path
    models: tuple[str, ...]
    votes: RecordedPasses | Mapping[str, Preference]
    table: Callable[[Sequence[ModelAnswers], bool], str]


@dataclass(frozen=True)
class Judgement(Task):
    """A query with the models' answers by name, None for a missing one, and what is known about them.

    `truths` say whether an answer is right, without a judge; `statuses` and `passes` are earlier judgements.
    `preferred` are people's votes or a label for a pair: 0 for the first answer, 1 for the second.
    """

    name: str
    query_id: str
    answers: Mapping[str, Solution | None]
    votes: int
    truths: Mapping[str, bool] = field(default_factory=dict)
    passes: Mapping[str, bool] = field(default_factory=dict)
    statuses: Mapping[str, AnswerStatus] = field(default_factory=dict)
    preferred: tuple[int, ...] = ()
    suite: str = ""

    @property
    def own_id(self) -> str:
        """The id of the query within its test set."""
        return own_id(self.query_id, self.suite)

    @property
    def known_turns(self) -> tuple[int, ...]:
        """A turn for each vote."""
        return tuple(range(self.votes))

    @property
    def query(self) -> str:
        """What the user asked."""
        return next((answer.query for answer in self.answers.values() if answer is not None), "")

    @property
    def facts(self) -> Mapping[str, str]:
        truths = {f"{name} is right": "yes" if truth else "no" for name, truth in self.truths.items()}
        return {"query": self.query, **truths}

    def expected(self, turn: int) -> ExpectedTurn:
        """Return the query and the answers for the first vote; later votes are on the same."""
        if turn:
            return ExpectedTurn((f"Vote {turn + 1}",))
        answers = (
            f"{name}: {'no answer' if solution is None else solution.final_words or 'no final answer'}"
            for name, solution in self.answers.items()
        )
        return ExpectedTurn((self.query, *answers))

    @property
    def source(self) -> JsonObject:
        """The judgement as JSON: query and tools once, and again with any answer that has others."""
        first = next((answer for answer in self.answers.values() if answer is not None), None)
        query, tools = (first.query, list(first.tools)) if first else ("", [])
        answers: dict[str, Json] = {}
        for name, solution in self.answers.items():
            whole = solution.as_json() if solution is not None else None
            if whole is not None and (whole["query"], whole["available_tools"]) == (query, tools):
                whole = {"answer": whole["answer"]}
            answers[name] = whole
        return {
            "name": self.name,
            "query_id": self.query_id,
            "votes": self.votes,
            "query": query,
            "available_tools": tools,
            "answers": answers,
            "truths": dict(self.truths),
            "passes": dict(self.passes),
            "statuses": dict(self.statuses),
            "preferred": list(self.preferred),
        }


def own_id(name: str, suite: str) -> str:
    """Return the id of a query within its test set, without the set's name in front."""
    return name.removeprefix(f"{suite}/")


def joined(
    answers: Mapping[str, Mapping[str, Solution | None]],
    votes: int,
    suite: str,
    truths: Mapping[str, Mapping[str, bool]] | None = None,
    ids: Iterable[str] | None = None,
) -> list[Judgement]:
    """Return the judgements of answers by model and query id, for these ids or else for all that occur."""
    of_models = truths or {}
    if ids is None:
        ids = (name for answer in answers.values() for name in answer)
    return [
        Judgement(
            name=query,
            query_id=query,
            answers={model: of_model.get(query) for model, of_model in answers.items()},
            votes=votes,
            truths={model: of_models[model][query] for model in answers if query in of_models.get(model, {})},
            suite=suite,
        )
        for query in dict.fromkeys(ids)
    ]


def judgements_of(
    answers: Sequence[ModelAnswers], votes: int = 1, ids: Mapping[str, Iterable[str]] | None = None
) -> list[Judgement]:
    """Return the judgements of several models' answers to test sets; `ids` are those of each set.

    Raises RigError if one model has two answers to a query.
    """
    sets: dict[str, dict[str, Mapping[str, Solution]]] = {}
    for answer in answers:
        models = sets.setdefault(answer.test_set, {})
        if answer.model in models:
            raise RigError(f"{answer.test_set}: there are two sets of answers by {answer.model}")
        models[answer.model] = answer.solutions
    names = dict.fromkeys(answer.model for answer in answers)
    tasks = []
    for test_set, models in sets.items():
        every = {name: models.get(name, {}) for name in names}
        for task in joined(every, votes, test_set, ids=(ids or {}).get(test_set)):
            prefix = f"{test_set}/" if len(sets) > 1 else ""
            tasks.append(replace(task, name=f"{prefix}{task.name}", query_id=f"{prefix}{task.query_id}"))
    return tasks


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
    """Return a solution from a file of converted answers. Raises RigError if it is not one."""
    row = parsed(_Converted, data, where, "a converted answer")
    return _solution(row.query, row.available_tools, row.answer)


class _Given(Foreign):
    """One model's answer, with query and tools if they differ from those of the judgement."""

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
    """Return a judgement from its `source`. Raises RigError if it is not one."""
    row = parsed(_Judgement, source, where, "a judgement")
    answers: dict[str, Solution | None] = dict.fromkeys(row.answers)
    for model, own in row.answers.items():
        if own is not None:
            query = row.query if own.query is None else own.query
            tools = row.available_tools if own.available_tools is None else own.available_tools
            answers[model] = _solution(query, tools, own.answer)
    verdicts = row.truths, row.passes, row.statuses, tuple(row.preferred)
    return Judgement(row.name, row.query_id, answers, row.votes, *verdicts, suite)
