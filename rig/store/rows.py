"""Steps of a turn as rows of the `predictions` table, and back."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rig.calls import Call, CallPlace, Difference, ExecutedCall, Fault, FaultKind, Json, Outcome, Verdict
from rig.errors import ErrorKind
from rig.models import Prediction, Usage
from rig.tasks import Step


def to_json(value: Json) -> str:
    """Compact ASCII JSON, which holds even text that UTF-8 cannot."""
    return json.dumps(value, separators=(",", ":"))


def storable(text: str | None) -> str | None:
    """Text with its lone surrogates escaped: a model can write them in JSON, SQLite cannot store them."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")


_TEXTS = ("raw", "reply", "error_detail", "salvage", "reasoning", "content")
_PLAIN = ("finish_reason", "part")
_TOKENS = ("token_ids", "logprobs", "token_chars")
"""Parts of a prediction with a column of their name: texts of a model, what is stored as it is, lists."""


def step_row(turn: Any, number: int, step: Step) -> dict[str, Any]:
    """The row of step `number` of the turn with this id."""
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
    """The columns that say how a call was judged; all None for anything but a call."""
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
    """The inverse of `step_row`."""
    call = executed = verdict = None
    if row["kind"] == "call":
        # The columns `tool` and `exception` are for people and may be escaped; here both are exact.
        name, arguments, exception = json.loads(row["executed"])
        outcome = Outcome(json.loads(row["response"]), exception)
        executed = ExecutedCall(Call(name, arguments), outcome, row["username"])
        call = Call(name, json.loads(row["arguments"]))
        verdict = _verdict(row)
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
    """The items of a JSON array. Who has no tokens, such as the oracle, has four empty ones at every step."""
    return () if text == "[]" else tuple(json.loads(text))


def _verdict(row: Mapping[str, Any]) -> Verdict | None:
    """How a call was judged; None if there was nothing to match it with."""
    if row["match"] is None:
        return None
    return Verdict(
        match=bool(row["match"]),
        ground_truth=_place(row),
        bad_action=bool(row["bad_action"]),
        reason=row["reason"],
        differences=tuple(Difference(**difference) for difference in json.loads(row["differences"])),
    )


def _place(row: Mapping[str, Any]) -> CallPlace | None:
    turn = row["ground_truth_turn"]
    return None if turn is None else CallPlace(turn, row["ground_truth_call"])


def fault_row(score: Any, fault: Fault) -> dict[str, Any]:
    """The row of a fault in the score with this id."""
    turn, call = fault.ground_truth or (None, None)
    return {
        "score": score,
        "turn": fault.turn,
        "kind": fault.kind,
        "step": fault.step,
        "ground_truth_turn": turn,
        "ground_truth_call": call,
        **{name: storable(getattr(fault, name)) for name in ("text", "tool", "argument")},
        **{name: to_json(getattr(fault, name)) for name in ("expected", "got")},
    }


def fault_from_row(row: Mapping[str, Any]) -> Fault:
    """The inverse of `fault_row`."""
    return Fault(
        kind=FaultKind(row["kind"]),
        turn=row["turn"],
        text=row["text"],
        step=row["step"],
        ground_truth=_place(row),
        tool=row["tool"],
        argument=row["argument"],
        expected=json.loads(row["expected"]),
        got=json.loads(row["got"]),
    )
