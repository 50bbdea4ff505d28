"""ToolTalk's way of taking a model through a conversation (paper, section 3.3; its `tooltalk` evaluator).

Before every assistant turn, the world is as the ground truth of earlier turns leaves it, and the model reads
the true history, no matter what it did itself. Within the turn, it calls tools, one at a time, until it
replies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from rig.calls import ExecutedCall
from rig.episodes import ASSISTANT, PlayedTurn, Step
from rig.events import TurnStarted
from rig.methods.base import Ask, Playing
from rig.methods.tooltalk.acting import Acting, Stage
from rig.methods.tooltalk.conversations import Conversation
from rig.methods.tooltalk.prompt import INSTRUCTIONS, Settings, call_message, context, offered_tools
from rig.methods.tooltalk.replay import decisive, replay
from rig.methods.tooltalk.scoring.judgement import conclude
from rig.metrics import Score
from rig.models import Message, Prediction, ReplyMessage, Request, StepKey, UserMessage
from rig.verdicts import CallPlace, StepPlace


@dataclass(frozen=True, slots=True)
class _Start:
    """The state an assistant turn starts from: the world, and how many messages there are by then."""

    world: Any
    messages: int
    said: tuple[str, ...]


class Dialogue:
    """One conversation for one model: an episode of the method.

    A turn asks for predictions and receives them, so one model can serve many dialogues at once.
    """

    def __init__(self, conversation: Conversation, settings: Settings, stage: Stage) -> None:
        self._conversation = conversation
        self._settings = settings
        self._stage = stage
        self._tools = offered_tools(conversation, settings)
        self._context = context(conversation.metadata)
        self._messages: list[Message] = []
        self._starts: dict[int, _Start] = {}
        began = perf_counter()
        self._truths = self._rehearse()
        self._rehearsal_s = perf_counter() - began
        self._acting = Acting(stage, self._truths, settings.max_calls, conversation.terms)
        self._played: list[PlayedTurn] = []

    @property
    def next_turn(self) -> int | None:
        """The position of the next assistant turn in the conversation."""
        turns = self._conversation.assistant_turns
        return turns[len(self._played)] if len(self._played) < len(turns) else None

    def _rehearse(self) -> list[tuple[CallPlace, ExecutedCall]]:
        """Play the true conversation once, noting what each assistant turn starts from."""
        said: list[str] = []
        ground_truth: list[tuple[CallPlace, ExecutedCall]] = []
        for index, turn, world, calls in replay(self._conversation, self._stage.simulator):
            if turn.role == "user":
                self._messages.append(UserMessage(turn.text))
                said.append(turn.text)
                continue
            self._starts[index] = _Start(world, len(self._messages), tuple(said))
            said = []
            for number, (recorded, replayed) in enumerate(zip(turn.calls, calls, strict=True)):
                truth = decisive(recorded, replayed, self._stage.grader)
                ground_truth.append((CallPlace(index, number), truth))
                as_recorded = self._settings.history == "recorded" and recorded.recorded
                shown = recorded if as_recorded else replayed
                self._messages.append(call_message(shown))
            self._messages.append(ReplyMessage(turn.text))
        return ground_truth

    def resume(self, played: PlayedTurn) -> None:
        """Take in a turn that was played before, so that matching goes on from there."""
        self._acting.take_in(played)
        self._played.append(played)

    def play(self) -> Playing:
        """Play the next assistant turn, until a reply, an error or the cap on calls."""
        turn = self.next_turn
        assert turn is not None
        tools_s, self._rehearsal_s = self._rehearsal_s, 0.0
        began = perf_counter() - tools_s
        start, stage, acting = self._starts[turn], self._stage, self._acting
        truth = self._conversation.turns[turn]
        stage.emit(TurnStarted(stage.where, turn, start.said, truth.calls, truth.text))

        acting.begin_turn()
        clock = perf_counter()
        stage.simulator.restore(start.world)
        tools_s += perf_counter() - clock
        messages = self._messages[: start.messages]
        steps: list[Step] = []
        todo: list[Prediction] = []
        while not steps or steps[-1].executed is not None:
            number = len(steps)
            if not todo:
                predicted = yield Ask(ASSISTANT, self._request(turn, number, messages))
                todo += predicted.apart()
            step = acting.step(todo.pop(0), StepPlace(turn, number), number)
            steps.append(step)
            if step.executed is not None:
                messages.append(call_message(step.executed, step.prediction))
        tools_s += acting.tools_s
        self._played.append(PlayedTurn(turn, tuple(steps), perf_counter() - began, tools_s, acting.scoring_s))
        return self._played[-1]

    def _request(self, turn: int, step: int, messages: Sequence[Message]) -> Request:
        key = StepKey(self._conversation.name, turn, step, self._stage.where.repeat)
        shared = self._settings.tools_are_shared
        return Request(
            key, INSTRUCTIONS, self._tools, self._context, tuple(messages), shared, several_calls=True
        )

    def score(self) -> Score:
        """What the grader makes of all turns."""
        return conclude(
            self._conversation, self._played, self._truths, self._stage.grader, self._acting.matching
        )
