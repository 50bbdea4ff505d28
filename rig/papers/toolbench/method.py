"""Answers made elsewhere, as a run: ToolBench's files, raw or converted.

Nobody plays this method. Its tasks are queries, a turn has the steps of an answer, and its counts need no
judge. Every model with answers is an arm.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NoReturn

from rig.calls import Call, ExecutedCall, Json, JsonObject, Outcome
from rig.errors import RigError
from rig.events import Emit, Where
from rig.methods.base import Grading, Method, Option, Setup
from rig.methods.paper import RecordedArm, RecordedRun
from rig.methods.scripted import replied
from rig.metrics import TASKS, Declaration, Metric, Part, Score
from rig.models import Model, Prediction, Request, StepKey, ToolDoc
from rig.papers.toolbench import answers
from rig.papers.toolbench.raw import checked_shape
from rig.solutions.judgements import SEED, Judgement, ModelAnswers, Shape, judgements_of, parse_judgement
from rig.solutions.solution import FINISH, Node, Solution, without_judge
from rig.tasks import ASSISTANT, ExpectedTurn, PlayedTurn, Step

NAME = "toolbench"
VERSION = "1"
"""Of the scores; to be raised with any change that can change one."""

DECLARATION = Declaration(
    method=NAME,
    metrics=(
        Metric("keyword_pass_rate", "keyword pass rate", "keyword_passes"),
        Metric("answer_rate", "answered", "finished", place="meters"),
        Metric("give_up_rate", "gave up", "gave_up", better="lower", place="tables"),
        Metric("detail_score", "detail score", "detail_score", "answered", format="number", place="tables"),
        Metric("invented_rate", "invented tool names", "invented", better="lower", place="tables"),
        Metric("failed_calls", "failed calls", "calls_failed", "calls", "lower", place="tables"),
        Metric("steps", "steps", "steps", TASKS, "lower", "number", place="tables"),
    ),
    success="keyword_passes",
    outcome=(
        Part("unfinished", "no answer", better="lower"),
        Part("gave_up", "gave up", better="lower"),
        Part("invented", "invented tool names", better="lower"),
    ),
)


@dataclass(frozen=True)
class Recorded(Judgement):
    """A query with the answers to it that were made elsewhere."""

    @property
    def facts(self) -> Mapping[str, str]:
        return {"query": self.query_id}

    def expected(self, turn: int) -> ExpectedTurn:
        """The query. What is right nobody knows."""
        return ExpectedTurn((self.query,))

    @classmethod
    def of(cls, task: Judgement) -> "Recorded":
        """A judgement as a task of this method."""
        return cls(**{field.name: getattr(task, field.name) for field in fields(task)})


@dataclass(frozen=True)
class ToolBenchSettings:
    """Whose answers an arm has, and what stands for those without an end."""

    answers: str
    invalid: Shape = "seeded"
    walk_seed: int = SEED

    @property
    def fingerprint(self) -> JsonObject:
        shape = {"invalid": self.invalid, "walk_seed": self.walk_seed}
        return {"protocol": NAME, "answers_of": self.answers, **shape}


class ToolBench(Method):
    """Answers of ToolBench and StableToolBench."""

    name = NAME
    declaration = DECLARATION
    options: tuple[Option, ...] = (
        Option("answers_of", "", several=True),
        Option("invalid", "seeded"),
        Option("walk_seed", SEED),
    )

    def load(self, place: Path) -> NoReturn:
        raise _not_played(place)

    def parse(self, source: JsonObject, where: str, suite: str) -> Recorded:
        return Recorded.of(parse_judgement(source, where, suite))

    def models(self, tasks: Sequence[Recorded]) -> Mapping[str, Callable[[], Model]]:
        return {}

    def settings(self, values: Mapping[str, Any]) -> ToolBenchSettings:
        return ToolBenchSettings(values["answers_of"], checked_shape(values["invalid"]), values["walk_seed"])

    def opening(self, task: Recorded, settings: ToolBenchSettings, role: str) -> Request:
        solution = task.answers.get(settings.answers)
        tools = tuple(
            ToolDoc(str(tool.get("name", "")), str(tool.get("description", "")), tool.get("parameters", {}))
            for tool in (solution.tools if solution else ())
        )
        return Request(StepKey(task.name, 0, 0), "", tools, "", ())

    def ready(self, values: Mapping[str, Any]) -> "ToolBenchSetup":
        return ToolBenchSetup(self, self.settings(values))


def recorded_run(files: Sequence[Path], place: Path | None, values: Mapping[str, Any]) -> RecordedRun:
    """The answers in files and folders; `place` has the ids of the queries that had to be answered."""
    settings, faults = METHOD.settings(values), list[str]()
    by_key: dict[tuple[str, str], dict[str, Solution]] = {}
    for path in files:
        for several in answers.load(path, settings.invalid, settings.walk_seed, faults):
            by_key.setdefault((several.model, several.test_set), {}).update(several.solutions)
    sets = [ModelAnswers(*key, solutions) for key, solutions in by_key.items()]
    query_ids = answers.query_ids(place) if place is not None else None
    tasks = list(map(Recorded.of, judgements_of(sets, ids=query_ids)))
    arms = [
        _arm(model, tasks, replace(settings, answers=model), query_ids is not None)
        for model in dict.fromkeys(model for model, _ in by_key)
    ]
    options = (f"invalid={settings.invalid}", f"walk_seed={settings.walk_seed}")
    return RecordedRun(tasks, arms, options, tuple(faults))


def _arm(model: str, tasks: Sequence[Recorded], settings: ToolBenchSettings, is_whole: bool) -> RecordedArm:
    """The answers of a model. A query that it had to answer and did not is there, without steps."""
    episodes = [
        (task.name, 0, (PlayedTurn(0, steps_of(task.answers.get(model))),))
        for task in tasks
        if is_whole or task.answers.get(model) is not None
    ]
    protocol = {f"protocol.{name}": value for name, value in settings.fingerprint.items()}
    return RecordedArm(model, {"model.engine": "recorded", **protocol}, settings, episodes)


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


class ToolBenchSetup(Setup):
    """Nothing has to be got ready: answers are as they are."""

    is_recorded = True

    @property
    def grader(self) -> Grading:
        return Grading("without a judge", VERSION, "", {"mode": "without a judge", "version": VERSION})

    def check(self, task: Recorded, settings: ToolBenchSettings) -> None:
        raise _not_played(task.name)

    def start(
        self, task: Recorded, settings: ToolBenchSettings, where: Where, emit: Emit, slot: int
    ) -> NoReturn:
        raise _not_played(task.name)

    def score(self, task: Recorded, turns: Sequence[PlayedTurn], settings: ToolBenchSettings) -> Score:
        """What can be counted of an answer without a judge."""
        solution = self.solution(task, turns, settings)
        calls = [call for turn in turns for call in turn.executed if call.name != FINISH]
        counts = without_judge(solution)
        counts |= {
            "unfinished": 1 - counts["finished"],
            "gave_up": int(solution is not None and solution.final == "give_up"),
            "calls": len(calls),
            "calls_failed": sum(call.exception is not None for call in calls),
        }
        return Score(counts)

    def solution(
        self, task: Recorded, turns: Sequence[PlayedTurn], settings: ToolBenchSettings
    ) -> Solution | None:
        """The answer as its file has it."""
        return task.answers.get(settings.answers)

    def path(
        self, task: Recorded, turns: Sequence[PlayedTurn], settings: ToolBenchSettings
    ) -> Sequence[Step]:
        """The steps that are read of a tree."""
        return path_of(turns)


METHOD = ToolBench()


def _not_played(what: object) -> RigError:
    return RigError(f"{what}: answers that were made elsewhere are not played; `rig import` takes them in")
