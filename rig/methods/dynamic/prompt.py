"""What the two read before they talk, and the settings of a run."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from rig.calls import JsonObject
from rig.errors import RigError
from rig.methods.dynamic.script import DONE, script
from rig.methods.tooltalk import prompt as tooltalk
from rig.methods.tooltalk.conversations import Conversation
from rig.models import Message, ReplyMessage, Request, StepKey, UserMessage
from rig.tasks import ASSISTANT

THE_USER = "user"
"""The role that talks to the one that is evaluated."""

USER_INSTRUCTIONS = f"""\
You are a person who talks to an assistant. Each message you read is from the assistant; answer as the user.
Below is who you are, and what you say, in this order. Say one thing at a time, in these words, and nothing
that is not yet due. If the assistant asks for something, tell just that; if it is not below, say that you do
not know it. Never act as the assistant. When all is said and done, write {DONE}."""

GREETING = "Hello, how can I help you?"


@dataclass(frozen=True, slots=True)
class DynamicSettings:
    """How tools are offered (`tooltalk`), and how often the assistant may speak at most."""

    tooltalk: tooltalk.ToolTalkSettings
    max_rounds: int = 16

    def __post_init__(self) -> None:
        if self.max_rounds < 1:
            raise RigError("--set max_rounds must be at least 1")

    @property
    def fingerprint(self) -> JsonObject:
        """The settings, and a hash of every sentence that the two read in any conversation."""
        told = hashlib.sha256(json.dumps([USER_INSTRUCTIONS, GREETING]).encode()).hexdigest()
        parts = self.tooltalk.fingerprint
        parts.pop("history")
        return {**parts, "protocol": "dynamic", "max_rounds": self.max_rounds, "user_prompt_sha256": told}


def opening(conversation: Conversation, settings: DynamicSettings, role: str) -> Request:
    """How every request to a role begins in a conversation: without messages."""
    if role == ASSISTANT:
        return tooltalk.opening(conversation, settings.tooltalk)
    return Request(StepKey(conversation.name, 0, 0), USER_INSTRUCTIONS, (), script(conversation), ())


def as_heard(messages: Sequence[Message]) -> tuple[Message, ...]:
    """A conversation as the user reads it: their own words as replies, and nothing of calls."""
    inverted = (
        ReplyMessage(message.text) if isinstance(message, UserMessage) else UserMessage(message.text)
        for message in messages
        if isinstance(message, UserMessage | ReplyMessage)
    )
    return (UserMessage(GREETING), *inverted)
