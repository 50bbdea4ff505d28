"""Drive courses: take anything that asks models for predictions through them, several at once.

Playing a task is a course, and so is judging one. A course may ask several roles.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import partial
from typing import Protocol, TypeAlias

from rig.methods.episode import Ask
from rig.models import Model, Piece, Prediction
from rig.running.control import Control

Asking: TypeAlias = Generator[Ask | None, Prediction | None, None]
"""A course under way: it asks and is sent what was predicted.

It yields None to be held while the run is paused, and is sent None to begin and to go on after a pause.
"""


class Course(Protocol):
    """Something that asks models for predictions, one after another."""

    def begin(self, slot: int) -> Asking:
        """Start asking. Of the courses with the same `slot` only one is under way at a time."""
        ...

    def listen(self, ask: Ask, piece: Piece) -> None:
        """Hear of text as it is generated. What this raises ends all courses under way."""
        ...


def drive(
    courses: Iterable[Course],
    models: Mapping[str, Model],
    slots: int,
    control: Control,
    resumed: Callable[[], None] = lambda: None,
) -> None:
    """Take courses through the models, by role, in order, `slots` at once, until all are through.

    Several roles may have the same model. `resumed` is called after each pause. Raises Stopped when the run
    is stopped while it is paused; what a course or a model raises comes through.
    """
    _Driver(models, slots, control, resumed).drive(courses)


class _Driver:
    def __init__(
        self, models: Mapping[str, Model], slots: int, control: Control, resumed: Callable[[], None]
    ) -> None:
        self._models = models
        self._slots = slots
        self._control = control
        self._resumed = resumed
        self._under_way: dict[int, tuple[Course, Asking]] = {}
        self._held: set[int] = set()
        self._busy: dict[str, set[int]] = {role: set() for role in models}
        """The slots that wait for an answer, by the role that they asked; one name for each model."""
        self._names = {
            role: next(first for first, other in models.items() if other is model)
            for role, model in models.items()
        }

    def drive(self, courses: Iterable[Course]) -> None:
        waiting = deque(courses)
        while True:
            if not self._control.is_paused:
                for slot in sorted(self._held):
                    self._held.remove(slot)
                    self._go_on(slot, None)
                for slot in range(self._slots):
                    while slot not in self._under_way and waiting:
                        course = waiting.popleft()
                        self._under_way[slot] = course, course.begin(slot)
                        self._go_on(slot, None)
            if any(self._busy.values()):
                for role, busy in self._busy.items():
                    for slot, prediction in self._models[role].advance() if busy else ():
                        busy.remove(slot)
                        self._go_on(slot, prediction)
            elif self._under_way or waiting:
                self._control.wait()
                self._resumed()
            else:
                return

    def _go_on(self, slot: int, prediction: Prediction | None) -> None:
        """Let a course take in what was predicted, and pass on what it asks next."""
        course, asking = self._under_way[slot]
        try:
            ask = asking.send(prediction)
        except StopIteration:
            del self._under_way[slot]
            return
        if ask is None:
            self._held.add(slot)
            return
        self._busy[self._names[ask.role]].add(slot)
        self._models[ask.role].begin(slot, ask.request, partial(course.listen, ask))
