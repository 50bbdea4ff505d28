"""Scenarios small enough to be read in a test, and what plays them."""

from collections.abc import Mapping, Sequence
from typing import Any

from rig.core.calls import Call
from rig.core.events import Event, Where
from rig.core.models import Prediction
from rig.core.tasks import ASSISTANT, PlayedTurn
from rig.methods.episode import Ask
from rig.plugins.autode.method import METHOD, Dialogue
from rig.plugins.autode.scenarios import USER, ApiDocument, Scenario, Utterance
from rig.plugins.autode.talk import THE_USER, AutoDeSettings

LAMP = ApiDocument.parse(
    {
        "name": "SwitchLamp",
        "description": "Switch a lamp on or off.",
        "parameters": {
            "deviceType": {"description": "Which device", "enum": ["mobile phone", "tablet", "watch"]},
            "room": {"description": "Room the lamp is in", "mark": "required"},
            "startTime": {"description": "When it is switched"},
            "colour": {"description": "Colour of the light"},
            "dimmed": {"description": "Whether the light is dimmed", "type": "boolean"},
        },
    },
    "here",
)
DOOR = ApiDocument.parse(
    {
        "name": "LockDoor",
        "description": "Lock a door.",
        "parameters": {"door": {"description": "Which door"}},
    },
    "here",
)


def scenario(
    slots: Mapping[str, Any] | None = None, query: str = "I need light.", **changes: Any
) -> Scenario:
    slots = {"deviceType": "tablet", "room": "hall", "startTime": "at dusk"} if slots is None else slots
    known: dict[str, Any] = {
        "name": "dark-hall",
        "id": "1",
        "character": "Ann, a nurse",
        "background": "The hall is dark.",
        "purpose": "Ann wants light.",
        "history": (Utterance(USER, query),),
        "call": Call("SwitchLamp", slots),
        "apis": (LAMP, DOOR),
    }
    return Scenario(**{**known, **changes})


SETUP = METHOD.ready({option.name: option.default for option in METHOD.options})


class Heard:
    """Plays an episode with what each role says, in order, and keeps what was asked and emitted."""

    def __init__(
        self,
        task: Scenario,
        assistant: Sequence[Prediction],
        user: Sequence[Prediction] = (),
        settings: AutoDeSettings | None = None,
        played: Sequence[PlayedTurn] = (),
    ) -> None:
        self.asked: list[Ask] = []
        self.events: list[Event] = []
        self.turns: list[PlayedTurn] = list(played)
        self.episode = Dialogue(
            SETUP, task, settings or AutoDeSettings(), Where(0, task.name), self.events.append
        )
        for turn in played:
            self.episode.resume(turn)
        self._left = {ASSISTANT: list(assistant), THE_USER: list(user)}

    def turn(self) -> None:
        playing = self.episode.play()
        ask = next(playing)
        while True:
            self.asked.append(ask)
            try:
                ask = playing.send(self._left[ask.role].pop(0))
            except StopIteration as end:
                self.turns.append(end.value)
                return

    def all(self) -> "Heard":
        while self.episode.next_turn is not None:
            self.turn()
        return self

    @property
    def said(self) -> list[Utterance]:
        return self.episode.talk.said

    @property
    def end(self) -> str | None:
        return self.episode.talk.end

    @property
    def counts(self) -> Mapping[str, float]:
        counts: Mapping[str, float] = self.episode.score().counts
        return counts
