"""A user who needs no language model: it follows the script of its scenario.

The same words always get the same answer. It follows upstream's manual for people who play the user: short
sentences, values in the script's own words, "I don't know" to anything that is not in it, and one request to
the assistant to do it itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from rig.calls import Json
from rig.methods.autode.data.scenarios import Scenario
from rig.methods.autode.players import questions
from rig.methods.autode.players.questions import Alike, mentions, spoken
from rig.methods.scripted import replied
from rig.models import OneByOne, OnPiece, Piece, Prediction, ReplyMessage, Request, UserMessage
from rig.scoring.similarity import MiniLM

RULES = "1"
"""Version of the rules; to be raised with any change that can change an answer."""

FAILED = "[fail]"
"""What a user ends a conversation with that leads nowhere."""

AT_ONCE = 2
"""How many values the user gives when asked in general for what is missing."""

_PUSH = "Can you do that for me, please?"


class ScriptedUser(OneByOne):
    """Plays the user of scenarios, looked up by the request's key."""

    name = "scripted"

    def __init__(self, scenarios: Iterable[Scenario]) -> None:
        super().__init__()
        self._scenarios = {scenario.name: scenario for scenario in scenarios}

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        return {"engine": "scripted user", "rules": RULES, "near": questions.NEAR, **similarity().fingerprint}

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        own = [each.text for each in request.messages if isinstance(each, ReplyMessage)]
        heard = [each.text for each in request.messages if isinstance(each, UserMessage)]
        scenario = self._scenarios[request.key.conversation]
        prediction = replied(answer(scenario, own, heard[-1], similarity()))
        on_piece(Piece(prediction.raw, tokens=0))
        return prediction


@cache
def similarity() -> MiniLM:
    """The packaged sentence encoder; its weights are read at the first question that needs them."""
    return MiniLM()


def answer(scenario: Scenario, own: Sequence[str], heard: str, alike: Alike) -> str:
    """What the user says to an assistant's words, having said `own` before."""
    question = questions.read(heard, scenario.api, alike)
    wanted = [name for name in question.slots if name in scenario.slots]
    unknown = [name for name in question.slots if name not in scenario.slots]
    if question.is_general and not question.slots:
        wanted = missing(scenario, own)[:AT_ONCE]
    said = [_told(scenario, wanted)] if wanted else []
    if unknown:
        said.append(f"I don't know the {_listed(map(spoken, unknown))}.")
    if said:
        return " ".join(said)
    if question.is_closed:
        return "Yes, please."
    if question.is_open:
        return "Sorry, I don't know that."
    return FAILED if _PUSH in own else _PUSH


def missing(scenario: Scenario, said: Iterable[str]) -> list[str]:
    """The slots whose values nothing of what was said mentions, in the order of the call."""
    text = "\n".join(said)
    return [name for name, value in scenario.slots.items() if not _is_said(scenario, name, value, text)]


def _is_said(scenario: Scenario, name: str, value: Json, text: str) -> bool:
    parameter = scenario.api.parameter(name)
    return parameter is not None and mentions(text, value, parameter)


def _told(scenario: Scenario, names: Sequence[str]) -> str:
    """A sentence with the values of these slots, in the words of the script."""
    values = {name: scenario.slots[name] for name in names}
    if len(values) > 1:
        told = _listed(f"the {spoken(name)} is {_value(value)}" for name, value in values.items())
        return f"{told[0].upper()}{told[1:]}{_end(told)}"
    (value,) = values.values()
    if isinstance(value, bool):
        return "Yes, please." if value else "No, thanks."
    return f"It's {value}{_end(value)}" if len(value.split()) <= _SHORT else f"{value}{_end(value)}"


_SHORT = 6
"""Up to how many words a value is not a sentence of its own."""


def _value(value: Json) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _end(text: str) -> str:
    return "" if text.endswith((".", "!", "?")) else "."


def _listed(parts: Iterable[str]) -> str:
    """Parts with commas and an "and"."""
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
