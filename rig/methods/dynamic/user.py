"""A user without a language model, who says what the user of the true conversation said.

The next line is said next, no matter what the assistant did. If the assistant asks for something that was not
asked for in the true conversation, the user answers if it is in the script, says yes to a question that needs
no more, and tells the assistant once to go on without it. Nothing is random.
"""

from collections.abc import Iterable, Mapping, Sequence

from rig.calls import Json
from rig.methods.autode.players import questions
from rig.methods.autode.players.questions import Alike
from rig.methods.autode.players.scripted_user import similarity
from rig.methods.dynamic.script import DONE, Known, Line, knowledge, lines
from rig.methods.dynamic.tasks import LiveTask
from rig.methods.scripted import replied
from rig.models import OneByOne, OnPiece, Piece, Prediction, ReplyMessage, Request, UserMessage
from rig.tooltalk import TOOLTALK

RULES = "1"
"""Version of the rules; to be raised with any change that can change what is said."""

GO_ON = "I don't know. Please do it without."


class ScriptedUser(OneByOne):
    """Plays the user of conversations, looked up by the request's key."""

    name = "scripted"

    def __init__(self, tasks: Iterable[LiveTask]) -> None:
        super().__init__()
        self._tasks = {task.name: task for task in tasks}
        self.toolbox = TOOLTALK
        """The tools that the assistant has; a run's setup says which."""

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        return {
            "engine": "scripted user",
            "rules": f"dynamic {RULES}",
            "near": questions.NEAR,
            **similarity().fingerprint,
        }

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        own = [message.text for message in request.messages if isinstance(message, ReplyMessage)]
        heard = [message.text for message in request.messages if isinstance(message, UserMessage)]
        conversation = self._tasks[request.key.conversation].conversation
        known = list(knowledge(conversation, self.toolbox))
        prediction = replied(answer(lines(conversation), known, own, heard[-1], similarity()))
        on_piece(Piece(prediction.raw, tokens=0))
        return prediction


def answer(
    script: Sequence[Line], known: Sequence[Known], own: Sequence[str], heard: str, alike: Alike
) -> str:
    """What the user says to an assistant's words, having said `own` before."""
    following = next((line for line in script[_said(script, own) :]), None)
    if following is not None and following.question:
        return following.text
    if questions.asks(heard):
        told = _told(known, heard, alike) or (_agreed(known, heard) and "Yes, please.") or GO_ON
        if told not in own:
            return told
    return following.text if following is not None else DONE


def _said(script: Sequence[Line], own: Sequence[str]) -> int:
    """How many of the script's lines were said, each in its turn."""
    said = 0
    for text in own:
        said += said < len(script) and script[said].text == text
    return said


def _told(known: Sequence[Known], heard: str, alike: Alike) -> str:
    """The values that were asked for, of the first calls that need them; empty if none is known."""
    told: dict[str, Json] = {}
    for each in known:
        for name in questions.read(heard, each.api, alike).slots:
            if name in each.values:
                told.setdefault(name, each.values[name])
    parts = [f"the {questions.spoken(name)} is {_text(value)}" for name, value in told.items()]
    text = ", and ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _agreed(known: Sequence[Known], heard: str) -> bool:
    return any(questions.read(heard, each.api).is_closed for each in known)


def _text(value: Json) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(_text, value)) if isinstance(value, list) else str(value)
