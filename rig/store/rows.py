"""Convert steps, faults and tasks to rows of the store, and back."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import Any

from rig.core.budget import parse_json
from rig.core.calls import (
    Call,
    CallPlace,
    Difference,
    ExecutedCall,
    Fault,
    FaultKind,
    Json,
    JsonObject,
    Outcome,
    Verdict,
)
from rig.core.errors import ErrorKind
from rig.core.tasks import ExpectedTurn, Step, Task


def to_json(value: Json) -> str:
    """Return compact ASCII JSON, which holds even text that UTF-8 cannot."""
    return json.dumps(value, separators=(",", ":"))


def storable(text: str | None) -> str | None:
    """Escape the lone surrogates of a text: a model can write them in JSON, but SQLite cannot store them."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")


_TEXTS = ("raw", "reply", "error_detail", "salvage", "reasoning", "content", "form")
_PLAIN = ("finish_reason", "part")
_TOKENS = ("token_ids", "logprobs", "token_chars")
"""Fields of a prediction with a column of the same name: texts from a model, plain values, and lists."""


def step_row(turn: Any, number: int, step: Step) -> dict[str, Any]:
    """Return the row of step `number` in the turn with this id."""
    prediction, executed = step.prediction, step.executed
    call = prediction.call
    return {
        "turn": turn,
        "step": number,
        "kind": prediction.kind,
        "error": prediction.error,
        "tool": storable(call.name) if call else None,
        "arguments": to_json(call.arguments) if call else None,
        **{name: storable(getattr(prediction, name)) for name in _TEXTS},
        **{name: getattr(prediction, name) for name in _PLAIN},
        **{name: to_json(getattr(prediction, name)) for name in _TOKENS},
        "executed": to_json([executed.name, executed.arguments, executed.exception]) if executed else None,
        "response": to_json(executed.response) if executed else None,
        "exception": storable(executed.exception) if executed else None,
        "username": storable(executed.username) if executed else None,
        **verdict_columns(step.verdict),
        **asdict(prediction.usage),
        "token_forced": to_json([int(forced) for forced in prediction.token_forced]),
        "role": step.role,
        "parent": step.parent,
    }


def verdict_columns(verdict: Verdict | None) -> dict[str, Any]:
    """Return the columns for how a call was judged; all are None for anything but a call."""
    if verdict is None:
        names = ("match", "bad_action", "ground_truth_turn", "ground_truth_call", "reason", "differences")
        return dict.fromkeys(names)
    turn, call = verdict.ground_truth or (None, None)
    return {
        "match": verdict.match,
        "bad_action": verdict.bad_action,
        "ground_truth_turn": turn,
        "ground_truth_call": call,
        "reason": storable(verdict.reason),
        "differences": to_json([difference.as_json() for difference in verdict.differences]),
    }


def step_from_row(row: Mapping[str, Any]) -> Step:
    """Read a step back from its row."""
    from rig.core.models import Prediction, Usage

    call = executed = verdict = None
    if row["kind"] == "call":
        call = Call(row["tool"], parse_json(row["arguments"]))
    if row["executed"] is not None:
        # The columns `tool` and `exception` are for people and may be escaped; here both are exact.
        name, arguments, exception = parse_json(row["executed"])
        outcome = Outcome(parse_json(row["response"]), exception)
        executed = ExecutedCall(Call(name, arguments), outcome, row["username"])
        call = Call(name, parse_json(row["arguments"]))
        if row["match"] is not None:  # else there was nothing to match it with
            verdict = Verdict(
                match=bool(row["match"]),
                ground_truth=_place(row),
                bad_action=bool(row["bad_action"]),
                reason=row["reason"],
                differences=tuple(Difference(**fields) for fields in parse_json(row["differences"])),
            )
    values: dict[str, Any] = {name: row[name] for name in (*_TEXTS, *_PLAIN)}
    values |= {name: _tuple(row[name]) for name in _TOKENS}
    prediction = Prediction(
        call=call,
        error=ErrorKind(row["error"]) if row["error"] else None,
        usage=Usage(**{name: row[name] for name in Usage.__dataclass_fields__}),
        token_forced=tuple(map(bool, _tuple(row["token_forced"]))),
        **values,
    )
    return Step(prediction, executed, verdict, row["role"], row["parent"])


