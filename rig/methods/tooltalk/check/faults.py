"""One thing that is wrong with a conversation file."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from rig.calls import JsonObject
from rig.methods.tooltalk.conversations import Conversation
from rig.tasks import turn_number


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and where. `kind` is one word for counting; `position` is that of a message in its
    conversation and `call` that of a call in it, both from 0. `turn` is which of the assistant's turns it is,
    from 1.
    """

    file: str
    kind: str
    text: str
    position: int | None = None
    call: int | None = None
    turn: int | None = None

    def __str__(self) -> str:
        place = self.file
        if self.turn is not None:
            place += f" turn {self.turn}"
        elif self.position is not None:
            place += f" message {self.position + 1}"
        if self.call is not None:
            place += f" call {self.call + 1}"
        return f"{place}: {self.kind}: {self.text}"

    def as_json(self) -> JsonObject:
        """All fields, by name."""
        return asdict(self)


def numbered(faults: Iterable[Fault], conversation: Conversation) -> list[Fault]:
    """The faults of a conversation, with the turns as people count them."""
    positions = conversation.known_turns
    return [
        replace(fault, turn=turn_number(conversation, fault.position))
        if fault.position in positions
        else fault
        for fault in faults
    ]
