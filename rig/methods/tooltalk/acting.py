"""Carry out predictions: execute calls, match them with the true ones as they are made, and report them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from rig.calls import ExecutedCall
from rig.episodes import PlayedTurn, Step
from rig.errors import ErrorKind
from rig.events import CallJudged, Emit, PredictionMade, Rejudged, Where
from rig.models import Prediction
from rig.scoring import Grader
from rig.scoring.matching import ANY_WAY, Terms
from rig.toolbox.simulator import Simulator
from rig.verdicts import CallPlace, StepPlace, Verdict


@dataclass(frozen=True, slots=True)
class Stage:
    """What a conversation is played with: the world, the matcher of its calls, its name, and who gets the
    events.
    """

    simulator: Simulator
    grader: Grader
    where: Where
    emit: Emit


class Acting:
    """The assistant's side of a conversation, checked against the true calls.

    `tools_s` and `scoring_s` are the seconds since the turn began.
    """

    def __init__(
        self,
        stage: Stage,
        truths: Sequence[tuple[CallPlace, ExecutedCall]],
        max_calls: int,
        terms: Terms = ANY_WAY,
    ) -> None:
        self.matching = stage.grader.start(truths, terms)
        self.tools_s = self.scoring_s = 0.0
        self._stage = stage
        self._max_calls = max_calls
        self._judged: list[StepPlace] = []

    def begin_turn(self) -> None:
        self.tools_s = self.scoring_s = 0.0

    def take_in(self, played: PlayedTurn) -> None:
        """Match the calls of a turn that was played before, so that matching continues from there."""
        for number, step in enumerate(played.steps):
            if step.executed is not None:
                self._judge(StepPlace(played.turn, number), step.executed)

    def step(self, prediction: Prediction, place: StepPlace, calls: int) -> Step:
        """Do what was predicted, after this many calls in the turn. A call beyond the limit is not made."""
        stage = self._stage
        prediction = self._within_cap(prediction, calls)
        stage.emit(PredictionMade(stage.where, *place, prediction))
        if prediction.call is None:
            return Step(prediction)
        clock = perf_counter()
        executed = stage.simulator.execute(prediction.call)
        self.tools_s += perf_counter() - clock
        clock = perf_counter()
        verdict, rejudged = self._judge(place, executed)
        self.scoring_s += perf_counter() - clock
        stage.emit(CallJudged(stage.where, *place, executed, verdict, rejudged))
        return Step(prediction, executed, verdict)

    def _judge(self, place: StepPlace, executed: ExecutedCall) -> tuple[Verdict, tuple[Rejudged, ...]]:
        """The verdict on a call, and the earlier calls that hold another ground truth because of it."""
        self._judged.append(place)
        verdict = self.matching.add(place.turn, executed)
        moved = self.matching.moved
        return verdict, tuple(Rejudged(*self._judged[number], verdict=now) for number, now in moved)

    def _within_cap(self, prediction: Prediction, calls: int) -> Prediction:
        """The prediction, or the error that it is a call too many."""
        if prediction.call is None or calls < self._max_calls:
            return prediction
        detail = f"{prediction.call.name} would be call {calls + 1} of the turn; the cap is {self._max_calls}"
        return replace(prediction, call=None, error=ErrorKind.CALL_CAP, error_detail=detail)
