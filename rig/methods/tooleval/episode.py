"""A query in progress: the search asks, the world answers, and going back to a node restores its world."""

from dataclasses import replace
from time import perf_counter

from rig.calls import ExecutedCall, Outcome
from rig.episodes import ASSISTANT, PlayedTurn, Step
from rig.events import CallJudged, Emit, PredictionMade, TurnStarted, WentBack, Where
from rig.methods.base import Ask, Playing
from rig.methods.tooleval.judgement import Judgement
from rig.methods.tooleval.prompt import Settings, messages, opening, which_is_better
from rig.methods.tooleval.queries import Query
from rig.methods.tooleval.search import Asked, Expand, Found
from rig.methods.tooleval.steps import BAD_FINISH, State, answer, finished, searching
from rig.metrics import Score
from rig.models import Prediction, StepKey
from rig.solutions.solution import FINISH
from rig.toolbox.simulator import Simulator


class Search:
    """An episode: one turn, in which an assistant searches for an answer."""

    def __init__(
        self,
        query: Query,
        settings: Settings,
        simulator: Simulator,
        judgement: Judgement,
        where: Where,
        emit: Emit,
    ) -> None:
        self._query = query
        self._settings = settings
        self._simulator = simulator
        self._judgement = judgement
        self._where = where
        self._emit = emit
        self._played: list[PlayedTurn] = []
        self.found: Found | None = None

    @property
    def next_turn(self) -> int | None:
        return None if self._played else 0

    def resume(self, played: PlayedTurn) -> None:
        self._played.append(played)

    def play(self) -> Playing:
        """Search for an answer."""
        began, tools_s = perf_counter(), 0.0
        self._emit(TurnStarted(self._where, 0, *self._query.expected(0)))
        self._simulator.start(*self._query.start)
        steps: list[Step] = []
        course = searching(self._settings, State(self._simulator.snapshot()))
        try:
            asked = next(course)
            while True:
                if asked.node.step != len(steps) - 1:
                    self._emit(WentBack(self._where, 0, len(steps), asked.node.step))
                prediction = yield self._ask(asked, len(steps))
                self._emit(PredictionMade(self._where, 0, len(steps), prediction))
                clock = perf_counter()
                step = self._step(asked, prediction)
                tools_s += perf_counter() - clock
                steps.append(step)
                if step.executed is not None:
                    self._emit(CallJudged(self._where, 0, len(steps) - 1, step.executed, None))
                world = self._simulator.snapshot() if step.executed is not None else None
                state = State(world, step.executed)
                asked = course.send(answer(asked, step, len(steps) - 1, state))
        except StopIteration as stop:
            self.found = stop.value
        self._played.append(PlayedTurn(0, tuple(steps), perf_counter() - began, tools_s))
        return self._played[0]

    def _ask(self, asked: Asked, number: int) -> Ask:
        begun = opening(self._query, self._settings)
        key = StepKey(self._query.name, 0, number, self._where.repeat)
        if isinstance(asked, Expand):
            said = messages(self._query, asked.node.path, asked.node.children)
            return Ask(ASSISTANT, replace(begun, key=key, messages=said))
        said = which_is_better(self._query, asked.first, asked.second)
        return Ask(ASSISTANT, replace(begun, key=key, messages=said, tools=()))

    def _step(self, asked: Asked, prediction: Prediction) -> Step:
        """The step that a prediction is, its call executed in the world of the node that it is made at."""
        node = asked.node
        if prediction.call is None or not isinstance(asked, Expand):
            return Step(prediction, parent=node.step)
        self._simulator.restore(node.state.world)
        if prediction.call.name == FINISH:
            fault = None if finished(prediction) in ("answer", "give_up") else BAD_FINISH
            return Step(prediction, ExecutedCall(prediction.call, Outcome("", fault)), parent=node.step)
        return Step(prediction, self._simulator.execute(prediction.call), parent=node.step)

    def score(self) -> Score:
        return self._judgement.score(self._query, self._settings, self._played)
