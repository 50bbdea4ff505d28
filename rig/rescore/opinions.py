"""What a local model thinks of two texts. The person who decides sees it; it decides nothing itself."""

from collections.abc import Mapping
from typing import NamedTuple

from rig.calls import JsonObject
from rig.models import Model, Request, StepKey, ToolDoc, UserMessage
from rig.rescore.adjudication import Unsettled

_SYSTEM = "You compare two texts and say whether they mean the same. Be strict about facts."
_LONGEST = 2_000
"""Characters of each text that the model reads."""

_TOOL = ToolDoc(
    "compare_texts",
    "Say whether the two texts mean the same.",
    {
        "type": "object",
        "properties": {
            "reason": {"type": "string", "maxLength": 200, "description": "Why, in one sentence."},
            "same": {"enum": ["y", "n"], "description": "y if they mean the same, else n."},
        },
        "required": ["reason", "same"],
        "additionalProperties": False,
    },
)


class Opinion(NamedTuple):
    """What a model said, `same` being None if it said nothing that can be used; `reason` is its own."""

    model: str
    same: bool | None
    reason: str

    def as_json(self) -> JsonObject:
        """All of it by name."""
        return self._asdict()


class Opinions:
    """Asks a model. Its answers are held to a form by the grammar that tool calls are held to."""

    def __init__(self, model: Model) -> None:
        self._model = model
        model.prepare(self._request(), 1)

    def of(self, unsettled: Unsettled) -> Opinion:
        """What the model says of a pair."""
        doubt = unsettled.doubt
        about = f"Both are the {doubt.argument} of {doubt.tool}."
        texts = f"Text 1: {doubt.expected[:_LONGEST]}\nText 2: {doubt.got[:_LONGEST]}"
        prediction = self._model.predict(self._request(f"{about}\n{texts}"), lambda _piece: None)
        arguments = prediction.call.arguments if prediction.call else {}
        fields = arguments if isinstance(arguments, Mapping) else {}
        same = {"y": True, "n": False}.get(str(fields.get("same")))
        reason = fields.get("reason") or prediction.reply or prediction.error_detail
        return Opinion(self._model.name, same, str(reason or "no answer"))

    def close(self) -> None:
        """Let go of the model."""
        self._model.close()

    @staticmethod
    def _request(text: str = "") -> Request:
        messages = (UserMessage(text),) if text else ()
        return Request(StepKey("adjudication", 0, 0), _SYSTEM, (_TOOL,), "", messages)
