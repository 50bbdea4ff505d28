"""BFCL as a method: entries of one turn, checked as the leaderboard checks them, category by category."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from rig.core.calls import Call, CallPlace, ExecutedCall, Fault, FaultKind, Json, Outcome, Verdict
from rig.core.errors import MACHINE, RigError
from rig.core.events import CallJudged
from rig.core.metrics import Counts, Declaration, Metric, Part, Score
from rig.core.models import Message, Prediction, ReplyMessage, Request, UserMessage
from rig.core.tasks import ASSISTANT, PlayedTurn, Step, Task
from rig.methods.base import Checked, Grading, Method, Option, Setup
from rig.methods.episode import Asking, Episode
from rig.methods.scripted import replied
from rig.plugins.bfcl import FORM, data
from rig.plugins.bfcl.answers import Undecodable, decode_form, output_of
from rig.plugins.bfcl.checker import Output, Wrong, check, is_calls
from rig.plugins.bfcl.data import BfclSettings, SingleTurnEntry, name_of, opening, tools_of
from rig.plugins.bfcl.forms import NO_FORM, FormOption, form_told_by
from rig.plugins.defects.defects import sound_counts, sound_metrics
from rig.plugins.documents.documents import json_of
from rig.world.toolbox import Toolbox

_MOST_CALLS = 256
"""The most calls of an answer that are shown as calls; with more, it is shown as words."""


def rates(method: str, categories: Iterable[str], *outcome: Part) -> Declaration:
    """Return a declaration with a rate for each of these categories."""
    metrics = tuple(
        Metric(name, name.replace("_", " "), f"correct.{name}", f"entries.{name}") for name in categories
    )
    right = Part("correct", "right", "entries")
    return Declaration(method=method, metrics=metrics, success="correct", outcome=(right, *outcome))


def counts_of(entry: Task, right: int) -> Counts:
    """Return the counts of an entry, with those of its category."""
    kinds = {f"correct.{entry.suite}": right, f"entries.{entry.suite}": 1}
    return {"correct": right, "entries": 1, **kinds, **sound_counts(entry, entry.suite, right)}


class BfclMethod(Method):
    """A part of the Berkeley Function Calling Leaderboard: each of its `categories` is a suite."""

    categories: tuple[str, ...]
    parts: tuple[Part, ...] = ()
    knowing: Mapping[str, str] = MappingProxyType({ASSISTANT: "oracle"})

    def declaration_of(self, tasks: Sequence[Task]) -> Declaration:
        """Return the declaration with a rate for each category that the tasks are from."""
        suites = {task.suite for task in tasks}
        names = [name for name in self.categories if name in suites]
        declared = rates(self.name, names, *self.parts)
        sound = sound_metrics(tasks, {name: name.replace("_", " ") for name in names})
        return declared._replace(metrics=(*declared.metrics, *sound))


class BfclSetup(Setup):
    """A setup whose data, and for several turns whose classes, are in folders that the user names."""

    grader_name: str

    def __init__(self, method: Method, values: Mapping[str, Any]) -> None:
        super().__init__(method, method.settings(values))
        self._values = values

    def place(self, option: str) -> str:
        """Return the folder that an option or $RIG_BFCL names; empty if neither does."""
        return str(self._values[option] or os.environ.get("RIG_BFCL", ""))

    @property
    def folder(self) -> Path:
        """The folder of data that `--set data=DIR` or $RIG_BFCL names. Raises RigError if neither is set."""
        place = self.place("data")
        if not place:
            raise RigError("where is BFCL's data? Name it with --set data=DIR, or in $RIG_BFCL")
        inside = (Path(place, "data"), Path(place, "bfcl_eval", "data"))
        return next((folder for folder in inside if folder.is_dir()), Path(place))

    @property
    def grader(self) -> Grading:
        name, version = self.grader_name, self.method.version
        return Grading(name, version, "", {"grader": name, "grader_version": version})


class SingleTurn(Episode):
    """An episode of one message, whose calls are judged together."""

    task: SingleTurnEntry
    settings: BfclSettings

    def begin(self) -> None:
        """Do nothing: the entry's question has all messages."""

    def messages(self, role: str) -> list[Message]:
        kinds: dict[str, type[UserMessage | ReplyMessage]] = {"user": UserMessage, "assistant": ReplyMessage}
        spoken = (message for message in self.task.question if message["role"] in kinds)
        return [kinds[message["role"]](message["content"]) for message in spoken]

    def read(self, prediction: Prediction, role: str) -> Prediction:
        """Return the prediction, with the calls in a text as calls and the text beside them."""
        form, text = self.settings.prompt_form, prediction.reply
        if form is None or text is None:
            return prediction
        try:
            output = cast(Output, decode_form(text, form))
            if not is_calls(output) or not 0 < len(output) <= _MOST_CALLS:
                return prediction
            # Values that JSON does not have are shown as their repr; the answer is judged as written.
            told = json.dumps(output, default=repr, skipkeys=True, ensure_ascii=False, allow_nan=False)
            listed: Any = json_of(told.encode().decode(), "an answer")
        except (ValueError, TypeError, RecursionError, RigError):
            return prediction
        calls = tuple(Call(name, arguments) for call in listed for name, arguments in call.items())
        return replace(prediction, reply=None, call=calls[0], further=calls[1:], content=text)

    def speak(self) -> Asking:
        """Ask for the answer, and judge all its calls together."""
        yield from self.ask(self.evaluated)
        for number, step in enumerate(self.steps):
            if step.prediction.call is not None:
                self.steps[number] = Step(step.prediction, ExecutedCall(step.prediction.call, Outcome()))
        verdicts = iter(judge(self.task, [PlayedTurn(0, tuple(self.steps))], self.settings).verdicts)
        for number, step in enumerate(self.steps):
            if step.executed is not None:
                verdict = next(verdicts)
                self.emit(CallJudged(self.where, self.turn, number, step.executed, verdict))
                self.steps[number] = Step(step.prediction, step.executed, verdict)

    def score(self) -> Score:
        return judge(self.task, self.played, self.settings, as_written=self.setup.as_written)


