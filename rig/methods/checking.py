"""What a check of tasks comes to."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from rig.calls import JsonObject
from rig.errors import counted


class Report(Protocol):
    """What a check of a place found: a line on each fault, and what is said in the end."""

    @property
    def faults(self) -> Sequence[object]: ...

    @property
    def summary(self) -> Sequence[str]: ...

    def as_json(self) -> JsonObject:
        """All of it by name."""
        ...


class Checked(NamedTuple):
    """A report that counts the tasks of a place, and has a line on each fault."""

    place: Path
    tasks: int
    faults: tuple[str, ...]

    @property
    def summary(self) -> Sequence[str]:
        return (f"{self.place}: {counted(self.tasks, 'task')}, {counted(len(self.faults), 'fault', 'no')}",)

    def as_json(self) -> JsonObject:
        """All of it by name."""
        return {"directory": str(self.place), "conversations": self.tasks, "faults": list(self.faults)}