def _tuple(text: str) -> tuple[Any, ...]:
    """Return the items of a JSON array. A shortcut for empty ones: the oracle has four at every step."""
    return () if text == "[]" else tuple(parse_json(text))


def _place(row: Mapping[str, Any]) -> CallPlace | None:
    turn = row["ground_truth_turn"]
    return None if turn is None else CallPlace(turn, row["ground_truth_call"])


_OF_FAULT = ("text", "tool", "argument")


def fault_row(score: Any, fault: Fault) -> dict[str, Any]:
    """Return the row of a fault in the score with this id."""
    turn, call = fault.ground_truth or (None, None)
    return {
        "score": score,
        "turn": fault.turn,
        "kind": fault.kind,
        "step": fault.step,
        "ground_truth_turn": turn,
        "ground_truth_call": call,
        **{name: storable(getattr(fault, name)) for name in _OF_FAULT},
        **{name: to_json(getattr(fault, name)) for name in ("expected", "got")},
    }


def fault_from_row(row: Mapping[str, Any]) -> Fault:
    """Read a fault back from its row."""
    return Fault(
        kind=FaultKind(row["kind"]),
        ground_truth=_place(row),
        expected=parse_json(row["expected"]),
        got=parse_json(row["got"]),
        **{name: row[name] for name in ("turn", "step", *_OF_FAULT)},
    )


_MOST_TURNS = 1_000
"""The most turns in the view of a task that does not say which turns it has."""


@dataclass(frozen=True)
class StoredTask:
    """A task made from its view alone. It can be shown and compared, but not played or scored."""

    name: str
    suite: str
    source: JsonObject
    known_turns: tuple[int, ...]
    ground_truth_count: int
    facts: Mapping[str, str]
    closing: tuple[str, ...]
    turns: Mapping[int, ExpectedTurn]

    @classmethod
    def of(cls, row: Mapping[str, Any], source: JsonObject, view: JsonObject) -> "StoredTask":
        """Make a task from a row of `conversations`, with `known_turns` as a list; `view` may be empty."""
        return cls(
            row["name"],
            row["suite"],
            source,
            tuple(map(int, row["known_turns"])),
            row["ground_truths"],
            {str(name): str(fact) for name, fact in view.get("facts", {}).items()},
            tuple(map(str, view.get("closing", ()))),
            {int(turn): _turn(**data) for turn, data in view.get("turns", {}).items()},
        )

    @property
    def defect(self) -> str:
        """What is known to be wrong with it, according to its facts."""
        return self.facts.get("known to be wrong", "")

    def expected(self, turn: int) -> ExpectedTurn:
        """Return what was known beforehand about the assistant turn with this number."""
        return self.turns.get(turn, ExpectedTurn())


def view_of(task: Task) -> JsonObject:
    """Return what a reader sees of a task: facts, closing, and by turn what is said, due and replied."""
    from rig.world.rules import is_optional

    numbers = task.known_turns or range(_MOST_TURNS)
    turns: Iterable[tuple[int, ExpectedTurn]] = ((turn, task.expected(turn)) for turn in numbers)
    if not task.known_turns:
        turns = takewhile(lambda numbered: any(numbered[1]), turns)
    return {
        "facts": dict(task.facts),
        "closing": list(task.closing),
        "turns": {
            str(turn): {
                "said": list(expected.said),
                "calls": [
                    [call.name, call.arguments, call.response, call.exception, is_optional(call)]
                    for call in expected.calls
                ],
                "reply": expected.reply,
            }
            for turn, expected in turns
        },
    }


def _turn(said: list[str], calls: list[Any], reply: str) -> ExpectedTurn:
    from rig.world.rules import TrueCall

    due = []
    for name, arguments, response, exception, optional in calls:
        call, outcome = Call(name, arguments), Outcome(response, exception)
        due.append(TrueCall(call, outcome, optional=True) if optional else ExecutedCall(call, outcome))
    return ExpectedTurn(tuple(said), tuple(due), reply)
