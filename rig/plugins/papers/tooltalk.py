"""ToolTalk's paper: its tables, made from stored scores beside the printed rows, and files of predictions.

Source: Farn and Shin, "ToolTalk: Evaluating Tool Usage in a Conversational Setting" (2023). Models read the
tools' descriptions in tables 1 and 2, and only their names in tables 3 and 4. Tables 1 and 3 have rates by
suite, tables 2 and 4 the types of error over all suites.

A file of predictions is a conversation's JSON with `predictions` at its assistant turns, as ToolTalk's
`evaluate_openai` writes and its evaluator reads it: for each call an entry of role `api` with request,
response and exception, and at the end one of role `assistant` with a text.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rig.core.budget import parse_json
from rig.core.calls import Call, ExecutedCall, Json, JsonObject, Outcome
from rig.core.errors import ErrorKind, RigError
from rig.core.metrics import TASKS, UNCLEAR
from rig.core.models import Prediction
from rig.core.tasks import PlayedTurn, Step
from rig.plugins.papers.grids import ArmScore, Row, Table
from rig.plugins.papers.paper import Paper
from rig.plugins.tooltalk.conversations import Conversation, load_conversation
from rig.plugins.tooltalk.scoring import DECLARATION, ErrorType, name_callers
from rig.world.toolbox import Toolbox

_RATE_NAMES = ("success_rate", "precision", "recall", "incorrect_action_rate")
_RATES = ("model", "suite", "success", "precision", "recall", "incorrect actions", "conversations")
_ERRORS = ("model", *map(str, ErrorType), "total")

CITED = (
    "Rows marked (paper) are cited from the tables of these numbers in Farn and Shin, ToolTalk (2023). They"
    " were measured on ToolTalk's own conversations, with another similarity of texts, and without a grammar."
)


def published_tables(scores: Iterable[ArmScore]) -> list[Table]:
    """Make the paper's tables from scores, each of one suite, for each grader.

    The paper's rows follow those measured on a suite of the same name.
    """
    groups: dict[str, dict[bool, list[ArmScore]]] = {}
    for score in scores:
        is_named = score.fingerprint.get("protocol.docs") == "names"
        groups.setdefault(score.grader, {False: [], True: []})[is_named].append(score)
    pairs = (pair for by_docs in groups.values() for pair in by_docs.items())
    return [table for is_named, same in pairs if same for table in _pair_of_tables(same, is_named)]


def _pair_of_tables(scores: list[ArmScore], is_named: bool) -> Iterable[Table]:
    """Make the tables of rates and error types from scores of one grader with the same tool documents."""
    first, tools = (3, "only named") if is_named else (1, "documented")
    rates: dict[str, list[Row]] = {}
    errors: dict[str, Counter[str]] = {}
    for score in scores:
        rate_of = {metric.name: metric.rate(score.counts) for metric in DECLARATION.shown("meters")}
        measured = [rate_of[name] for name in _RATE_NAMES]
        row = rates_row(score.arm, "run", score.suite, *measured, conversations=round(score.counts[TASKS]))
        rates.setdefault(score.suite, []).append(row)
        errors.setdefault(score.arm, Counter()).update(score.error_types)
    for suite, rows in rates.items():
        rows += [row for row in (PAPER_RATES_NAMES if is_named else PAPER_RATES) if row[1]["suite"] == suite]
    types = [errors_row(arm, "run", counts) for arm, counts in errors.items()]
    if not rates.keys().isdisjoint(("easy", "hard")):
        types += PAPER_ERRORS_NAMES if is_named else PAPER_ERRORS
    unclear = sum(round(score.counts.get(UNCLEAR, 0)) for score in scores)
    of_suites = [row for rows in rates.values() for row in rows]
    for number, subject, header, listed in (
        (first, "Results", _RATES, of_suites),
        (first + 1, "Types of error", _ERRORS, types),
    ):
        remarks = [CITED] if any(row["source"] == "paper" for _, row in listed) else []
        remarks += [f"Texts that rig cannot judge count as wrong: {unclear}."] if unclear else []
        of_grader = scores[0].grader, scores[0].graded_by
        yield Table(f"{subject}, tools {tools}", *of_grader, header, listed, " ".join(remarks), number)


def rates_row(model: str, source: str, suite: str, *rates: float | None, conversations: int) -> Row:
    """Make a row of a model's rates on a suite (tables 1 and 3), as fractions or, if undefined, None."""
    row = {"model": model, "source": source, "suite": suite, **dict(zip(_RATE_NAMES, rates, strict=True))}
    cells = (_marked(model, source), suite or "-", *rates, conversations)
    return cells, {**row, "conversations": conversations}


