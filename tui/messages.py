"""What widgets tell the screen."""

from dataclasses import dataclass

from textual.message import Message

from rig.events import Where


@dataclass
class ConversationPicked(Message):
    """The reader moved to a conversation, by key or mouse."""

    where: Where


@dataclass
class Rearranged(Message):
    """A widget has a new size and needs its content laid out again."""
