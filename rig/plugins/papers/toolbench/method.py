"""Answers made elsewhere as a run: ToolBench's files, raw or converted.

This method is never played. Its tasks are queries, a turn has the steps of an answer, and its counts need no
judge. Every model with answers is an arm.

Folders are read in any of upstream's layouts, and written as files of converted answers. Raw answers are in
`MODEL/TEST_SET/ID_METHOD.json`, converted ones in `MODEL/TEST_SET.json`.
"""

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from rig.core import files
from rig.core.calls import Call, ExecutedCall, Json, JsonObject, Outcome
from rig.core.errors import RigError
from rig.core.metrics import TASKS, Declaration, Metric, Part, Score
from rig.core.models import Prediction, Request, StepKey, ToolDoc
from rig.core.tasks import ASSISTANT, ExpectedTurn, PlayedTurn, SearchPath, Step
from rig.methods.base import Grading, Method, Option, OptionValues, Settings, Setup
from rig.methods.scripted import replied
from rig.plugins.documents.folders import files_below, filling
from rig.plugins.papers.paper import RecordedArm, RecordedRun
from rig.plugins.papers.toolbench.raw import checked_shape, convert, is_raw, method_of, query_id, raw_of
from rig.plugins.solutions import judgements
from rig.plugins.solutions.judgements import Judgement, ModelAnswers
from rig.plugins.solutions.rules import SEED, Shape
from rig.plugins.solutions.setup import SolutionSetup
from rig.plugins.solutions.solution import (
    FINISH,
    Finished,
    Node,
    Solution,
    json_value,
    search_path,
    without_judge,
)

LARGEST = 256 << 20
"""The most bytes of a file that is read."""


def holds_answers(place: Path) -> bool:
    """Return whether a folder or file seems to hold answers, reading only the first file."""
    try:
        first = next(_files(place), None)
        data = read_json(first) if first else None
    except RigError:
        return False
    return is_raw(data) or is_converted(data)


def load(
    place: Path, shape: Shape = "seeded", seed: int = SEED, faults: list[str] | None = None
) -> list[ModelAnswers]:
    """Read all answers in a folder or file, by model and test set. Raises RigError if there are none.

    Also raises it for a file that cannot be read, unless there is a list of `faults`, which gets a line.
    """
    by_key: dict[tuple[str, str], dict[str, Solution]] = {}
    for path in _files(place):
        try:
            for key, solutions in _read(path, shape, seed):
                others = by_key.setdefault(key, {})
                for name, solution in solutions.items():
                    if others.setdefault(name, solution) != solution:
                        raise RigError(
                            f"{path}: {key[0]} has another answer to query {name} of {key[1]}; name one file,"
                            " or a folder for each way of search"
                        )
        except RigError as error:
            if faults is None:
                raise
            faults.append(str(error))
    if not by_key:
        raise RigError(next(iter(faults or ()), f"{place}: holds no answers, neither raw nor converted ones"))
    return [ModelAnswers(*key, solutions) for key, solutions in by_key.items()]


def _read(path: Path, shape: Shape, seed: int) -> Iterator[tuple[tuple[str, str], dict[str, Solution]]]:
    """Yield the answers in a file, with their model and test set; nothing if it is another kind of file."""
    data = read_json(path)
    folder = path.absolute().parent
    if is_raw(data):
        method = method_of(path.stem)
        answer = convert(data, method, str(path), shape, seed)
        yield (folder.parent.name, folder.name), {query_id(path.stem): answer}
    elif is_converted(data):
        solutions = {name: judgements.parse(value, f"{path}, {name}") for name, value in data.items()}
        yield (folder.name, path.stem), solutions


def query_ids(place: Path) -> dict[str, Collection[str]]:
    """Read the query ids of each test set, by the name of its file. Raises RigError if there are none."""
    paths = [place] if place.is_file() else sorted(place.glob("*.json"))
    ids: dict[str, Collection[str]] = {}
    for path in paths:
        data = read_json(path)
        if not isinstance(data, dict):
            raise RigError(f"{path}: not a test set: it holds no object whose keys are ids")
        ids[path.stem] = list(data)
    if not ids:
        raise RigError(f"{place}: holds no test sets (*.json)")
    return ids


