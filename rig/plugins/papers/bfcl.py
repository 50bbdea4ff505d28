"""BFCL's result files, with one line per entry: a model's answer, or its messages turn by turn."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rig.core.calls import Call, ExecutedCall, Outcome
from rig.core.errors import RigError
from rig.core.models import Prediction
from rig.core.tasks import PlayedTurn, Step
from rig.plugins.bfcl.answers import Undecodable, decode, output_of
from rig.plugins.bfcl.checker import is_calls
from rig.plugins.bfcl.data import FORMAT_SENSITIVITY, BfclSettings, lines
from rig.plugins.bfcl.forms import FORMS
from rig.plugins.bfcl.method import text_of
from rig.plugins.documents.folders import files_below
from rig.plugins.papers.paper import Paper


def _turns(result: Any, count: int) -> dict[int, PlayedTurn]:
    """Return an answer of `count` turns. One with another number of turns was given up and becomes empty."""
    turns = {}
    for number, messages in enumerate(result if isinstance(result, list) else ()):
        several = messages if isinstance(messages, list) else [messages]
        turns[number] = PlayedTurn(number, tuple(step for message in several for step in _steps(message)))
    return turns if len(turns) == count else {}


def answered(place: Path, entries: Sequence[Any], *, of_turns: bool) -> list[tuple[Any, Any]]:
    """Return the entries that files of results answer, each with its answer. Raises RigError if none is."""
    by_name = {entry.name: entry for entry in entries}
    every = (line for path in _files_of(place, of_turns=of_turns) for line, _ in lines(path))
    answers = [(by_name[line["id"]], line.get("result")) for line in every if line["id"] in by_name]
    if not answers:
        raise RigError(f"{place}: holds no answer to these entries (BFCL_v4_CATEGORY_result.json)")
    return answers


def _files_of(place: Path, *, of_turns: bool) -> list[Path]:
    """Return the files of results at a place: those of several turns, or the others."""
    paths = [place] if place.is_file() else files_below(place, "_result.json")
    return [path for path in paths if ("multi_turn" in path.name) is of_turns]


def _steps(result: Any, language: str = "python") -> Iterator[Step]:
    """Yield a step for each call in a model's message, or one with its words if it has no calls."""
    raw = result if isinstance(result, str) else json.dumps(result)
    try:
        output = decode(result, language)
    except Undecodable:
        output = None
    if not is_calls(output) or not output:
        yield Step(Prediction(raw=raw, reply=raw))
        return
    for part, call in enumerate(output):
        ((name, arguments),) = call.items()
        asked = Call(name, arguments)
        prediction = Prediction(raw=raw if not part else "", call=asked, part=part)
        yield Step(prediction, ExecutedCall(asked, Outcome()))


class BFCLPaper(Paper):
    """BFCL's files, one for each category. Both methods use the same file names."""

    name = "bfcl"
    methods = ("bfcl", "bfcl-turns")
    writes = "lines"

    def holds(self, place: Path, method: str) -> bool:
        return bool(_files_of(place, of_turns=method == "bfcl-turns"))

    def predictions(
        self, setup: Any, place: Path, method: str
    ) -> Sequence[tuple[Any, dict[int, PlayedTurn]]]:
        """Read answers to the entries of the data, whose place `--set data=DIR` or $RIG_BFCL names.

        Answers of one turn are read as they are written. If a call's name has a dot, the tools were offered
        with dots in their names.
        """
        is_of_turns = method == "bfcl-turns"
        answers = answered(place, setup.data(), of_turns=is_of_turns)
        if is_of_turns:
            return [(entry, _turns(result, len(entry.turns))) for entry, result in answers]
        setup.as_written = True
        turns = [PlayedTurn(0, tuple(_steps(result, entry.language))) for entry, result in answers]
        if any("." in executed.name for turn in turns for executed in turn.executed):
            setup.settings = BfclSettings("dots")
        return [(entry, {0: turn}) for (entry, _), turn in zip(answers, turns, strict=True)]

    def file_of(self, task: Any, arm: str, settings: Any) -> tuple[str, ...]:
        if _is_of_forms(task, settings):
            # One file has all forms of a model.
            return arm.replace(f" form={settings.form}", ""), f"BFCL_v4_{FORMAT_SENSITIVITY}_result.json"
        return arm, f"BFCL_v4_{getattr(task, 'category', task.suite)}_result.json"

    def record(self, task: Any, turns: Mapping[int, PlayedTurn], settings: Any, setup: Any) -> str:
        """Return the line of a task: calls with their arguments as texts, or the words said instead.

        For several turns it has the messages of each turn. A turn in which the entry was given up is left
        out, which marks it. For format sensitivity it has the text, and an id with form and place.
        """
        name: str = task.name
        result: Any
        if _is_of_forms(task, settings):
            place = setup.places_of_forms.get(task.name)
            if place is None:
                raise RigError(f"{task.name}: not among the ids of format sensitivity in $RIG_BFCL")
            number = place * len(FORMS) + FORMS.index(settings.form)
            name = f"{FORMAT_SENSITIVITY}_{number}:{settings.prompt_form.config}:{task.name}"
            result = text_of(turns.values())
        elif task.suite.startswith("multi_turn"):
            played = [turns[number] for number in sorted(turns) if not turns[number].error]
            result = [list(_messages(turn.steps)) for turn in played]
        else:
            steps = [step for turn in turns.values() for step in turn.steps]
            calls = [step.executed.call for step in steps if step.executed is not None]
            words = next((_words(step) for step in steps if step.executed is None), "")
            result = _as_texts(output_of(calls, task, settings)) or words
        return json.dumps({"id": name, "result": result}, ensure_ascii=False)


def _is_of_forms(task: Any, settings: Any) -> bool:
    """Return whether an answer belongs to upstream's test of format sensitivity."""
    return task.suite == FORMAT_SENSITIVITY and settings.form in FORMS


def _messages(steps: Sequence[Step]) -> Iterator[Any]:
    calls: list[dict[str, Any]] = []
    for step in steps:
        if calls and (step.executed is None or step.prediction.part == 0):
            yield _as_texts(calls)
            calls = []
        if step.executed is None:
            yield _words(step)
        else:
            calls.append({step.executed.name: step.executed.arguments})
    if calls:
        yield _as_texts(calls)


def _words(step: Step) -> str:
    return step.prediction.reply or step.prediction.raw


def _as_texts(calls: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return calls with their arguments as JSON texts."""
    return [{name: json.dumps(value) for name, value in call.items()} for call in calls]


PAPER: Paper = BFCLPaper()
