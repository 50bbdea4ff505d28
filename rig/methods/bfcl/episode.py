"""One entry for a model: a single message is its answer."""

from rig.calls import Call, ExecutedCall, Outcome
from rig.events import CallJudged
from rig.methods.bfcl.data import SingleTurnEntry
from rig.methods.bfcl.judgement import judge
from rig.methods.bfcl.prompt import BfclSettings, name_of, tools
from rig.methods.episode import Asking, Episode
from rig.methods.scripted import replied
from rig.metrics import Score
from rig.models import Message, Prediction, ReplyMessage, Request, UserMessage
from rig.tasks import PlayedTurn, Step


class SingleTurn(Episode):
    """One message, whose calls are judged together."""

    task: SingleTurnEntry
    settings: BfclSettings

    def begin(self) -> None:
        """The question has all messages."""

    def messages(self, role: str) -> list[Message]:
        kinds: dict[str, type[UserMessage | ReplyMessage]] = {"user": UserMessage, "assistant": ReplyMessage}
        spoken = (message for message in self.task.question if message["role"] in kinds)
        return [kinds[message["role"]](message["content"]) for message in spoken]

    def speak(self) -> Asking:
        """Answer, and judge all calls when they are there."""
        yield from self.ask(self.evaluated)
        for number, step in enumerate(self.steps):
            if step.prediction.call is not None:
                self.steps[number] = Step(step.prediction, ExecutedCall(step.prediction.call, Outcome()))
        verdicts = iter(judge(self.task, [PlayedTurn(0, tuple(self.steps))], self.settings).verdicts)
        for number, step in enumerate(self.steps):
            if step.executed is not None:
                verdict = next(verdicts)
                self.emit(CallJudged(self.where, self.turn, number, step.executed, verdict))
                self.steps[number] = Step(step.prediction, step.executed, verdict)

    def score(self) -> Score:
        return judge(self.task, self.played, self.settings)


def true_answer(entry: SingleTurnEntry, request: Request) -> Prediction:
    """The ground truth, of each argument the first value that is allowed, in one message."""
    offered = {tool.name for tool in request.tools}
    settings = next(
        names
        for names in map(BfclSettings, ("dots", "underscores"))
        if {tool.name for tool in tools(entry, names)} == offered
    )
    calls = [Call(name_of(call.name, settings), call.arguments) for call in entry.answer()]
    if not calls and entry.expects_calls:
        calls = [Call(tools(entry, settings)[0].name, {})]
    if not calls:
        return replied("None of these functions can do that.")
    return Prediction(raw=str(calls), call=calls[0], further=tuple(calls[1:]))