def is_converted(data: Json) -> bool:
    """Return whether this JSON is a file of converted answers."""
    first = next(iter(data.values()), None) if isinstance(data, dict) else None
    return isinstance(first, dict) and {"query", "available_tools", "answer"} <= first.keys()


def write(answers: Sequence[ModelAnswers], directory: Path) -> list[Path]:
    """Write a file of converted answers for each model and test set, byte for byte as upstream does."""
    return [
        _written(json.dumps(answer.as_json()), directory, answer.model, f"{file_name(answer.test_set)}.json")
        for answer in answers
    ]


def export(rows: Sequence[Finished], directory: Path) -> Sequence[Path]:
    """Write a run of any method as raw answers, converted answers and ids of queries: all files or none.

    Raises RigError unless the directory is new or empty.
    """
    sets: dict[tuple[str, str], dict[str, Finished]] = {}
    ids: dict[str, dict[str, int]] = {}
    for row in rows:
        suite = row.suite or "tasks"
        name = judgements.own_id(row.name, suite)
        ids.setdefault(suite, {})[name] = 0
        if row.solution is not None:
            sets.setdefault((row.model, suite), {})[name] = row
    answers = [
        ModelAnswers(*key, {name: row.solution for name, row in of_set.items() if row.solution})
        for key, of_set in sets.items()
    ]
    with filling(directory) as folder:
        written = write(answers, folder / "converted")
        for answer in answers:
            for name, solution in answer.solutions.items():
                row = sets[answer.model, answer.test_set][name]
                method, raw = raw_of(solution, row.tree, row.search)
                file = f"{file_name(name).replace('_', '-')}_{method}.json"
                names = answer.model, file_name(answer.test_set), file
                written.append(_written(json.dumps(raw, indent=2), folder / "answer", *names))
        for suite, of_suite in ids.items():
            written.append(_written(json.dumps(of_suite), folder, "test_ids", f"{file_name(suite)}.json"))
    return [directory / path.relative_to(folder) for path in written]


def _written(text: str, directory: Path, model: str, *names: str) -> Path:
    path = directory.joinpath(file_name(model), *names)
    files.write(text, path, folders=True)
    return path


def file_name(name: str) -> str:
    """Return a name that is safe as one part of a path."""
    safe = name.replace(os.sep, "-").replace("\0", "-").replace(":", "-")
    return safe if safe.strip(".") else "-"


def read_json(path: Path) -> Json:
    """Read a JSON file of answers, which can be large. Raises RigError if it is not JSON."""
    return files.read_json(path, LARGEST)


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    elif place.is_dir():
        yield from files_below(place)
    else:
        raise RigError(f"{place}: no such folder or file")


NAME = "toolbench"
VERSION = "1"
"""The version of the scores, raised with every change that can alter one."""

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
    """A query, and the answers to it that were made elsewhere."""

    @property
    def facts(self) -> Mapping[str, str]:
        return {"query": self.query_id}

    def expected(self, turn: int) -> ExpectedTurn:
        """Return the query. No right answer is known."""
        return ExpectedTurn((self.query,))


class ToolBench(Method):
    """Answers of ToolBench and StableToolBench."""

    name = NAME
    declaration = DECLARATION
    oracles = MappingProxyType[str, Any]({})
    options: tuple[Option, ...] = (
        Option("answers_of", "", several=True),
        Option("invalid", "seeded"),
        Option("walk_seed", SEED),
    )

    def load(self, place: Path) -> NoReturn:
        raise _not_played(place)

    def parse(self, source: JsonObject, where: str, suite: str) -> Recorded:
        return Recorded(**vars(judgements.parse_judgement(source, where, suite)))

    def settings(self, values: Mapping[str, Any]) -> Settings:
        checked_shape(values["invalid"])
        return super().settings(values)

    def opening(self, task: Recorded, settings: OptionValues, role: str) -> Request:
        solution = task.answers.get(settings["answers_of"])
        tools = tuple(
            ToolDoc(str(tool.get("name", "")), str(tool.get("description", "")), tool.get("parameters", {}))
            for tool in (solution.tools if solution else ())
        )
        return Request(StepKey(task.name), tools=tools)

    def path(self, task: Recorded, turns: Sequence[PlayedTurn], settings: OptionValues) -> SearchPath:
        """Return the steps that metrics read (see `path_of`)."""
        return search_path(path_of(turns))

    def ready(self, values: Mapping[str, Any]) -> "ToolBenchSetup":
        return ToolBenchSetup(self, self.settings(values))


