"""What a method, or its setup, may offer in addition to what every one has.

Callers check with `isinstance`, and say in one line what is missing if it is not offered.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from rig.calls import JsonObject
from rig.episodes import PlayedTurn, Step
from rig.methods.base import Method, Settings, Setup
from rig.metrics import Declaration
from rig.models import Model
from rig.solutions.solution import Solution
from rig.solutions.trajectory import Searched
from rig.tasks import Task
from rig.toolbox.simulator import Simulator
from rig.toolbox.world import Snapshot
from rig.words import counted


@runtime_checkable
class Meeting(Protocol):
    """A setup that wants to know who plays, before an arm begins: for what a model can say beforehand."""

    def meet(self, models: Mapping[str, Model]) -> None:
        """The models of the arm that is about to begin, by role."""
        ...


@runtime_checkable
class Remembering(Protocol):
    """A setup whose later episodes build on what earlier ones found out, also when a run is resumed."""

    def remember(self, task: Any, turns: Sequence[PlayedTurn]) -> None:
        """Take in what was played of a task before the run was interrupted."""
        ...


@runtime_checkable
class ByArm(Protocol):
    """A setup whose scores depend on what is special to an arm."""

    def of_arm(self, settings: Any) -> Setup:
        """The setup as it is for the arm with these settings."""
        ...


@runtime_checkable
class Solving(Protocol):
    """A setup whose episodes are searches: it says which of the steps lead to the answer."""

    def path(self, task: Any, turns: Sequence[PlayedTurn]) -> Sequence[Step]:
        """The steps of a finished episode that lead to the answer, in order."""
        ...


@runtime_checkable
class Searching(Protocol):
    """A setup whose episodes are searches in one of ToolBench's ways."""

    def searched(self, task: Any, turns: Sequence[PlayedTurn]) -> Searched:
        """The result of the search in a finished episode."""
        ...


@runtime_checkable
class Adjudicable(Protocol):
    """A setup that leaves texts unclear, which people can settle."""

    def adjudicated(self, answers: Path) -> Setup:
        """The setup with what people said of unclear texts, in a file of `rig.scoring.answers`."""
        ...


@runtime_checkable
class Answering(Protocol):
    """A setup of answers that were made elsewhere: it has them whole. Nobody knows which are right."""

    def solution(self, task: Any, turns: Sequence[PlayedTurn]) -> Solution | None:
        """The answer of a finished episode; None if there is none."""
        ...


def by_arm(setup: Setup, settings: Settings) -> Setup:
    """The setup as it is for the arm with these settings."""
    return setup.of_arm(settings) if isinstance(setup, ByArm) else setup


def adjudicated(setup: Setup, answers: Path) -> Setup:
    """The setup with what people said of unclear texts, where it knows any."""
    return setup.adjudicated(answers) if isinstance(setup, Adjudicable) else setup


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


@runtime_checkable
class Checks(Protocol):
    """A method that can say what is wrong with tasks, a line on each fault."""

    def check(self, place: Path) -> Report:
        """Check the tasks of a folder or file. What cannot be read is a fault."""
        ...


@runtime_checkable
class Casting(Protocol):
    """A method whose other roles need not be asked with all settings, or that says who plays them."""

    def cast(self, settings: Any) -> Mapping[str, str]:
        """The roles that these settings ask besides the evaluated one, each with who plays it by default."""
        ...


@runtime_checkable
class Records(Protocol):
    """A method whose tasks hold what their calls returned in a world, which it can check and write down."""

    def check(self, place: Path, world: Path | None = None, toolbox: str | None = None) -> Report:
        """Check the tasks of a folder in the world of these files, else in its own, with these tools."""
        ...

    def record(self, place: Path, world: Path | None = None, toolbox: str | None = None) -> Sequence[Path]:
        """Write into the tasks of a folder what their calls return; the files that changed."""
        ...


@runtime_checkable
class Knows(Protocol):
    """A method with models that know what is right. They make the true course that others are measured by.

    `knowing` names one of its models for each role.
    """

    knowing: Mapping[str, str]


@runtime_checkable
class Executes(Protocol):
    """A setup whose calls act in a world, so that they can be executed again."""

    @property
    def simulator(self) -> Simulator:
        """Where calls are executed. Raises RigError if its world cannot be had."""
        ...

    def worlds(self, task: Any, played: Mapping[int, PlayedTurn]) -> Iterator[tuple[int, Snapshot]]:
        """Each turn of a task by its number, with the world that it begins in, as it was played.

        The caller may act in the simulator between two turns. Raises RigError if the task cannot start in
        this world.
        """
        ...


@runtime_checkable
class Declares(Protocol):
    """A method that counts different things of different tasks."""

    def declaration_of(self, tasks: Sequence[Any]) -> Declaration:
        """What is counted of these tasks."""
        ...


def declared(method: Method, tasks: Sequence[Task]) -> Declaration:
    """What a method counts of these tasks."""
    return method.declaration_of(tasks) if isinstance(method, Declares) else method.declaration
