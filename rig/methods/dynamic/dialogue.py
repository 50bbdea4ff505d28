"""One true conversation, played live: the user talks, the assistant calls and replies, the world goes on.

A turn is what the user says, the assistant's calls, and its reply. The first words are the true ones.
"""

from collections.abc import Generator
from dataclasses import replace
from time import perf_counter

from rig.episodes import ASSISTANT, PlayedTurn, Step
from rig.errors import ErrorKind
from rig.events import CallJudged, Emit, PredictionMade, TurnStarted, Where
from rig.methods.base import Ask, Playing
from rig.methods.dynamic.judgement import judge
from rig.methods.dynamic.prompt import THE_USER, Settings, as_heard, opening
from rig.methods.dynamic.script import DONE
from rig.methods.dynamic.talk import Talk
from rig.methods.dynamic.tasks import LiveTask
from rig.metrics import Score
from rig.models import Prediction, StepKey
from rig.scoring import Grader
from rig.toolbox.simulator import Simulator


class Dialogue:
    """A conversation put to an assistant and a user: an episode of the method."""

    def __init__(
        self,
        task: LiveTask,
        simulator: Simulator,
        grader: Grader,
        settings: Settings,
        *,
        where: Where,
        emit: Emit,
    ) -> None:
        self._task = task
        self._simulator = simulator
        self._grader = grader
        self._settings = settings
        self._where = where
        self._emit = emit
        self._talk = Talk(task, settings.max_rounds)
        self._matching = grader.start(task.truths(grader.toolbox))
        self._played: list[PlayedTurn] = []
        self._tools_s = 0.0
        simulator.start(*task.conversation.start)
        self._world = simulator.snapshot()

    @property
    def next_turn(self) -> int | None:
        """How many turns there were, until there is an end."""
        return None if self._talk.end else len(self._played)

    def resume(self, played: PlayedTurn) -> None:
        """Take in a turn that was played before; its calls are executed again."""
        self._simulator.restore(self._world)
        for call in played.executed:
            self._simulator.execute(call.call)
            self._matching.add(played.turn, call)
        self._world = self._simulator.snapshot()
        self._talk.extend([played])
        self._played.append(played)

    def play(self) -> Playing:
        """Play the next turn: the user's words, unless they are the first, calls, and the reply."""
        began, self._tools_s = perf_counter(), 0.0
        turn = len(self._played)
        self._simulator.restore(self._world)
        self._emit(TurnStarted(self._where, turn, *self._task.expected(turn)))
        steps: list[Step] = []
        if turn:
            steps.append((yield from self._spoken(THE_USER, turn, steps)))
        calls = 0
        while self._talk.end is None:
            step = yield from self._spoken(ASSISTANT, turn, steps, calls)
            calls += step.executed is not None
            steps.append(step)
            if step.executed is None:
                break
        self._world = self._simulator.snapshot()
        self._played.append(PlayedTurn(turn, tuple(steps), perf_counter() - began, self._tools_s))
        return self._played[-1]

    def score(self) -> Score:
        """How the world ended, and what was said. The simulator's world is another one afterwards."""
        return judge(self._task, self._played, self._simulator, self._grader, self._settings)

    def _spoken(
        self, role: str, turn: int, before: list[Step], calls: int = 0
    ) -> Generator[Ask, Prediction, Step]:
        """Ask a role, and do what it says."""
        key = StepKey(self._task.name, turn, len(before), self._where.repeat)
        messages = tuple(self._talk.messages)
        begun = opening(self._task.conversation, self._settings, role)
        if role == THE_USER:
            messages = as_heard(messages)
        phrases = (DONE,) if role == THE_USER else ()
        prediction = yield Ask(role, replace(begun, key=key, messages=messages), phrases)
        if role == ASSISTANT:
            prediction = self._within_cap(prediction, calls)
        self._emit(PredictionMade(self._where, turn, key.step, prediction, role))
        step = Step(prediction, role=role)
        if prediction.call is not None and role == ASSISTANT:
            clock = perf_counter()
            executed = self._simulator.execute(prediction.call)
            self._tools_s += perf_counter() - clock
            verdict = self._matching.add(turn, executed)
            self._emit(CallJudged(self._where, turn, key.step, executed, verdict))
            step = Step(prediction, executed, verdict, role)
        self._talk.add(step)
        return step

    def _within_cap(self, prediction: Prediction, calls: int) -> Prediction:
        """The prediction, or the error that it is a call too many. Such a call is not executed."""
        cap = self._settings.tooltalk.max_calls
        if prediction.call is None or calls < cap:
            return prediction
        detail = f"{prediction.call.name} would be call {calls + 1} of the turn; the cap is {cap}"
        return replace(prediction, call=None, error=ErrorKind.CALL_CAP, error_detail=detail)
