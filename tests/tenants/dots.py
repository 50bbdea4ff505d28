"""A toy display: a dot for each conversation that is over, and at the end how many there were."""

from collections.abc import Callable
from typing import TextIO

from rig.core.events import ConversationFinished, Emit, Event, RunFinished
from rig.core.registry import Registry
from rig.running.control import Control
from rig.show.base import T, stopping


class Dots:
    name = "dots"

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._over = 0

    def run(self, job: Callable[[Emit], T], control: Control) -> T:
        with stopping(control):
            return job(self._tell)

    def _tell(self, event: Event) -> None:
        if isinstance(event, ConversationFinished):
            self._over += 1
            print(".", end="", file=self._stream, flush=True)
        elif isinstance(event, RunFinished):
            print(f" {self._over} conversations", file=self._stream, flush=True)


def register(registry: Registry) -> None:
    registry.displays.add(Dots)
