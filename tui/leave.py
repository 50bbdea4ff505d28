"""The ways to leave the view while the run is still going."""

from enum import Enum


class Leave(Enum):
    """What happens to the run."""

    STOP = "stop"
    """It stops and keeps what it has; it can be resumed."""
    DETACH = "detach"
    """It goes on with plain progress."""
