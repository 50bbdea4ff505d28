"""What a method is: how tasks are read, played and scored.

A method is a tenant of the house. The runner plays its episodes, the store keeps its turns and counts, and
every display shows them, without knowing it by name. `rig.plugins` says how one registers.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from rig.calls import JsonObject
from rig.episodes import PlayedTurn
from rig.events import Emit, Where
from rig.metrics import Declaration, Score
from rig.models import Model, Prediction, Request
from rig.options import Option as Option
from rig.tasks import Task


class Ask(NamedTuple):
    """Which role speaks next, and what it is asked.

    `phrases` are words with a special meaning, such as those that end a conversation: a person who plays the
    role can say them with a key.
    """

    role: str
    request: Request
    phrases: tuple[str, ...] = ()


Playing: TypeAlias = Generator[Ask, Prediction, PlayedTurn]
"""A turn under way: it asks, is sent what was predicted, and returns the turn once it has ended."""


class Episode(Protocol):
    """One arm playing one task once, turn by turn."""

    @property
    def next_turn(self) -> int | None:
        """The number of the turn to be played next; None once the task has ended."""
        ...

    def resume(self, played: PlayedTurn) -> None:
        """Take in the next turn as it was played before."""
        ...

    def play(self) -> Playing:
        """Play the next turn. What happens within it is emitted."""
        ...

    def score(self) -> Score:
        """What the episode is worth, once it has ended."""
        ...


class Settings(Protocol):
    """How a method puts tasks to models: a hashable value. Arms of one run can differ in it."""

    @property
    def fingerprint(self) -> JsonObject:
        """Everything of it that can change an answer, as flat JSON values."""
        ...


class Setup(Protocol):
    """A method made ready for the tasks of a run: its world, its grader."""

    @property
    def fingerprint(self) -> JsonObject:
        """What shapes results besides models, settings and grader, by flat names: the world, the toolbox."""
        ...

    @property
    def grader(self) -> "Grading":
        """Who scores."""
        ...

    def check(self, task: Any, settings: Any) -> None:
        """Raise RigError if the task cannot be played with these settings."""
        ...

    def opening(self, task: Any, settings: Any, role: str) -> Request:
        """How every request to this role begins in this task: without messages."""
        ...

    def start(self, task: Any, settings: Any, where: Where, emit: Emit, slot: int) -> Episode:
        """Begin an episode. Of those with the same `slot` only one is under way at a time."""
        ...

    def score(self, task: Any, turns: Sequence[PlayedTurn]) -> Score:
        """Score turns that were played before, in order."""
        ...


class Grading(NamedTuple):
    """Who scores: the grader's name, its version and its similarity of texts. Stored with every score.

    `fingerprint` is everything that can change a score of the same predictions, as flat JSON values.
    """

    grader: str
    version: str
    similarity: str
    fingerprint: JsonObject


class Loaded(list[Any]):
    """Tasks that were read, in order. `faults` has a line on each that could not be and is left out."""

    def __init__(self, tasks: Iterable[Any] = (), faults: Iterable[str] = ()) -> None:
        super().__init__(tasks)
        self.faults = tuple(faults)

    @classmethod
    def of(cls, parts: Iterable[Sequence[Any]]) -> "Loaded":
        """What was read at several places as one."""
        known = list(parts)
        faults = (fault for part in known if isinstance(part, Loaded) for fault in part.faults)
        return cls((task for part in known for task in part), faults)


class Method(Protocol):
    """A way to play and score tasks.

    `roles` are who speaks; the first is the one that is evaluated. `declaration` is of its name, and says
    what it counts.
    """

    name: str
    declaration: Declaration
    roles: tuple[str, ...]
    options: tuple[Option, ...]

    def suites(self) -> Mapping[str, Path]:
        """The suites that come with it, by name."""
        ...

    def recognises(self, place: Path) -> bool:
        """Whether a folder or file holds tasks of this method, told from a glance."""
        ...

    def load(self, place: Path) -> Sequence[Task]:
        """The tasks of a folder or file, in order; as `Loaded` where some of them could not be read.

        Raises RigError if it is not one.
        """
        ...

    def parse(self, source: JsonObject, where: str, suite: str) -> Task:
        """A task of a suite from its source. `where` names it in errors. Raises RigError."""
        ...

    def models(self, tasks: Sequence[Any]) -> Mapping[str, Callable[[], Model]]:
        """Models that need no weights, by name: those that know the tasks, such as an oracle."""
        ...

    def settings(self, values: Mapping[str, Any]) -> Settings:
        """The settings that these options of a run make. Raises RigError for values that cannot be."""
        ...

    def ready(self, values: Mapping[str, Any]) -> Setup:
        """Get ready for a run with these options. Raises RigError for what would stop it."""
        ...