def errors_row(model: str, source: str, errors: Mapping[str, int]) -> Row:
    """Make a row of a model's shares of each type of error, over all suites (tables 2 and 4)."""
    counts = {str(kind): errors.get(kind, 0) for kind in ErrorType}
    total = sum(errors.values())
    shares = {kind: count / total if total else None for kind, count in counts.items()}
    row = {"model": model, "source": source, "errors": counts, "shares": shares, "total": total}
    return (_marked(model, source), *shares.values(), total), row


def _marked(model: str, source: str) -> str:
    return f"{model} (paper)" if source == "paper" else model


def _cited_errors(model: str, *counts: int) -> Row:
    return errors_row(model, "paper", dict(zip(ErrorType, counts, strict=True)))


PAPER_RATES = (
    rates_row("GPT-3.5", "paper", "easy", 0.857, 0.424, 0.893, 0.050, conversations=28),
    rates_row("GPT-4", "paper", "easy", 0.928, 0.692, 0.964, 0.038, conversations=28),
    rates_row("GPT-3.5", "paper", "hard", 0.260, 0.546, 0.697, 0.239, conversations=50),
    rates_row("GPT-4", "paper", "hard", 0.500, 0.749, 0.790, 0.251, conversations=50),
)
"""Table 1 of the paper."""

PAPER_ERRORS = (_cited_errors("GPT-3.5", 18, 36, 13), _cited_errors("GPT-4", 16, 21, 13))
"""Table 2 of the paper, as the only counts that give its printed percentages and totals."""

PAPER_RATES_NAMES = (
    rates_row("GPT-3.5", "paper", "easy", 0.821, 0.358, 0.857, 0.022, conversations=28),
    rates_row("GPT-4", "paper", "easy", 0.857, 0.520, 0.929, 0.057, conversations=28),
    rates_row("GPT-3.5", "paper", "hard", 0.160, 0.401, 0.626, 0.118, conversations=50),
    rates_row("GPT-4", "paper", "hard", 0.340, 0.406, 0.643, 0.130, conversations=50),
)
"""Table 3 of the paper."""

PAPER_ERRORS_NAMES = (_cited_errors("GPT-3.5", 9, 52, 12), _cited_errors("GPT-4", 11, 41, 16))
"""Table 4 of the paper, as counts."""


_OURS = "rig"
"""The member of an entry's `metadata` for data that ToolTalk has no place for."""

_MADE_BY_SCORING = ("metrics", "predictions", "match", "bad_action")


def load_predictions(place: Path, toolbox: Toolbox) -> list[tuple[Conversation, dict[int, PlayedTurn]]]:
    """Read the conversations of a file, or of all files of a directory, with the predictions at each turn.

    A turn without `predictions` has not been played. Raises RigError if a file cannot be read or has another
    shape, or if no file has predictions.
    """
    paths = sorted(place.glob("*.json")) if place.is_dir() else [place]
    if not paths:
        raise RigError(f"{place}: holds no predictions (*.json)")
    conversations = [load_conversation(path) for path in paths]
    for conversation in conversations:
        try:
            toolbox.docs([call.name for call in conversation.ground_truth])
        except RigError as error:
            raise RigError(f"{conversation.name}: {error}") from error
    predicted = [
        (conversation, name_callers(conversation, _turns(conversation), toolbox))
        for conversation in conversations
    ]
    if not any(turns for _, turns in predicted):
        raise RigError(f"{place}: holds conversations without predictions; `rig run` or ToolTalk makes some")
    return predicted


