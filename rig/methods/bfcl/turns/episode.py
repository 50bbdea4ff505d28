"""An entry of several turns for a model: in each turn, calls are made and answered until there are none."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from rig.calls import Call, ExecutedCall, Json, Outcome
from rig.episodes import ASSISTANT, PlayedTurn, Step
from rig.errors import ErrorKind
from rig.events import CallJudged, Emit, PredictionMade, TurnStarted, Where
from rig.methods.base import Ask, Playing
from rig.methods.bfcl.prompt import INSTRUCTIONS, Settings, tools_of
from rig.methods.bfcl.turns.classes import Instances, TrueCall
from rig.methods.bfcl.turns.data import Talk
from rig.methods.bfcl.turns.judgement import judge
from rig.methods.scripted import called, replied
from rig.metrics import Score
from rig.models import (
    CallMessage,
    Message,
    OneByOne,
    OnPiece,
    Piece,
    Prediction,
    ReplyMessage,
    Request,
    StepKey,
    UserMessage,
)
from rig.verdicts import Verdict

MOST_STEPS = 20
"""How many messages with calls a turn may have. One more ends the entry."""


class Dialogue:
    """An episode of the method. What calls give, the classes say that it acts in."""

    def __init__(self, talk: Talk, settings: Settings, code: Path, where: Where, emit: Emit) -> None:
        self._talk, self._settings, self._code = talk, settings, code
        self._where, self._emit = where, emit
        self._world = Instances(code, talk.involved, talk.config, long=talk.is_long)
        self._messages: list[Message] = []
        self._played: list[PlayedTurn] = []

    @property
    def next_turn(self) -> int | None:
        turn = len(self._played)
        is_over = turn == len(self._talk.turns) or (turn > 0 and self._played[-1].error is not None)
        return None if is_over else turn

    def resume(self, played: PlayedTurn) -> None:
        self._begin(played.turn)
        for step in played.steps:
            if step.executed is not None:
                self._execute(step.executed.call)
            self._note(step)
        self._played.append(played)

    def play(self) -> Playing:
        turn = len(self._played)
        began = perf_counter()
        self._emit(TurnStarted(self._where, turn, *self._talk.expected(turn)))
        self._begin(turn)
        steps: list[Step] = []
        messages = 0
        while not steps or steps[-1].prediction.kind == "call":
            answer = yield Ask(ASSISTANT, self._request(turn, len(steps)))
            messages += answer.call is not None
            if messages > MOST_STEPS:
                answer = _given_up(answer)
            for prediction in answer.apart():
                steps.append(self._step(turn, len(steps), prediction))
        self._played.append(PlayedTurn(turn, tuple(steps), perf_counter() - began))
        return self._played[-1]

    def _begin(self, turn: int) -> None:
        self._messages += [UserMessage(text) for text in self._talk.said(turn)]

    def _step(self, turn: int, number: int, prediction: Prediction) -> Step:
        self._emit(PredictionMade(self._where, turn, number, prediction))
        if prediction.call is None:
            step = Step(prediction)
        else:
            executed = self._execute(prediction.call)
            verdict = Verdict(False, reason="judged when the entry has ended")
            self._emit(CallJudged(self._where, turn, number, executed, verdict))
            step = Step(prediction, executed, verdict)
        self._note(step)
        return step

    def _execute(self, call: Call) -> ExecutedCall:
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        return ExecutedCall(call, Outcome(self._world.call(TrueCall(call.name, (), arguments))))

    def _note(self, step: Step) -> None:
        """Add a step to what the model reads from now on."""
        prediction, executed = step.prediction, step.executed
        if executed is not None:
            said = CallMessage(
                executed.call, executed.outcome, prediction.content, prediction.reasoning, prediction.part > 0
            )
            self._messages.append(said)
        elif prediction.reply is not None:
            self._messages.append(ReplyMessage(prediction.reply, prediction.reasoning))

    def _request(self, turn: int, step: int) -> Request:
        key = StepKey(self._talk.name, turn, step, self._where.repeat)
        return replace(opening(self._talk, self._settings, turn), key=key, messages=tuple(self._messages))

    def score(self) -> Score:
        return judge(self._talk, self._played, self._code)


def opening(talk: Talk, settings: Settings, turn: int = 0) -> Request:
    """How every request of a turn begins: without messages."""
    system = (each["content"] for turns in talk.turns for each in turns if each["role"] == "system")
    tools = tools_of(talk.offered(turn), "python", settings)
    key = StepKey(talk.name, turn, 0)
    return Request(key, INSTRUCTIONS, tools, "\n\n".join(system), (), False, several_calls=True)


def _given_up(answer: Prediction) -> Prediction:
    detail = f"still calling after {MOST_STEPS} messages with calls; the entry ends here"
    return replace(answer, call=None, further=(), error=ErrorKind.CALL_CAP, error_detail=detail)


class Oracle(OneByOne):
    """Makes the true calls of each turn, one after another, and then says so."""

    name = "oracle"

    def __init__(self, talks: Iterable[Talk]) -> None:
        super().__init__()
        self._talks = {talk.name: talk for talk in talks}

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        return {"engine": "oracle"}

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        calls = list(self._talks[request.key.conversation].calls(request.key.turn))
        step = request.key.step
        prediction = (
            called(calls[step].name, calls[step].arguments) if step < len(calls) else replied("Done.")
        )
        on_piece(Piece(prediction.raw, tokens=0))
        return prediction
