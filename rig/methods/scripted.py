"""Models without weights: oracles and scripted models, and helpers that make their predictions."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rig.core.calls import Call, Json, JsonObject, without_token
from rig.core.errors import ErrorKind
from rig.core.models import CallMessage, Message, OneByOne, OnPiece, Piece, Prediction, Request, StepKey
from rig.world.toolbox import FAILURES


def called(name: str, arguments: Json = None) -> Prediction:
    """Return the prediction of a call, with the call as JSON for its raw text."""
    arguments = {} if arguments is None else arguments
    return Prediction(raw=json.dumps({"name": name, "arguments": arguments}), call=Call(name, arguments))


def replied(text: str) -> Prediction:
    """Return the prediction of a reply in words."""
    return Prediction(raw=text, reply=text)


def failed(kind: ErrorKind, detail: str = "", raw: str = "") -> Prediction:
    """Return the prediction of a step that failed."""
    return Prediction(
        raw=raw,
        error=kind,
        error_detail=detail,
        finish_reason="length" if kind is ErrorKind.TRUNCATED else "error",
    )


def words(request: Request) -> list[str]:
    """Return the texts of a request's messages in order, without the calls."""
    return [message.text for message in request.messages if not isinstance(message, CallMessage)]


def failures(messages: Iterable[Message]) -> int:
    """Count the calls that a dial made fail and that have to be made again."""
    return sum(
        isinstance(message, CallMessage) and message.outcome.exception in FAILURES.values()
        for message in messages
    )


def true_step(task: Any, request: Request) -> Prediction:
    """Predict the next true call of a turn, without its session token, or after the last the true reply."""
    true = task.expected(request.key.turn)
    number = request.key.step - failures(request.messages[len(request.messages) - request.key.step :])
    if number < len(true.calls):
        call = true.calls[number]
        return called(call.name, without_token(call.arguments))
    return replied(true.reply)


class Oracle(OneByOne):
    """A model that knows the tasks. `answer` makes its prediction for a task, by default the true step."""

    def __init__(
        self,
        tasks: Iterable[Any],
        answer: Callable[[Any, Request], Prediction] = true_step,
        name: str = "oracle",
    ) -> None:
        super().__init__()
        self.name = name
        self._tasks = {task.name: task for task in tasks}
        self._answer = answer

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        return {"engine": "oracle"}

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        prediction = self._answer(self._tasks[request.key.conversation], request)
        on_piece(Piece(prediction.raw, tokens=0))
        return prediction


class Scripted(OneByOne):
    """A model for tests: `script` is a function from requests to predictions, or a mapping by step key.

    A key that the mapping lacks is answered with an empty reply. The raw text is streamed in pieces of
    `chunk` characters (0: one piece), each after `delay_s` seconds. `slots` is the number of steps that it
    takes at once.
    """

    def __init__(
        self,
        script: Callable[[Request], Prediction] | Mapping[StepKey, Prediction],
        *,
        name: str = "scripted",
        chunk: int = 0,
        delay_s: float = 0.0,
        fingerprint: JsonObject | None = None,
        slots: int = 1,
    ) -> None:
        super().__init__(slots)
        self.name = name
        by_key: Mapping[StepKey, Prediction] = {} if callable(script) else script
        self._script: Callable[[Request], Prediction] = (
            script if callable(script) else lambda request: by_key.get(request.key, replied(""))
        )
        self._chunk = chunk
        self._delay_s = delay_s
        self._fingerprint = {"engine": "scripted", **(fingerprint or {})}

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        return self._fingerprint

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        prediction = self._script(request)
        size = self._chunk or max(len(prediction.raw), 1)
        for start in range(0, len(prediction.raw), size):
            if self._delay_s:
                time.sleep(self._delay_s)
            on_piece(Piece(prediction.raw[start : start + size]))
        return prediction
