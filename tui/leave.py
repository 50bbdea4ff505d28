"""The ways to leave the view: what happens to the current run, and what to do next."""

from dataclasses import dataclass
from enum import Enum


class Leave(Enum):
    """What happens to the run."""

    STOP = "stop"
    """It stops and keeps what it has; it can be resumed."""
    DETACH = "detach"
    """It goes on with plain progress."""


@dataclass(frozen=True, slots=True)
class Resume:
    """The stored run of this id is to be gone on with once the terminal is given back."""

    run: str