def with_predictions(conversation: Conversation, turns: Mapping[int, PlayedTurn]) -> JsonObject:
    """Return the conversation's file with predictions, without anything that an earlier scoring added."""
    source: JsonObject = _unscored(parse_json(json.dumps(conversation.source)))
    entries = [_unscored(entry) for entry in source["conversation"]]
    for index, entry in enumerate(entries):
        if "apis" in entry:
            entry["apis"] = list(map(_unscored, entry["apis"]))
        if index in turns:
            entry["predictions"] = [_entry(step) for step in turns[index].steps]
    return {**source, "conversation": entries}


def _unscored(part: JsonObject) -> JsonObject:
    return {name: value for name, value in part.items() if name not in _MADE_BY_SCORING}


def _turns(conversation: Conversation) -> dict[int, PlayedTurn]:
    played = {}
    for index, entry in enumerate(conversation.source["conversation"]):
        if entry["role"] != "assistant" or "predictions" not in entry:
            continue
        where = f"{conversation.name}: conversation.{index}.predictions"
        if not isinstance(entry["predictions"], list):
            raise RigError(f"{where}: not a list")
        numbered = enumerate(entry["predictions"])
        steps = tuple(_step(prediction, f"{where}.{number}") for number, prediction in numbered)
        played[index] = PlayedTurn(index, steps)
    return played


def _step(entry: Json, where: str) -> Step:
    role = entry.get("role") if isinstance(entry, dict) else None
    if role == "assistant":
        return Step(_answer(entry))
    if role != "api":
        raise RigError(f"{where}: neither a call (role api) nor a reply (role assistant)")
    request = entry.get("request")
    if not isinstance(request, dict) or "api_name" not in request or "parameters" not in request:
        raise RigError(f"{where}: a call without request.api_name and request.parameters")
    exception = entry.get("exception")
    name, arguments = request["api_name"], request["parameters"]
    # A model can write anything, but the name of a tool has to be text.
    call = Call(name if isinstance(name, str) else json.dumps(name), arguments)
    outcome = Outcome(entry.get("response"), None if exception is None else str(exception))
    return Step(Prediction(raw=json.dumps(request), call=call), ExecutedCall(call, outcome))


def _answer(entry: Mapping[str, Any]) -> Prediction:
    text = entry.get("text")
    reply = text if isinstance(text, str) else ""
    ours = entry.get("metadata")
    error = ours.get(_OURS) if isinstance(ours, dict) else None
    kind = error.get("error") if isinstance(error, dict) else None
    if kind in list(ErrorKind):
        return Prediction(raw=reply, error=ErrorKind(kind), finish_reason="error")
    return Prediction(raw=reply, reply=reply)


def _entry(step: Step) -> JsonObject:
    prediction = step.prediction
    ours: JsonObject = {"raw": prediction.raw, "usage": asdict(prediction.usage)}
    if step.executed is not None:
        return {**step.executed.as_json(), "metadata": {_OURS: ours}, "role": "api"}
    if prediction.error is not None:
        ours |= {"error": prediction.error, "error_detail": prediction.error_detail}
    return {"role": "assistant", "text": prediction.reply or "", "metadata": {_OURS: ours}}


class ToolTalkPaper(Paper):
    """ToolTalk's paper. A file of predictions holds one conversation, so each task of a run is a file."""

    name = "tooltalk"
    methods = ("tooltalk",)
    writes = "files"

    tables = staticmethod(published_tables)

    def predictions(
        self, setup: Any, place: Path, method: str
    ) -> Sequence[tuple[Any, dict[int, PlayedTurn]]]:
        setup.hold_to_recorded()
        return load_predictions(place, setup.matcher.toolbox)

    def record(self, task: Any, turns: Mapping[int, PlayedTurn], settings: Any, setup: Any) -> str:
        return json.dumps(with_predictions(task, turns), indent=4)


PAPER: Paper = ToolTalkPaper()
