"""ToolTalk's conversations as tasks whose turns are not known in advance."""

from collections.abc import Mapping
from dataclasses import dataclass

from rig.calls import ExecutedCall, JsonObject
from rig.methods.tooltalk.conversations import Conversation
from rig.methods.tooltalk.scoring.callers import name_truths
from rig.tasks import ExpectedTurn, Task
from rig.toolbox.toolbox import Toolbox
from rig.verdicts import CallPlace


@dataclass(frozen=True, slots=True)
class LiveTask(Task):
    """A true conversation that is to be played live: nobody knows in advance how long the two will talk.

    Its n-th true turn is what is expected in turn n.
    """

    conversation: Conversation

    @property
    def name(self) -> str:
        return self.conversation.name

    @property
    def suite(self) -> str:
        return self.conversation.suite

    @property
    def source(self) -> JsonObject:
        return self.conversation.source

    @property
    def ground_truth_count(self) -> int:
        return self.conversation.ground_truth_count

    @property
    def facts(self) -> Mapping[str, str]:
        return self.conversation.facts

    def expected(self, turn: int) -> ExpectedTurn:
        """The true turn of this number; what the user says is known beforehand of the first alone."""
        positions = self.conversation.assistant_turns
        if turn >= len(positions):
            return ExpectedTurn()
        true = self.conversation.expected(positions[turn])
        return true if not turn else true._replace(said=())

    def truths(self, toolbox: Toolbox) -> list[tuple[CallPlace, ExecutedCall]]:
        """The true calls by (turn, call), each with who was logged in."""
        numbers = {position: turn for turn, position in enumerate(self.conversation.assistant_turns)}
        named = name_truths(self.conversation, toolbox)
        return [(CallPlace(numbers[index], number), call) for (index, number), call in named]
