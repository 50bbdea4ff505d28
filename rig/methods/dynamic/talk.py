"""What has been said and called, and how it ended: a fold over steps, as they are played or were stored."""

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from rig.errors import MACHINE, ErrorKind
from rig.methods.dynamic.prompt import THE_USER
from rig.methods.dynamic.script import DONE, LiveTask, lines
from rig.methods.tooltalk.prompt import call_message
from rig.models import Message, ReplyMessage, UserMessage
from rig.tasks import PlayedTurn, Step

End: TypeAlias = Literal[
    "done", "malformed", "call_limit", "round_limit", "context_full", "assistant_failed", "user_failed"
]
"""How a conversation ended; each is a count of the method's."""

_ENDS: dict[ErrorKind, End] = {
    **dict.fromkeys(MACHINE, "assistant_failed"),
    ErrorKind.CALL_CAP: "call_limit",
}


class LiveTalk:
    """One conversation. `end` is None for as long as it goes on."""

    def __init__(self, task: LiveTask, max_rounds: int) -> None:
        self.messages: list[Message] = [UserMessage(lines(task.conversation)[0].text)]
        self.end: End | None = None
        self._left = max_rounds

    def add(self, step: Step) -> None:
        """Take in a step: words and calls are added to the messages, anything else ends the conversation."""
        prediction, is_user = step.prediction, step.role == THE_USER
        if prediction.reply is not None and is_user:
            if words := prediction.reply.replace(DONE, "").strip():
                self.messages.append(UserMessage(words))
            if DONE in prediction.reply:
                self.end = "done"
        elif prediction.reply is not None:
            self.messages.append(ReplyMessage(prediction.reply))
            self._left -= 1
            if not self._left:
                self.end = "round_limit"
        elif prediction.error is ErrorKind.CONTEXT:
            self.end = "context_full"
        elif is_user:
            self.end = "user_failed"
        elif prediction.error is not None:
            self.end = _ENDS.get(prediction.error, "malformed")
        elif step.executed is not None:
            self.messages.append(call_message(step.executed, prediction))

    def extend(self, played: Iterable[PlayedTurn]) -> "LiveTalk":
        """Take in turns that were played before."""
        for turn in played:
            for step in turn.steps:
                self.add(step)
        return self

    @property
    def replies(self) -> Iterator[str]:
        """The assistant's words, in order."""
        return (message.text for message in self.messages if isinstance(message, ReplyMessage))
