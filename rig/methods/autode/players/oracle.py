"""An assistant who knows the true call, and asks for what the user has not said."""

import json
from collections.abc import Iterable, Mapping, Sequence

from rig.calls import Json
from rig.methods.autode.data.scenarios import Scenario
from rig.methods.autode.players.questions import spoken
from rig.methods.autode.players.scripted_user import missing
from rig.methods.scripted import called, replied
from rig.models import OneByOne, OnPiece, Piece, Prediction, ReplyMessage, Request, UserMessage

ASKED_AT_ONCE = 2
"""How many values the oracle asks for in one question."""


class Oracle(OneByOne):
    """Asks once for each value that the user has not said, two at a time, and then makes the true call."""

    name = "oracle"

    def __init__(self, scenarios: Iterable[Scenario]) -> None:
        super().__init__()
        self._scenarios = {scenario.name: scenario for scenario in scenarios}

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        return {"engine": "oracle"}

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        scenario = self._scenarios[request.key.conversation]
        heard = [each.text for each in request.messages if isinstance(each, UserMessage)]
        own = [each.text for each in request.messages if isinstance(each, ReplyMessage)]
        left = [name for name in missing(scenario, heard) if not _is_asked(name, own)]
        if left:
            asked = " and the ".join(map(spoken, left[:ASKED_AT_ONCE]))
            prediction = replied(f"Could you tell me the {asked}?")
        elif request.tools:
            prediction = called(scenario.call.name, dict(scenario.slots))
        else:
            call = {"functionName": scenario.call.name, **scenario.slots}
            prediction = replied(f"<func>{json.dumps(call, ensure_ascii=False)}</func>")
        on_piece(Piece(prediction.raw, tokens=0))
        return prediction


def _is_asked(name: str, own: Sequence[str]) -> bool:
    return any(f"the {spoken(name)}?" in text or f"the {spoken(name)} and" in text for text in own)
