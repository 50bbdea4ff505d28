"""ToolTalk's paper (Farn and Shin, 2023): its tables, and its prediction files.

Such a file is a conversation's JSON with `predictions` at its assistant turns, as microsoft/ToolTalk's
`evaluate_openai` writes and its evaluator reads it: for a call an entry of role `api` with request, response
and exception, then one of role `assistant` with a text.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rig.calls import Call, ExecutedCall, Json, JsonObject, Outcome
from rig.errors import ErrorKind, RigError
from rig.methods.paper import Paper
from rig.methods.tooltalk.conversations import Conversation, load_conversation
from rig.methods.tooltalk.scoring.callers import name_callers
from rig.models import Prediction
from rig.papers.tooltalk.tables import published_tables
from rig.tasks import PlayedTurn, Step
from rig.toolbox.toolbox import Toolbox

_OURS = "rig"
"""Where in an entry's `metadata` what ToolTalk does not know of is kept."""

_MADE_BY_SCORING = ("metrics", "predictions", "match", "bad_action")


def load_predictions(place: Path, toolbox: Toolbox) -> list[tuple[Conversation, dict[int, PlayedTurn]]]:
    """The conversations of a file, or of all files of a directory, with the predictions at each turn.

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
    """The conversation's file with predictions. What an earlier scoring may have left in it is dropped."""
    source: JsonObject = _unscored(json.loads(json.dumps(conversation.source)))
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
    # A model can write anything; no tool's name is anything but text.
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
    """A file of predictions is a conversation's, so that the tasks of a run are files."""

    name = "tooltalk"
    methods = ("tooltalk",)
    writes = "files"

    tables = staticmethod(published_tables)

    def predictions(
        self, setup: Any, place: Path, method: str
    ) -> Sequence[tuple[Any, dict[int, PlayedTurn]]]:
        setup.hold_to_recorded()
        return load_predictions(place, setup.matcher.toolbox)

    def record(self, task: Any, turns: Mapping[int, PlayedTurn], settings: Any) -> str:
        return json.dumps(with_predictions(task, turns), indent=4)


PAPER: Paper = ToolTalkPaper()
