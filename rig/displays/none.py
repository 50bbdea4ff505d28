"""No display: the run in silence."""

from collections.abc import Callable
from typing import TextIO

from rig.displays.base import T
from rig.displays.signals import stopping
from rig.events import Emit, Event
from rig.running.control import Control


class NoDisplay:
    """Shows nothing."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Leave alone the stream that other displays write lines to."""

    def run(self, job: Callable[[Emit], T], control: Control) -> T:
        with stopping(control):
            return job(_ignore)


def _ignore(event: Event) -> None:
    """Tests of kills and full disks listen here."""
