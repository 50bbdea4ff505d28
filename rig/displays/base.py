"""What a display is."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from rig.events import Emit
    from rig.running.control import Control

T = TypeVar("T")


class Display(Protocol):
    """Owns the main thread while a job runs, and receives its events."""

    def run(self, job: "Callable[[Emit], T]", control: "Control") -> T:
        """Run the job to the end, here or in a thread, and return its result or raise what it raised."""
        ...
