"""What widgets tell the screen."""

from dataclasses import dataclass
from pathlib import Path

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
class PersonAnswered(Message):
    """A person who plays a role said something."""

    text: str


@dataclass
class ArmPicked(Message):
    """The reader wants to read this arm."""

    arm: int


@dataclass
class RowPicked(Message):
    """The reader wants to be at this row of a list."""

    number: int


@dataclass
class RowOpened(Message):
    """The reader wants to see what is in this row of a list."""

    number: int


@dataclass
class RunsOpened(Message):
    """The reader wants to see all runs of a store; `may_resume`: and can leave to go on with one."""

    store: Path
    may_resume: bool
