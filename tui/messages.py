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


@dataclass
class Scrolled(Message):
    """The reader scrolled the transcript with the mouse, or picked something in it."""


@dataclass
class SearchChanged(Message):
    """The reader writes what to search for; `done` once it is complete, with an empty term to end it."""

    term: str
    done: bool = False


@dataclass
class ArmPicked(Message):
    """The reader wants to read this arm."""

    arm: int


@dataclass
class FilterPicked(Message):
    """The reader wants the next filter of conversations."""
