"""Assistants who know the true call: one asks for all that is not said yet, one for what is required."""

import json
from collections.abc import Sequence

from rig.calls import JsonObject
from rig.methods.autode.data.scenarios import Scenario
from rig.methods.autode.players.questions import spoken
from rig.methods.autode.players.scripted_user import missing
from rig.methods.scripted import called, replied
from rig.models import Prediction, ReplyMessage, Request, UserMessage

ASKED_AT_ONCE = 2
"""How many values the oracle asks for in one question."""


def true_step(scenario: Scenario, request: Request) -> Prediction:
    """Ask once for each value that the user has not said, two at a time, and then make the true call."""
    question = _question(request, missing(scenario, _heard(request)))
    return question or _call(scenario, request, dict(scenario.slots))


def obedient_step(scenario: Scenario, request: Request) -> Prediction:
    """Do what the prompt says: ask for what is required and was not said, and call with what the user told.

    Nobody can tell from words whether a truth value was said; it was if it was asked for.
    """
    unsaid = missing(scenario, _heard(request))
    required = [name for name in unsaid if name in scenario.api.required("fixed")]
    if question := _question(request, required):
        return question
    flags = [name for name in required if isinstance(scenario.slots[name], bool)]
    told = {name: value for name, value in scenario.slots.items() if name not in unsaid or name in flags}
    return _call(scenario, request, told)


def _heard(request: Request) -> list[str]:
    return [message.text for message in request.messages if isinstance(message, UserMessage)]


def _question(request: Request, names: Sequence[str]) -> Prediction | None:
    """A question for the first of these slots that were not asked for before."""
    own = [message.text for message in request.messages if isinstance(message, ReplyMessage)]
    phrases = (f"the {spoken(name)}" for name in names)
    new = [name for name in phrases if not any(f"{name}?" in text or f"{name} and" in text for text in own)]
    return replied(f"Could you tell me {' and '.join(new[:ASKED_AT_ONCE])}?") if new else None


def _call(scenario: Scenario, request: Request, slots: JsonObject) -> Prediction:
    if request.tools:
        return called(scenario.call.name, slots)
    call = {"functionName": scenario.call.name, **slots}
    return replied(f"<func>{json.dumps(call, ensure_ascii=False)}</func>")
