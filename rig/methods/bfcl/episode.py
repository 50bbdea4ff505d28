"""One entry for a model: a single message is its answer."""

from collections.abc import Iterable, Mapping
from time import perf_counter

from rig.calls import Call, ExecutedCall, Json, Outcome
from rig.episodes import ASSISTANT, PlayedTurn, Step
from rig.events import CallJudged, Emit, PredictionMade, TurnStarted, Where
from rig.methods.base import Ask, Playing
from rig.methods.bfcl.data import Entry
from rig.methods.bfcl.judgement import judge
from rig.methods.bfcl.prompt import Settings, name_of, request, tools
from rig.methods.scripted import replied
from rig.metrics import Score
from rig.models import OneByOne, OnPiece, Piece, Prediction, Request, StepKey


class Answering:
    """An episode of the method."""

    def __init__(self, entry: Entry, settings: Settings, where: Where, emit: Emit) -> None:
        self._entry, self._settings, self._where, self._emit = entry, settings, where, emit
        self._played: list[PlayedTurn] = []

    @property
    def next_turn(self) -> int | None:
        return None if self._played else 0

    def resume(self, played: PlayedTurn) -> None:
        self._played.append(played)

    def play(self) -> Playing:
        began = perf_counter()
        self._emit(TurnStarted(self._where, 0, *self._entry.expected(0)))
        key = StepKey(self._entry.name, 0, 0, self._where.repeat)
        answer = yield Ask(ASSISTANT, request(self._entry, self._settings, key))
        steps = []
        for number, prediction in enumerate(answer.apart()):
            self._emit(PredictionMade(self._where, 0, number, prediction))
            made = None if prediction.call is None else ExecutedCall(prediction.call, Outcome())
            steps.append(Step(prediction, made))
        turn = PlayedTurn(0, tuple(steps), perf_counter() - began)
        self._played.append(self._judged(turn))
        return self._played[-1]

    def _judged(self, turn: PlayedTurn) -> PlayedTurn:
        """The turn with a verdict on each call, which only all of them together can have."""
        left = iter(judge(self._entry, [turn], self._settings).verdicts)
        steps = []
        for number, step in enumerate(turn.steps):
            if step.executed is not None:
                verdict = next(left)
                self._emit(CallJudged(self._where, 0, number, step.executed, verdict))
                step = Step(step.prediction, step.executed, verdict)
            steps.append(step)
        return PlayedTurn(0, tuple(steps), turn.wall_s)

    def score(self) -> Score:
        return judge(self._entry, self._played, self._settings)


class Oracle(OneByOne):
    """Answers with the ground truth, of each argument the first value that is allowed."""

    name = "oracle"

    def __init__(self, entries: Iterable[Entry]) -> None:
        super().__init__()
        self._entries = {entry.name: entry for entry in entries}

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        return {"engine": "oracle"}

    def predict(self, asked: Request, on_piece: OnPiece) -> Prediction:
        entry = self._entries[asked.key.conversation]
        offered = {tool.name for tool in asked.tools}
        settings = next(s for s in map(Settings, ("dots", "underscores")) if _names(entry, s) == offered)
        calls = [Call(name_of(call.name, settings), call.arguments) for call in entry.answer()]
        if not calls and entry.expects_calls:
            calls = [Call(tools(entry, settings)[0].name, {})]
        if not calls:
            prediction = replied("None of these functions can do that.")
        else:
            prediction = Prediction(raw=str(calls), call=calls[0], further=tuple(calls[1:]))
        on_piece(Piece(prediction.raw, tokens=0))
        return prediction


def _names(entry: Entry, settings: Settings) -> set[str]:
    return {tool.name for tool in tools(entry, settings)}
