"""JSON lines: one object for each event, except for pieces of text, because the prediction has all of it."""

import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, TextIO

from rig.calls import ExecutedCall, Json, JsonObject
from rig.displays.base import T, stopping
from rig.events import ConversationInfo, Emit, Event, PieceGenerated, RunStarted, Speed, Where
from rig.files import json_text
from rig.metrics import UNDECLARED, Declaration
from rig.models import Prediction
from rig.running.control import Control
from rig.tasks import Counted, numbered, turn_number

_WORD = re.compile(r"(?<!^)(?=[A-Z])")
_TOKENS = frozenset({"token_ids", "logprobs", "token_chars", "token_forced"})
"""Left to the store: one number for each token."""

_MEASURED = {"counts": "metrics", "arm_counts": "arm_metrics"}
"""Counts, by what they are called in the log, where their rates stand beside them."""


class LogDisplay:
    """Writes events as they happen, each line flushed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._declaration = UNDECLARED
        self._counted: dict[str, ConversationInfo] = {}

    def run(self, job: Callable[[Emit], T], control: Control) -> T:
        with stopping(control):
            return job(self._write)

    def _write(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._declaration = event.declaration
            self._counted = {conversation.name: conversation for conversation in event.conversations}
        if not isinstance(event, PieceGenerated):
            # ASCII: text of a model cannot steer a terminal, whoever reads the log.
            line = event_json(event, self._declaration)
            if counted := self._counted.get(str(line.get("conversation"))):
                _count(line, counted)
            print(json_text(line), file=self._stream, flush=True)


def event_json(event: Event, declaration: Declaration) -> JsonObject:
    """An event as one flat object: its name, the time, where it belongs, and its parts."""
    name = _WORD.sub("_", type(event).__name__).lower()
    line: JsonObject = {"event": name, "time": datetime.now(UTC).isoformat(timespec="milliseconds")}
    for part in fields(event):
        value = getattr(event, part.name)
        if part.name in _MEASURED:
            line[_MEASURED[part.name]] = declaration.as_json(value)
        else:
            line.update(_json(value) if isinstance(value, Where) else {part.name: _json(value)})
    return line


def _count(line: JsonObject, counted: Counted) -> None:
    """Number the turns of a line as people do, from 1: `position` is what the task calls a turn."""
    if "turn" in line:
        line["position"] = line["turn"]
    for name in ("turn", "first_turn"):
        if name in line:
            line[name] = turn_number(counted, line[name])
    if line.get("verdict"):
        line["verdict"] = numbered(line["verdict"], counted)
    if "rejudged" in line:
        line["rejudged"] = [
            {**numbered(moved, counted), "verdict": numbered(moved["verdict"], counted)}
            for moved in line["rejudged"]
        ]


def _json(value: Any) -> Json:
    if isinstance(value, Speed | ExecutedCall):
        return value.as_json()
    if isinstance(value, Declaration):
        return value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        omitted = _TOKENS if isinstance(value, Prediction) else frozenset()
        return {p.name: _json(getattr(value, p.name)) for p in fields(value) if p.name not in omitted}
    if isinstance(value, tuple):
        return [_json(part) for part in value]
    return value
