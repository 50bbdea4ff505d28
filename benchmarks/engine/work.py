"""What a benchmark asks: the points of true conversations at which a model has to predict."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.models import Message, ReplyMessage, Request, StepKey, UserMessage
from rig.core.paths import CONVERSATIONS
from rig.core.tasks import select
from rig.plugins.tooltalk.conversations import Conversation, load_directory
from rig.plugins.tooltalk.method import METHOD
from rig.plugins.tooltalk.prompt import INSTRUCTIONS, ToolTalkSettings, call_message, context, offered_tools


@dataclass(frozen=True, slots=True)
class Work:
    """Which prefixes of which conversations. `directory` of conversations replaces the suite."""

    suite: str = "easy"
    directory: str | None = None
    only: tuple[str, ...] = ()
    limit: int | None = 12
    prefixes: int | None = 30

    def conversations(self) -> list[Conversation]:
        """The conversations. Raises RigError when there are none such."""
        suites = tuple(METHOD.suites()) if self.suite == "all" else (self.suite,)
        places = [Path(self.directory)] if self.directory else [CONVERSATIONS / suite for suite in suites]
        everything = [conversation for place in places for conversation in load_directory(place)]
        return list(select(everything, self.only, self.limit))

    def requests(self) -> dict[str, Request]:
        """The requests by id, at least one. Raises RigError."""
        every = (point for conversation in self.conversations() for point in prefixes(conversation))
        requests = dict(islice(every, self.prefixes))
        if not requests:
            raise RigError("these conversations have no assistant turn to predict")
        return requests

    def as_json(self) -> JsonObject:
        return {**asdict(self), "only": list(self.only)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Work":
        return cls(**{**data, "only": tuple(data["only"])})


def prefixes(
    conversation: Conversation, settings: ToolTalkSettings | None = None
) -> Iterator[tuple[str, Request]]:
    """Every point at which the true assistant acts, with its id: before each call, and before each reply."""
    tools = offered_tools(conversation, settings or ToolTalkSettings())
    facts, now = context(conversation.metadata), conversation.metadata.now
    messages: list[Message] = []
    for index, turn in enumerate(conversation.turns):
        if turn.role == "user":
            messages.append(UserMessage(turn.text))
            continue
        for step in range(len(turn.calls) + 1):
            key = StepKey(conversation.name, index, step)
            yield (
                f"{conversation.name}/{index}/{step}",
                Request(key, INSTRUCTIONS, tools, facts, tuple(messages), several_calls=True, now=now),
            )
            message = call_message(turn.calls[step]) if step < len(turn.calls) else ReplyMessage(turn.text)
            messages.append(message)
