"""An assistant who knows the true call, and asks for what the user has not said."""

import json
from collections.abc import Sequence

from rig.methods.autode.data.scenarios import Scenario
from rig.methods.autode.players.questions import spoken
from rig.methods.autode.players.scripted_user import missing
from rig.methods.scripted import called, replied
from rig.models import Prediction, ReplyMessage, Request, UserMessage

ASKED_AT_ONCE = 2
"""How many values the oracle asks for in one question."""


def true_step(scenario: Scenario, request: Request) -> Prediction:
    """Ask once for each value that the user has not said, two at a time, and then make the true call."""
    heard = [message.text for message in request.messages if isinstance(message, UserMessage)]
    own = [message.text for message in request.messages if isinstance(message, ReplyMessage)]
    missing_slots = [name for name in missing(scenario, heard) if not _is_asked(name, own)]
    if missing_slots:
        asked = " and the ".join(map(spoken, missing_slots[:ASKED_AT_ONCE]))
        return replied(f"Could you tell me the {asked}?")
    if request.tools:
        return called(scenario.call.name, dict(scenario.slots))
    call = {"functionName": scenario.call.name, **scenario.slots}
    return replied(f"<func>{json.dumps(call, ensure_ascii=False)}</func>")


def _is_asked(name: str, own: Sequence[str]) -> bool:
    return any(f"the {spoken(name)}?" in text or f"the {spoken(name)} and" in text for text in own)
