"""Loops in turns: the same calls with the same results, and answers that repeat themselves."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rig.core.budget import parse_json
from rig.core.calls import Call, Json, JsonObject, Outcome, without_token
from rig.core.errors import ErrorKind
from rig.core.models import Prediction
from rig.core.tasks import Step
from rig.plugins.loops.repeats import REPEATS, repeat_in

CUT_OFF = frozenset({ErrorKind.TRUNCATED, ErrorKind.CONTEXT})
"""Errors of answers that a limit cut off."""

_MOST_CALLS = 8
"""Calls of the longest sequence whose repeats are seen."""
_NAMES_OF_RESULTS = re.compile(
    r"(?:.*_)?(?:id|ids|uuid|guid|token|time|timestamp|created|updated|at)|.*(?:Id|ID|Time|At)"
)
"""Members of a result that differ whenever something is done: a repeated action makes a new one each time."""
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of calls or of text: what is repeated and how often, in words."""

    kind: Literal["call", "text"]
    words: str
    times: int

    @property
    def error(self) -> ErrorKind:
        """The kind of error that it is where it ends an answer or a turn."""
        return ErrorKind.CALL_LOOP if self.kind == "call" else ErrorKind.TEXT_LOOP


class _CallTexts(NamedTuple):
    """A call and what it returned, as texts that can be compared."""

    call: str
    result: str


def text_loop(prediction: Prediction) -> Loop | None:
    """Return the loop in a prediction's words or thoughts, or in what there is of an answer that failed.

    Several calls of one message are compared as calls, with their results.
    """
    is_cut = prediction.error in CUT_OFF
    texts = (prediction.reasoning, prediction.reply or prediction.content)
    for text in (prediction.raw,) if prediction.error else texts:
        if text and (repeat := repeat_in(text, is_cut=is_cut)):
            return Loop("text", repeat.words, repeat.times)
    return None


def call_loop(steps: Sequence[Step], call: Call | None) -> Loop | None:
    """Return the loop that these steps of a turn, and the call that follows them if any, are in.

    It is one or several calls that stand there `REPEATS` times with the same results, and begin once more.
    """
    executed = [step.executed for step in steps if step.executed]
    texts = [_CallTexts(_text(one.call), _result(one.outcome)) for one in executed]
    if call is not None:
        # Nobody knows yet what it will return, so nothing can tell it from the one that it repeats.
        texts.append(_CallTexts(_text(call), ""))
    for period in range(1, _MOST_CALLS + 1):
        if len(texts) <= REPEATS * period:
            return None
        last, earlier = texts[-1], texts[:-1]
        if last.call != earlier[-period].call or (last.result and last.result != earlier[-period].result):
            continue
        times = _times(earlier, period)
        if times >= REPEATS:
            what = "the same call" if period == 1 else f"the same {period} calls"
            name = last.call if len(last.call) <= _LONGEST else f"{last.call[: _LONGEST - 1]}…"
            return Loop("call", f"{what} {times + 1} times: {name}", times + 1)
    return None


def _times(made: Sequence[_CallTexts], period: int) -> int:
    """Return how often the last calls stand there in a row."""
    unit, times = made[-period:], 1
    while len(made) >= period * (times + 1) and made[-period * (times + 1) : -period * times] == unit:
        times += 1
    return times


def path_to(steps: Sequence[Step], parent: int) -> Sequence[Step]:
    """Return the steps of a turn that lead to the step `parent`, and it; a search has several paths."""
    path: list[Step] = []
    while 0 <= parent < len(steps):
        path.append(steps[parent])
        follows = path[-1].parent
        parent = parent - 1 if follows is None or follows >= parent else follows
    return path[::-1]


def loops_in(steps: Sequence[Step], role: str) -> Iterator[Loop]:
    """Yield the loops of a played turn: of its calls at most one, the longest, and one for each answer."""
    longest: Loop | None = None
    for number, step in enumerate(steps):
        if step.role != role:
            continue
        path = [other for other in path_to(steps, number) if other.role == role]
        is_made = step.executed is not None
        loop = call_loop(path, None) if is_made else call_loop(path[:-1], step.prediction.call)
        if loop is None and step.prediction.error is ErrorKind.CALL_LOOP:
            loop = Loop("call", step.prediction.error_detail, REPEATS + 1)
        if loop is not None and (longest is None or loop.times >= longest.times):
            longest = loop
        if step.prediction.error is ErrorKind.TEXT_LOOP:
            yield Loop("text", step.prediction.error_detail, REPEATS + 1)
        elif (found := text_loop(step.prediction)) is not None:
            yield found
    if longest is not None:
        yield longest


def _text(call: Call) -> str:
    return f"{call.name} {_json(without_token(call.arguments))}"


def _result(outcome: Outcome) -> str:
    return _json({"response": outcome.response, "exception": outcome.exception}, is_result=True)


def _json(value: Json, *, is_result: bool = False) -> str:
    """Return a value as a text with sorted members; of results without members that always differ."""
    try:
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=repr)
        if is_result:
            value = parse_json(text, object_hook=_without_names)
            text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        # Too deep or too odd to be compared: like nothing else.
        return object.__repr__(value)
    return text


def _without_names(members: JsonObject) -> JsonObject:
    return {name: value for name, value in members.items() if not _NAMES_OF_RESULTS.fullmatch(name)}
