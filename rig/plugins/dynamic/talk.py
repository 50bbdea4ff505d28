"""A live conversation: what assistant and user read first, their messages so far, and how it ended."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from rig.core.calls import JsonObject
from rig.core.errors import MACHINE, ErrorKind
from rig.core.metrics import Declaration
from rig.core.models import Message, ReplyMessage, Request, StepKey, UserMessage
from rig.core.tasks import ASSISTANT, PlayedTurn, Step
from rig.methods.base import HarderSettings
from rig.plugins.autode.talk import DONE, THE_USER
from rig.plugins.dynamic.script import LiveTask, lines, script
from rig.plugins.tooltalk import prompt as tooltalk
from rig.plugins.tooltalk.conversations import Conversation
from rig.plugins.tooltalk.prompt import call_message

USER_INSTRUCTIONS = f"""\
You are a person who talks to an assistant. Each message you read is from the assistant; answer as the user.
Below is who you are, and what you say, in this order. Say one thing at a time, in these words, and nothing
that is not yet due. If the assistant asks for something, tell just that; if it is not below, say that you do
not know it. Never act as the assistant. When all is said and done, write {DONE}."""

GREETING = "Hello, how can I help you?"


@dataclass(frozen=True, slots=True)
class DynamicSettings(HarderSettings):
    """How tools are offered (`tooltalk`), and how often the assistant may reply at most (`max_rounds`)."""

    tooltalk: tooltalk.ToolTalkSettings
    max_rounds: int = 16

    @property
    def calm(self) -> "DynamicSettings":
        """The same settings without dials."""
        return replace(self, tooltalk=self.tooltalk.calm)

    def declared(self, declaration: Declaration) -> Declaration:
        return self.tooltalk.declared(declaration)

    @property
    def fingerprint(self) -> JsonObject:
        """The settings, and a hash of every sentence that both roles read in all conversations."""
        told = hashlib.sha256(json.dumps([USER_INSTRUCTIONS, GREETING]).encode()).hexdigest()
        parts = self.tooltalk.fingerprint
        parts.pop("history")
        return {**parts, "protocol": "dynamic", "max_rounds": self.max_rounds, "user_prompt_sha256": told}


def opening(conversation: Conversation, settings: DynamicSettings, role: str) -> Request:
    """Return how every request to a role begins in a conversation, without messages of the task."""
    if role == ASSISTANT:
        return tooltalk.opening(conversation, settings.tooltalk)
    key, now = StepKey(conversation.name, 0, 0), conversation.metadata.now
    return Request(key, USER_INSTRUCTIONS, (), script(conversation), (), now=now)


def as_heard(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return a conversation as the user reads it: their own words as replies, and no calls."""
    inverted = (
        ReplyMessage(message.text) if isinstance(message, UserMessage) else UserMessage(message.text)
        for message in messages
        if isinstance(message, UserMessage | ReplyMessage)
    )
    return (UserMessage(GREETING), *inverted)


End: TypeAlias = Literal[
    "done", "malformed", "call_limit", "round_limit", "context_full", "assistant_failed", "user_failed"
]
"""How a conversation ended; each is a count of the method's."""

_ENDS: dict[ErrorKind, End] = {
    **dict.fromkeys(MACHINE, "assistant_failed"),
    ErrorKind.CALL_CAP: "call_limit",
    ErrorKind.CALL_LOOP: "call_limit",
}


class LiveTalk:
    """A conversation, which continues the turns `played` before. `end` is None until it ends."""

    def __init__(self, task: LiveTask, max_rounds: int, played: Iterable[PlayedTurn] = ()) -> None:
        self.messages: list[Message] = [UserMessage(lines(task.conversation)[0].text)]
        self.end: End | None = None
        self._left = max_rounds
        for step in (step for turn in played for step in turn.steps):
            self.add(step)

    def add(self, step: Step) -> None:
        """Add the words or the call of a step to the messages; anything else ends the conversation."""
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
