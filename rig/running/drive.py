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
    waiting = deque(courses)
    under_way: dict[int, tuple[Course, Asking]] = {}
    held: set[int] = set()
    # The slots that wait for an answer, by the first of the roles that have the same model.
    busy: dict[str, set[int]] = {role: set() for role in models}
    firsts = {
        role: next(first for first, other in models.items() if other is model)
        for role, model in models.items()
    }

    def go_on(slot: int, prediction: Prediction | None) -> None:
        """Let a course take in what was predicted, and pass on what it asks next."""
        course, asking = under_way[slot]
        try:
            ask = asking.send(prediction)
        except StopIteration:
            del under_way[slot]
            return
        if ask is None:
            held.add(slot)
        else:
            busy[firsts[ask.role]].add(slot)
            models[ask.role].begin(slot, ask.request, partial(course.listen, ask))

    while True:
        if not control.is_paused:
            for slot in sorted(held):
                held.remove(slot)
                go_on(slot, None)
            for slot in range(slots):
                while slot not in under_way and waiting:
                    course = waiting.popleft()
                    under_way[slot] = course, course.begin(slot)
                    go_on(slot, None)
        if any(busy.values()):
            for role, of_model in busy.items():
                for slot, prediction in models[role].advance() if of_model else ():
                    of_model.remove(slot)
                    go_on(slot, prediction)
        elif under_way or waiting:
            control.wait()
            resumed()
        else:
            return
