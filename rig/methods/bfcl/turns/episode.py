"""An entry of several turns for a model: in each turn, calls are made and answered until there are none."""

from dataclasses import replace
from typing import Any

from rig.calls import Call, ExecutedCall, Outcome, Verdict
from rig.errors import ErrorKind
from rig.events import Rejudged
from rig.methods.bfcl.prompt import INSTRUCTIONS, BfclSettings, tools_of
from rig.methods.bfcl.turns.classes import Instances, PythonCall
from rig.methods.bfcl.turns.data import MultiTurnEntry
from rig.methods.bfcl.turns.judgement import judge
from rig.methods.episode import Episode
from rig.methods.scripted import called, replied
from rig.metrics import Score
from rig.models import Prediction, Request, StepKey
from rig.tasks import PlayedTurn

MOST_STEPS = 20
"""How many messages with calls a turn may have. One more ends the entry."""


class MultiTurn(Episode):
    """An entry. What calls give, the classes say that it acts in."""

    task: MultiTurnEntry
    settings: BfclSettings

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        task = self.task
        self._world = Instances(self.setup.code, task.involved, task.config, long=task.is_long)
        self._calling = 0

    @property
    def is_over(self) -> bool:
        is_given_up = bool(self.played) and self.played[-1].error is not None
        return is_given_up or len(self.played) == len(self.task.turns)

    def begin(self) -> None:
        self._calling = 0
        super().begin()

    def resume(self, played: PlayedTurn) -> None:
        """Take in a turn that was played before; its calls are executed again."""
        super().resume(played)
        for executed in played.executed:
            self.execute(executed.call)

    def opening(self, role: str) -> Request:
        return opening(self.task, self.settings, self.turn)

    def read(self, prediction: Prediction, role: str) -> Prediction:
        """What was predicted. With one message with calls too many the entry is given up."""
        self._calling += prediction.call is not None
        if self._calling <= MOST_STEPS:
            return prediction
        detail = f"still calling after {MOST_STEPS} messages with calls; the entry ends here"
        return replace(prediction, call=None, further=(), error=ErrorKind.CALL_CAP, error_detail=detail)

    def execute(self, call: Call) -> ExecutedCall:
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        return ExecutedCall(call, Outcome(self._world.call(PythonCall(call.name, (), arguments))))

    def judge(self, executed: ExecutedCall) -> tuple[Verdict, tuple[Rejudged, ...]]:
        return Verdict(False, reason="judged when the entry has ended"), ()

    def score(self) -> Score:
        return judge(self.task, self.played, self.setup.code)


def opening(talk: MultiTurnEntry, settings: BfclSettings, turn: int = 0) -> Request:
    """How every request of a turn begins: without messages."""
    system = (message["content"] for turns in talk.turns for message in turns if message["role"] == "system")
    tools = tools_of(talk.offered(turn), "python", settings)
    key = StepKey(talk.name, turn, 0)
    return Request(key, INSTRUCTIONS, tools, "\n\n".join(system), (), False, several_calls=True)


def true_step(talk: MultiTurnEntry, request: Request) -> Prediction:
    """The next of the true calls of a turn, and at last a reply. Many calls are made in one message."""
    calls = tuple(talk.calls(request.key.turn))[request.key.step :]
    if not calls:
        return replied("Done.")
    if request.key.step + len(calls) > MOST_STEPS:
        return Prediction(raw=str(calls), call=calls[0], further=calls[1:])
    return called(calls[0].name, calls[0].arguments)
