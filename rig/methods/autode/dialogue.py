"""One scenario played out: the assistant speaks, the user answers, until there is a call or an end.

Source: upstream's `eval.py`. A turn of the episode is one message of the assistant, with the user's words
before it; the first words of the user are the scenario's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter

from rig.calls import Call, ExecutedCall, Outcome
from rig.episodes import ASSISTANT as THE_ASSISTANT
from rig.episodes import PlayedTurn, Step
from rig.errors import ErrorKind
from rig.events import CallJudged, Emit, PredictionMade, TurnStarted, Where
from rig.methods.autode import answers
from rig.methods.autode.data.scenarios import Scenario, Utterance
from rig.methods.autode.players.scripted_user import FAILED
from rig.methods.autode.prompt import THE_USER, Settings, messages, opening, submitted
from rig.methods.autode.scoring.judgement import judge, verdict_of
from rig.methods.autode.talk import Talk
from rig.methods.base import Ask, Playing
from rig.metrics import Score
from rig.models import Prediction, StepKey


class Dialogue:
    """A scenario for an assistant and a user: an episode of the method."""

    def __init__(self, scenario: Scenario, settings: Settings, where: Where, emit: Emit) -> None:
        self._scenario = scenario
        self._settings = settings
        self._where = where
        self._emit = emit
        self.talk = Talk(scenario, settings.mode, settings.max_rounds)
        self._played: list[PlayedTurn] = []

    @property
    def next_turn(self) -> int | None:
        """How many times the assistant has spoken, until there is an end."""
        return None if self.talk.end else len(self._played)

    def resume(self, played: PlayedTurn) -> None:
        for step in played.steps:
            self.talk.add(step)
        self._played.append(played)

    def play(self) -> Playing:
        """Play the next turn: the user's words, unless they are the scenario's, and the assistant's."""
        began = perf_counter()
        turn = len(self._played)
        self._emit(TurnStarted(self._where, turn, *self._scenario.expected(turn)))
        steps: list[Step] = []
        for role in self._roles(turn):
            key = StepKey(self._scenario.name, turn, len(steps), self._where.repeat)
            prediction = yield self._ask(role, key)
            steps.append(self._step(role, key, prediction))
        self._played.append(PlayedTurn(turn, tuple(steps), perf_counter() - began))
        return self._played[-1]

    def _roles(self, turn: int) -> Iterator[str]:
        """Who speaks in a turn, one after another, for as long as the conversation goes on."""
        if turn:
            yield THE_USER
        if self.talk.end is None:
            yield THE_ASSISTANT
        if self.talk.end == "round_limit" and self._settings.compat and self._settings.mode == "dynamic":
            yield THE_USER  # as upstream has it, though nobody will answer

    def _ask(self, role: str, key: StepKey) -> Ask:
        said: Sequence[Utterance] = self.talk.said
        if self._settings.mode == "static":
            said = submitted(said)
        begun = opening(self._scenario, self._settings, role)
        phrases = (FAILED,) if role == THE_USER else ()
        return Ask(role, replace(begun, key=key, messages=messages(said, role)), phrases)

    def _step(self, role: str, key: StepKey, prediction: Prediction) -> Step:
        """A step as it is kept: a call that was written as text is a call."""
        if role == THE_ASSISTANT and self._settings.form == "func":
            prediction = _read(prediction, self._settings.compat)
        self._emit(PredictionMade(self._where, key.turn, key.step, prediction, role))
        step = Step(prediction, role=role)
        if prediction.call is not None and role == THE_ASSISTANT:
            executed = ExecutedCall(prediction.call, Outcome())
            verdict = verdict_of(self._scenario, prediction.call)
            self._emit(CallJudged(self._where, key.turn, key.step, executed, verdict))
            step = Step(prediction, executed, verdict, role)
        self.talk.add(step)
        return step

    def score(self) -> Score:
        return judge(self._scenario, self.talk, self._settings.compat)


def _read(prediction: Prediction, compat: bool) -> Prediction:
    """What an assistant wrote, with a call between tags as a call."""
    if prediction.reply is None:
        return prediction
    answer = answers.read(prediction.reply, compat=compat)
    if answer.kind == "call":
        return replace(prediction, reply=None, call=Call(answer.function or "", answer.slots))
    if answer.kind == "malformed":
        return replace(prediction, reply=None, error=ErrorKind.INVALID, error_detail=answer.fault)
    return prediction
