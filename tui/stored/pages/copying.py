"""A step as JSON, for the clipboard."""

import json

from rig.calls import JsonObject
from tui.stored.record import StepRecord


def step_json(step: StepRecord) -> str:
    """The call, with what came back and the verdict; the reply; or the error with the raw text."""
    prediction = step.prediction
    found: JsonObject
    if prediction.call is not None:
        found = {"name": prediction.call.name, "arguments": prediction.call.arguments}
        if step.executed is not None:
            outcome = step.executed.outcome
            found["response"], found["exception"] = outcome.response, outcome.exception
        if step.verdict is not None:
            found["verdict"] = step.verdict.as_json()
    elif prediction.reply is not None:
        found = {"reply": prediction.reply}
    else:
        found = {
            "error": str(prediction.error),
            "detail": prediction.error_detail,
            "raw": prediction.raw,
        }
    try:
        return json.dumps(found, indent=2, ensure_ascii=False)
    except RecursionError:
        return prediction.raw
