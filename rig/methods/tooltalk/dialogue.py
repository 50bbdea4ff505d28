"""ToolTalk's way of taking a model through a conversation (paper, section 3.3; its `tooltalk` evaluator).

Before every assistant turn the world is as the ground truth of earlier turns leaves it, and the model reads
the true history, whatever it did itself. Within the turn it calls tools, one at a time, until it replies.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from rig.calls import ExecutedCall
from rig.episodes import ASSISTANT, PlayedTurn, Step
from rig.errors import ErrorKind
from rig.events import CallJudged, Emit, PredictionMade, Rejudged, TurnStarted, Where
from rig.methods.base import Ask, Playing
from rig.methods.tooltalk.conversations import Conversation
from rig.methods.tooltalk.prompt import INSTRUCTIONS, Settings, call_message, context, offered_tools
from rig.methods.tooltalk.replay import decisive, replay
from rig.methods.tooltalk.scoring.judgement import conclude
from rig.metrics import Score
from rig.models import Message, Prediction, ReplyMessage, Request, StepKey, UserMessage
from rig.scoring import Grader
from rig.toolbox.simulator import Simulator
from rig.verdicts import CallPlace, StepPlace, Verdict


@dataclass(frozen=True, slots=True)
class _Start:
    """The state an assistant turn starts from: the world, and how many messages there are by then."""

    world: Any
    messages: int
    said: tuple[str, ...]


class Dialogue:
    """One conversation put to one model: an episode of the method.

    A turn asks for predictions and is sent them, so one model can serve many dialogues at once.
    """

    def __init__(
        self,
        conversation: Conversation,
        simulator: Simulator,
        grader: Grader,
        settings: Settings,
        *,
        where: Where,
        emit: Emit,
    ) -> None:
        self._conversation = conversation
        self._simulator = simulator
        self._settings = settings
        self._where = where
        self._emit = emit
        self._tools = offered_tools(conversation, settings)
        self._context = context(conversation.metadata)
        self._messages: list[Message] = []
        self._starts: dict[int, _Start] = {}
        self._grader = grader
        began = perf_counter()
        self._truths = self._rehearse()
        self._rehearsal_s = perf_counter() - began
        self._matching = grader.start(self._truths)
        self._judged: list[StepPlace] = []
        self._played: list[PlayedTurn] = []

    @property
    def next_turn(self) -> int | None:
        """The position of the next assistant turn in the conversation."""
        turns = self._conversation.assistant_turns
        return turns[len(self._played)] if len(self._played) < len(turns) else None

    def _rehearse(self) -> list[tuple[CallPlace, ExecutedCall]]:
        """Play the true conversation once, noting what each assistant turn starts from."""
        said: list[str] = []
        ground_truth = []
        for index, turn, world, calls in replay(self._conversation, self._simulator):
            if turn.role == "user":
                self._messages.append(UserMessage(turn.text))
                said.append(turn.text)
                continue
            self._starts[index] = _Start(world, len(self._messages), tuple(said))
            said = []
            for number, (recorded, replayed) in enumerate(zip(turn.calls, calls, strict=True)):
                truth = decisive(recorded, replayed, self._grader)
                ground_truth.append((CallPlace(index, number), truth))
                shown = recorded if self._settings.history == "recorded" else replayed
                self._messages.append(call_message(shown))
            self._messages.append(ReplyMessage(turn.text))
        return ground_truth

    def resume(self, played: PlayedTurn) -> None:
        """Take in a turn that was played before, so that matching goes on from there."""
        for step, call in enumerate(played.executed):
            self._judge(played.turn, step, call)
        self._played.append(played)

    def play(self) -> Playing:
        """Play the next assistant turn, until a reply, an error or the cap on calls."""
        turn = self.next_turn
        assert turn is not None
        tools_s, self._rehearsal_s = self._rehearsal_s, 0.0
        began = perf_counter() - tools_s
        scoring_s = 0.0
        start = self._starts[turn]
        truth = self._conversation.turns[turn]
        self._emit(TurnStarted(self._where, turn, start.said, truth.calls, truth.text))

        clock = perf_counter()
        self._simulator.restore(start.world)
        tools_s += perf_counter() - clock
        messages = self._messages[: start.messages]
        steps: list[Step] = []
        todo: list[Prediction] = []
        while todo or not steps or steps[-1].prediction.kind == "call":
            step = len(steps)
            if not todo:
                predicted = yield Ask(ASSISTANT, self._request(turn, step, messages))
                todo += predicted.apart()
            prediction = self._within_cap(todo.pop(0), step)
            self._emit(PredictionMade(self._where, turn, step, prediction))
            if prediction.call is None:
                steps.append(Step(prediction))
                todo = []
                continue
            clock = perf_counter()
            executed = self._simulator.execute(prediction.call)
            tools_s += perf_counter() - clock
            clock = perf_counter()
            verdict, rejudged = self._judge(turn, step, executed)
            scoring_s += perf_counter() - clock
            messages.append(call_message(executed, prediction))
            steps.append(Step(prediction, executed, verdict))
            self._emit(CallJudged(self._where, turn, step, executed, verdict, rejudged))
        self._played.append(PlayedTurn(turn, tuple(steps), perf_counter() - began, tools_s, scoring_s))
        return self._played[-1]

    def _judge(self, turn: int, step: int, executed: ExecutedCall) -> tuple[Verdict, tuple[Rejudged, ...]]:
        """The verdict on a call, and the earlier calls that hold another ground truth because of it.

        All steps of a turn but its last are calls, so the executed ones are numbered as the steps are.
        """
        self._judged.append(StepPlace(turn, step))
        verdict = self._matching.add(turn, executed)
        moved = self._matching.moved
        return verdict, tuple(Rejudged(*self._judged[number], verdict=now) for number, now in moved)

    def _request(self, turn: int, step: int, messages: Sequence[Message]) -> Request:
        key = StepKey(self._conversation.name, turn, step, self._where.repeat)
        shared = self._settings.tools_are_shared
        return Request(
            key, INSTRUCTIONS, self._tools, self._context, tuple(messages), shared, several_calls=True
        )

    def _within_cap(self, prediction: Prediction, step: int) -> Prediction:
        """The prediction, or the error that it is a call too many. Such a call is not executed."""
        if prediction.call is None or step < self._settings.max_calls:
            return prediction
        return replace(
            prediction,
            call=None,
            error=ErrorKind.CALL_CAP,
            error_detail=f"{prediction.call.name} would be call {step + 1} of the turn; the cap is "
            f"{self._settings.max_calls}",
        )

    def score(self) -> Score:
        """What the grader makes of all turns."""
        return conclude(self._conversation, self._played, self._truths, self._grader, self._matching)
