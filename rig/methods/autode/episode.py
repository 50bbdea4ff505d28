"""One scenario played out: the assistant speaks, the user answers, until there is a call or an end.

Source: upstream's `eval.py`. A turn of the episode is one message of the assistant, with the user's words
before it; the first words of the user are the scenario's.
"""

from dataclasses import replace
from typing import Any

from rig.calls import Call, ExecutedCall, Outcome, Verdict
from rig.errors import ErrorKind
from rig.events import Rejudged
from rig.methods.autode import answers
from rig.methods.autode.data.scenarios import Scenario
from rig.methods.autode.judgement import judge, verdict_of
from rig.methods.autode.players.scripted_user import FAILED
from rig.methods.autode.prompt import THE_USER, AutoDeSettings, messages
from rig.methods.autode.talk import Talk
from rig.methods.episode import Asking, Episode
from rig.metrics import Score
from rig.models import Message, Prediction
from rig.tasks import ASSISTANT as THE_ASSISTANT
from rig.tasks import Step


class Dialogue(Episode):
    """A scenario for an assistant and a user."""

    task: Scenario
    settings: AutoDeSettings

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.talk = Talk(self.task, self.settings.mode, self.settings.max_rounds, compat=self.settings.compat)

    @property
    def is_over(self) -> bool:
        return self.talk.end is not None

    def begin(self) -> None:
        """Everything that is said is in the talk."""

    def speak(self) -> Asking:
        """The user's words, unless they are the scenario's, and the assistant's."""
        if self.turn:
            yield from self.ask(THE_USER)
        if self.talk.end is None:
            yield from self.ask(THE_ASSISTANT)
        if self.talk.end == "round_limit" and self.settings.compat and self.settings.mode == "dynamic":
            yield from self.ask(THE_USER)  # as upstream has it, though nobody will answer

    def messages(self, role: str) -> tuple[Message, ...]:
        return messages(self.talk.said, role, self.settings.mode)

    def phrases(self, role: str) -> tuple[str, ...]:
        return (FAILED,) if role == THE_USER else ()

    def read(self, prediction: Prediction, role: str) -> Prediction:
        """What the assistant wrote, with a call between tags as a call."""
        if role == THE_USER or self.settings.form != "func" or prediction.reply is None:
            return prediction
        answer = answers.read(prediction.reply, compat=self.settings.compat)
        if answer.kind == "call":
            return replace(prediction, reply=None, call=Call(answer.function or "", answer.slots))
        if answer.kind == "malformed":
            return replace(prediction, reply=None, error=ErrorKind.INVALID, error_detail=answer.fault)
        return prediction

    def execute(self, call: Call) -> ExecutedCall:
        """A call is the end: nothing comes back."""
        return ExecutedCall(call, Outcome())

    def judge(self, executed: ExecutedCall) -> tuple[Verdict, tuple[Rejudged, ...]]:
        return verdict_of(self.task, executed.call), ()

    def add(self, step: Step) -> None:
        self.talk.add(step)

    def score(self) -> Score:
        return judge(self.task, self.talk, self.settings.compat)
