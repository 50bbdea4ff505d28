"""Steps of a turn as rows of the `predictions` table, and back."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rig.calls import Call, ExecutedCall, Json, Outcome
from rig.episodes import Step
from rig.errors import ErrorKind
from rig.models import Prediction, Usage
from rig.verdicts import CallPlace, Difference, Fault, FaultKind, Verdict


def to_json(value: Json) -> str:
    """Compact ASCII JSON, which holds even text that UTF-8 cannot."""
    return json.dumps(value, separators=(",", ":"))


def storable(text: str | None) -> str | None:
    """Text with its lone surrogates escaped: a model can write them in JSON, SQLite cannot store them."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")


def step_row(turn: Any, number: int, step: Step) -> dict[str, Any]:
    """The row of step `number` of the turn with this id."""
    prediction, executed = step.prediction, step.executed
    call = prediction.call
    return {
        "turn": turn,
        "step": number,
        "kind": prediction.kind,
        "raw": storable(prediction.raw),
        "tool": storable(call.name) if call else None,
        "arguments": to_json(call.arguments) if call else None,
        "reply": storable(prediction.reply),
        "error": prediction.error,
        "error_detail": storable(prediction.error_detail),
        "finish_reason": prediction.finish_reason,
        "executed": to_json([executed.name, executed.arguments, executed.exception]) if executed else None,
        "response": to_json(executed.response) if executed else None,
        "exception": storable(executed.exception) if executed else None,
        "username": storable(executed.username) if executed else None,
        **verdict_columns(step.verdict),
        **asdict(prediction.usage),
        "token_ids": to_json(prediction.token_ids),
        "logprobs": to_json(prediction.logprobs),
        "token_chars": to_json(prediction.token_chars),
        "token_forced": to_json([int(forced) for forced in prediction.token_forced]),
        "salvage": storable(prediction.salvage),
        "reasoning": storable(prediction.reasoning),
        "content": storable(prediction.content),
        "part": prediction.part,
        "role": step.role,
        "parent": step.parent,
    }


def verdict_columns(verdict: Verdict | None) -> dict[str, Any]:
    """The columns that say how a call was judged; all None for anything but a call."""
    turn, call = (verdict.ground_truth if verdict else None) or (None, None)
    return {
        "match": verdict.match if verdict else None,
        "bad_action": verdict.bad_action if verdict else None,
        "ground_truth_turn": turn,
        "ground_truth_call": call,
        "reason": storable(verdict.reason) if verdict else None,
        "differences": to_json([difference.as_json() for difference in verdict.differences])
        if verdict
        else None,
    }


def step_from_row(row: Mapping[str, Any]) -> Step:
    """The inverse of `step_row`."""
    # The columns `tool` and `exception` are for people and may be escaped; here both are exact.
    executed = _executed(row) if row["kind"] == "call" else None
    call = Call(executed.name, json.loads(row["arguments"])) if executed else None
    prediction = Prediction(
        raw=row["raw"],
        call=call,
        reply=row["reply"],
        error=ErrorKind(row["error"]) if row["error"] else None,
        error_detail=row["error_detail"],
        finish_reason=row["finish_reason"],
        usage=Usage(**{name: row[name] for name in Usage.__dataclass_fields__}),
        token_ids=_tuple(row["token_ids"]),
        logprobs=_tuple(row["logprobs"]),
        token_chars=_tuple(row["token_chars"]),
        token_forced=tuple(map(bool, _tuple(row["token_forced"]))),
        salvage=row["salvage"],
        reasoning=row["reasoning"],
        content=row["content"],
        part=row["part"],
    )
    if executed is None:
        return Step(prediction, role=row["role"], parent=row["parent"])
    return Step(prediction, executed, _verdict(row), row["role"], row["parent"])


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


def _executed(row: Mapping[str, Any]) -> ExecutedCall:
    name, arguments, exception = json.loads(row["executed"])
    return ExecutedCall(
        Call(name, arguments), Outcome(json.loads(row["response"]), exception), row["username"]
    )


def fault_row(score: Any, fault: Fault) -> dict[str, Any]:
    """The row of a fault in the score with this id."""
    turn, call = fault.ground_truth or (None, None)
    return {
        "score": score,
        "turn": fault.turn,
        "kind": fault.kind,
        "text": storable(fault.text),
        "step": fault.step,
        "ground_truth_turn": turn,
        "ground_truth_call": call,
        "tool": storable(fault.tool),
        "argument": storable(fault.argument),
        "expected": to_json(fault.expected),
        "got": to_json(fault.got),
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
