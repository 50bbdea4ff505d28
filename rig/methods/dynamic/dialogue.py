"""One true conversation, played live: the user talks, the assistant calls and replies, the world goes on.

A turn is what the user says, the assistant's calls, and its reply. The first words are the true ones.
"""

from collections.abc import Generator
from dataclasses import replace
from time import perf_counter

from rig.episodes import ASSISTANT, PlayedTurn, Step
from rig.events import PredictionMade, TurnStarted
from rig.methods.base import Ask, Playing
from rig.methods.dynamic.judgement import judge
from rig.methods.dynamic.prompt import THE_USER, Settings, as_heard, opening
from rig.methods.dynamic.script import DONE
from rig.methods.dynamic.talk import Talk
from rig.methods.dynamic.tasks import LiveTask
from rig.methods.tooltalk.acting import Acting, Stage
from rig.metrics import Score
from rig.models import Prediction, StepKey
from rig.verdicts import StepPlace


class Dialogue:
    """A conversation for an assistant and a user: an episode of the method."""

    def __init__(self, task: LiveTask, settings: Settings, stage: Stage) -> None:
        self._task = task
        self._settings = settings
        self._stage = stage
        self._talk = Talk(task, settings.max_rounds)
        self._acting = Acting(stage, task.truths(stage.grader.toolbox), settings.tooltalk.max_calls)
        self._played: list[PlayedTurn] = []
        stage.simulator.start(*task.conversation.start, recorded=task.conversation.ground_truth)
        self._world = stage.simulator.snapshot()

    @property
    def next_turn(self) -> int | None:
        """How many turns there were, until there is an end."""
        return None if self._talk.end else len(self._played)

    def resume(self, played: PlayedTurn) -> None:
        """Take in a turn that was played before; its calls are executed again."""
        simulator = self._stage.simulator
        simulator.restore(self._world)
        for call in played.executed:
            simulator.execute(call.call)
        self._world = simulator.snapshot()
        self._acting.take_in(played)
        self._talk.extend([played])
        self._played.append(played)

    def play(self) -> Playing:
        """Play the next turn: the user's words, unless they are the first, calls, and the reply."""
        began = perf_counter()
        turn, stage, acting = len(self._played), self._stage, self._acting
        acting.begin_turn()
        stage.simulator.restore(self._world)
        stage.emit(TurnStarted(stage.where, turn, *self._task.expected(turn)))
        steps: list[Step] = []
        if turn:
            prediction = yield self._ask(THE_USER, StepPlace(turn, 0))
            stage.emit(PredictionMade(stage.where, turn, 0, prediction, THE_USER))
            steps.append(Step(prediction, role=THE_USER))
            self._talk.add(steps[-1])
        yield from self._answer(turn, steps)
        self._world = stage.simulator.snapshot()
        wall_s = perf_counter() - began
        self._played.append(PlayedTurn(turn, tuple(steps), wall_s, acting.tools_s, acting.scoring_s))
        return self._played[-1]

    def score(self) -> Score:
        """How the world ended, and what was said. The simulator's world is another one afterwards."""
        stage = self._stage
        return judge(self._task, self._played, stage.simulator, stage.grader, self._settings)

    def _answer(self, turn: int, steps: list[Step]) -> Generator[Ask, Prediction, None]:
        """What the assistant does in a turn: calls, one by one, and at last its reply."""
        before, todo = len(steps), list[Prediction]()
        while self._talk.end is None and (len(steps) == before or steps[-1].executed is not None):
            place = StepPlace(turn, len(steps))
            if not todo:
                predicted = yield self._ask(ASSISTANT, place)
                todo += predicted.apart()
            steps.append(self._acting.step(todo.pop(0), place, calls=place.step - before))
            self._talk.add(steps[-1])

    def _ask(self, role: str, place: StepPlace) -> Ask:
        messages = tuple(self._talk.messages)
        begun = opening(self._task.conversation, self._settings, role)
        if role == THE_USER:
            messages = as_heard(messages)
        phrases = (DONE,) if role == THE_USER else ()
        key = StepKey(self._task.name, *place, self._stage.where.repeat)
        return Ask(role, replace(begun, key=key, messages=messages), phrases)