def recorded_run(files: Sequence[Path], place: Path | None, values: Mapping[str, Any]) -> RecordedRun:
    """Read answers from files and folders. `place` holds the ids of the queries that had to be answered."""
    shape, seed, faults = checked_shape(values["invalid"]), values["walk_seed"], list[str]()
    by_key: dict[tuple[str, str], dict[str, Solution]] = {}
    for path in files:
        for several in load(path, shape, seed, faults):
            by_key.setdefault((several.model, several.test_set), {}).update(several.solutions)
    sets = [ModelAnswers(*key, solutions) for key, solutions in by_key.items()]
    ids = query_ids(place) if place is not None else None
    tasks = [Recorded(**vars(task)) for task in judgements.judgements_of(sets, ids=ids)]
    arms = []
    for model in dict.fromkeys(model for model, _ in by_key):
        settings = METHOD.settings({**values, "answers_of": model})
        protocol = {f"protocol.{name}": value for name, value in settings.fingerprint.items()}
        # A query that the model had to answer, but did not, becomes an episode without steps.
        episodes = [
            (task.name, 0, (PlayedTurn(0, steps_of(task.answers.get(model))),))
            for task in tasks
            if ids is not None or task.answers.get(model) is not None
        ]
        arms.append(RecordedArm(model, {"model.engine": "recorded", **protocol}, settings, episodes))
    return RecordedRun(tasks, arms, (f"invalid={shape}", f"walk_seed={seed}"), tuple(faults))


def steps_of(solution: Solution | None) -> tuple[Step, ...]:
    """Return the steps after the beginning. In a tree each has the number of its parent, in a chain None."""
    if solution is None:
        return ()
    numbered = list(_numbered(solution.details))
    is_tree = any(parent != number - 1 for number, (_, parent) in enumerate(numbered))
    return tuple(_step(node, parent if is_tree else None) for node, parent in numbered)


def _numbered(roots: Sequence[Node]) -> Iterator[tuple[Node, int]]:
    """Yield the nodes that are steps in depth-first order, each with the number of its parent or -1."""
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
    """Convert a node to a step. A tool's `error` in ToolBench's form of response is an exception."""
    call = node.call
    if call is None:
        role = node.role if node.role == "user" else ASSISTANT
        return Step(replied(node.text), role=role, parent=parent)
    arguments, answer = json_value(call.arguments), json_value(call.response)
    asked = Call(call.name, arguments if isinstance(arguments, dict) else call.arguments)
    outcome = Outcome(call.response)
    if call.name == FINISH:
        outcome = Outcome("")
    elif isinstance(answer, dict) and {"error", "response"} <= answer.keys():
        error = answer["error"]
        text = error if isinstance(error, str) else json.dumps(error)
        outcome = Outcome(answer["response"], text or None)
    return Step(Prediction(raw=call.arguments, call=asked), ExecutedCall(asked, outcome), parent=parent)


def path_of(turns: Sequence[PlayedTurn]) -> list[Step]:
    """Return the path of a tree that metrics read: the first step, and always the first that follows."""
    steps = [step for turn in turns for step in turn.steps]
    path: list[Step] = []
    last = -1
    for number, step in enumerate(steps):
        if (number - 1 if step.parent is None else step.parent) == last:
            path.append(step)
            last = number
    return path


class ToolBenchSetup(SolutionSetup, Setup):
    """A setup that prepares nothing, as the answers exist already."""

    is_recorded = True

    @property
    def grader(self) -> Grading:
        return Grading("without a judge", VERSION, "", {"mode": "without a judge", "version": VERSION})

    def check(self, task: Recorded, settings: OptionValues) -> None:
        raise _not_played(task.name)

    def score(self, task: Recorded, turns: Sequence[PlayedTurn], settings: OptionValues) -> Score:
        """Count what can be counted in an answer without a judge."""
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
        self, task: Recorded, turns: Sequence[PlayedTurn], settings: OptionValues
    ) -> Solution | None:
        """Return the answer as it is in its file."""
        return task.answers.get(settings["answers_of"])


METHOD = ToolBench()


def _not_played(what: object) -> RigError:
    return RigError(f"{what}: answers that were made elsewhere are not played; `rig import` takes them in")
