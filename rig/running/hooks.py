"""Hooks: what plugins do once an arm has been played, and the notes that they leave on it.

A note is a JSON object: `text` is one line for people, `lines` are more of them, and the rest is data. The
store keeps it under the hook's name, and every display shows its words without knowing more of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from rig.core.calls import JsonObject
from rig.core.models import Model
from rig.running.plan import Plan
from rig.running.stored_state import StoredState


@dataclass(frozen=True, slots=True)
class EndedArm:
    """An arm that has been played, at a `position` of the plan. `load` loads the evaluated model of any arm
    unless it is loaded, and `drop` unloads it.
    """

    state: StoredState
    position: int
    load: Callable[[int], Model]
    drop: Callable[[int], None]

    @property
    def plan(self) -> Plan:
        return self.state.plan


class ArmHook(Protocol):
    """What is done with every arm of every run once it has been played, as long as its model is loaded."""

    @property
    def name(self) -> str:
        """The name of the notes."""
        ...

    def after(self, arm: EndedArm) -> JsonObject | None:
        """Return a note on the arm, or None. A RigError is why the arm failed."""
        ...
