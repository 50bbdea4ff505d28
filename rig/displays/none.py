"""No display: the run in silence."""

from collections.abc import Callable

from rig.displays.base import T
from rig.displays.signals import stopping
from rig.events import Emit, Event
from rig.running.control import Control


class NoDisplay:
    """Shows nothing."""

    def run(self, job: Callable[[Emit], T], control: Control) -> T:
        with stopping(control):
            return job(_ignore)


def _ignore(event: Event) -> None:
    pass