def judge(
    entry: SingleTurnEntry, turns: Sequence[PlayedTurn], settings: BfclSettings, *, as_written: bool = False
) -> Score:
    """Score an entry that was played, with calls `as_written` if they were asked for elsewhere."""
    calls = [executed.call for turn in turns for executed in turn.executed]
    error = next((turn.error for turn in turns if turn.error), None)
    if error in MACHINE:
        wrong = Wrong("machine", f"no answer could be had: {error}")
        return _score(entry, len(calls), wrong, failed=True)
    written, form = text_of(turns), settings.prompt_form
    if form is not None and written:
        try:
            output: Json = decode_form(written, form)
        except Undecodable:
            output = None
        score = score_output(entry, output, settings)
        return replace(score, verdicts=score.verdicts[: len(calls)])
    output = (
        [{call.name: call.arguments} for call in calls] if as_written else output_of(calls, entry, settings)
    )
    return score_output(entry, output, settings, failed=error is not None)


def text_of(turns: Iterable[PlayedTurn]) -> str:
    """Return the words of an answer, or the text that its calls were read from."""
    predictions = (step.prediction for turn in turns for step in turn.steps)
    return next((words for one in predictions if (words := one.reply or one.content)), "")


def score_output(
    entry: SingleTurnEntry, output: Json, settings: BfclSettings, *, failed: bool = False
) -> Score:
    """Score an answer in BFCL's form. `failed` says that generating it ended in an error."""
    calls = len(output) if isinstance(output, list) else 0
    has_call = is_calls(output) and bool(output)
    try:
        if entry.category.endswith("irrelevance"):
            if has_call:
                raise Wrong("irrelevance_error:decoder_success", "nothing is to be called")
        elif entry.category.endswith("relevance"):
            if not has_call:
                raise Wrong("relevance_error:decoder_failed", "something is to be called")
        elif not is_calls(output):
            raise Wrong("ast_decoder:decoder_wrong_output_format", "no list of calls")
        else:
            check(cast(Output, output), entry, underscores=settings.underscores)
    except Wrong as wrong:
        return _score(entry, calls, wrong, failed=failed)
    return _score(entry, calls, None)


def _score(entry: SingleTurnEntry, calls: int, wrong: Wrong | None, *, failed: bool = False) -> Score:
    counts = counts_of(entry, int(wrong is None))
    due = len(entry.truth)
    if wrong is None:
        places = (CallPlace(0, number) if number < due else None for number in range(calls))
        return Score(counts, tuple(Verdict(True, place) for place in places))
    due = 0 if entry.category.endswith("irrelevance") else max(due, 1)
    if calls < due:
        kind = FaultKind.GENERATION_FAILED if failed else FaultKind.MISSING_CALL
    elif calls > due:
        kind = FaultKind.UNNEEDED_ACTION
    else:
        kind = FaultKind.WRONG_TOOL if "wrong_func_name" in wrong.kind else FaultKind.WRONG_ARGUMENT
    fault = Fault(kind, 0, f"{wrong.kind}: {wrong}")
    return Score(counts, (Verdict(False, reason=str(wrong)),) * calls, {0: {wrong.kind: 1}}, (fault,))


def true_answer(entry: SingleTurnEntry, request: Request) -> Prediction:
    """Predict the ground truth in one message, each argument with its first allowed value."""
    offered = {tool.name for tool in request.tools}
    form = form_told_by(request.instructions) if request.in_words else None
    is_dotted = offered == {function["name"] for function in entry.functions}
    settings = BfclSettings("dots" if is_dotted else "underscores")
    calls = [Call(name_of(call.name, settings), call.arguments) for call in entry.answer()]
    if not calls and not entry.category.endswith("irrelevance"):
        calls = [Call(request.tools[0].name, {})]
    if not calls:
        return replied("None of these functions can do that.")
    if form is not None:
        return replied(form.write(calls))
    return Prediction(raw=str(calls), call=calls[0], further=tuple(calls[1:]))


class SingleTurnSetup(BfclSetup):
    """The setup for single turns, where calls are checked and not executed."""

    grader_name = "ast"
    as_written = False
    """Whether calls are scored as they are, because others asked for them."""

    def check(self, task: SingleTurnEntry, settings: BfclSettings) -> None:
        """Raise RigError for a form if the functions are not in Python: upstream has no such prompt."""
        if settings.prompt_form is not None and task.language != "python":
            raise RigError(
                f"{task.name}: --set form={settings.form} is for functions in Python; choose other files"
            )

    def data(self) -> Sequence[SingleTurnEntry]:
        """Load the entries that `--set data=DIR` or $RIG_BFCL names."""
        return data.load(self.folder)

    @cached_property
    def places_of_forms(self) -> Mapping[str, int]:
        """The positions of the format sensitivity's entries in upstream's order, by id. Raises RigError."""
        ids = data.ids_in(self.folder / f"BFCL_v4_{data.FORMAT_SENSITIVITY}.json")
        files = data.files(self.folder, [*ids]).items()
        rows = ((row["id"], kind) for kind, file in files for row, _ in data.lines(file))
        return {name: place for place, name in enumerate(name for name, kind in rows if name in ids[kind])}


class BFCL(BfclMethod):
    """The Berkeley Function Calling Leaderboard's categories of one turn."""

    name = "bfcl"
    begins_from_truth = True
    categories = (*data.CATEGORIES, data.FORMAT_SENSITIVITY)
    declaration = rates("bfcl", data.CATEGORIES)
    options: tuple[Option, ...] = (
        Option("names", "underscores", several=True, choices=("underscores", "dots")),
        Option("data", "", opens=True),
        FormOption(FORM.name, NO_FORM, several=True, commas=True, help=FORM.help),
    )
    oracles = MappingProxyType({"oracle": true_answer})
    episode = SingleTurn
    load = staticmethod(data.load)
    parse = staticmethod(data.parse)

    def check(self, place: Path, world: Path | None = None, toolbox: Toolbox | None = None) -> Checked | None:
        """Check as other methods do, and whether the truth is of the types that the functions declare."""
        report = super().check(place, world, toolbox)
        lines = (f"{entry.name}: {text}" for entry in self.load(place) for text in entry.type_faults())
        return report and replace(report, faults=(*report.faults, *lines))

    def recognises(self, place: Path) -> bool:
        return bool(data.files(place, self.categories))

    def settings(self, values: Mapping[str, Any]) -> BfclSettings:
        return BfclSettings(values["names"], values["form"])

    def opening(self, task: SingleTurnEntry, settings: BfclSettings, role: str) -> Request:
        """Return how a request begins. With a form, the context has the functions; the answer is any text."""
        tools = tools_of(task.functions, task.language, settings)
        request = opening(task.name, 0, task.question, tools)
        form = settings.prompt_form
        if form is None:
            return request
        functions = form.documentation(data.named_functions(task.functions, task.language, settings))
        context = "\n\n".join(filter(None, (functions, request.context)))
        return replace(request, instructions=form.instructions, context=context, in_words=True)

    def ready(self, values: Mapping[str, Any]) -> SingleTurnSetup:
        return SingleTurnSetup(self, values)


METHOD: Method = BFCL()
