"""What a method is: how tasks are read, played and scored.

A method is a tenant of the house. The runner plays its episodes, the store keeps its turns and counts, and
every display shows them, without knowing it by name. `rig.plugins` says how one registers, and
docs/tutorials/methods.md how one is written. The defaults of these classes are what is not offered.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from rig.calls import JsonObject
from rig.errors import RigError, counted
from rig.events import Emit, Where
from rig.files import read_json
from rig.methods.episode import Episode, course
from rig.methods.scripted import Oracle, true_step
from rig.metrics import Declaration, Score
from rig.models import Model, Prediction, Request, StepKey
from rig.options import Option as Option
from rig.paths import CONVERSATIONS
from rig.solutions.solution import Searched, Solution
from rig.tasks import ASSISTANT, PlayedTurn, Step
from rig.toolbox.toolbox import Simulator, Toolbox
from rig.toolbox.world import Snapshot


@dataclass(frozen=True)
class Checked:
    """What a check of a place found: how many tasks there are, and a line on each fault."""

    place: Path
    tasks: int
    faults: tuple[Any, ...]

    @property
    def summary(self) -> tuple[str, ...]:
        """What is said in the end, line by line."""
        return (f"{self.place}: {counted(self.tasks, 'task')}, {counted(len(self.faults), 'fault', 'no')}",)

    def as_json(self) -> JsonObject:
        """All of it by name."""
        return {"directory": str(self.place), "conversations": self.tasks, "faults": list(self.faults)}


class Settings(Protocol):
    """How a method puts tasks to models: a hashable value. Arms of one run can differ in it."""

    @property
    def fingerprint(self) -> JsonObject:
        """Everything of it that can change an answer, as flat JSON values."""
        ...


@dataclass(frozen=True)
class OptionValues:
    """The settings of a method that has nothing but its options: their values, by name."""

    protocol: str
    values: tuple[tuple[str, Any], ...]

    def __getitem__(self, name: str) -> Any:
        return dict(self.values)[name]

    @property
    def fingerprint(self) -> JsonObject:
        return {"protocol": self.protocol, **dict(self.values)}


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
        places = list(parts)
        faults = (fault for place in places if isinstance(place, Loaded) for fault in place.faults)
        return cls((task for place in places for task in place), faults)


class Setup:
    """A method made ready for a run: its world and its grader. `settings` are of the run's first arm."""

    has_world = False
    """Whether calls act in a world, so that they can be executed again."""

    remembers = False
    """Whether `remember` is to be told what was played before a run was interrupted."""

    is_recorded = False
    """Whether its answers were made elsewhere. Nobody knows which of them are right."""

    def __init__(self, method: "Method", settings: Any) -> None:
        self.method = method
        self.settings = settings

    @property
    def fingerprint(self) -> JsonObject:
        """What shapes results besides models, settings and grader, by flat names: the world, the toolbox."""
        return {}

    @property
    def grader(self) -> Grading:
        """Who scores."""
        version = self.method.version
        return Grading("default", version, "", {"grader": "default", "version": version})

    def adjudicated(self, answers: Path) -> "Setup":
        """The setup with what people said of unclear texts, in a file of `rig.scoring.answers`."""
        return self

    def check(self, task: Any, settings: Any) -> None:
        """Raise RigError if the task cannot be played with these settings."""

    def meet(self, models: Mapping[str, Model]) -> None:
        """Take note of who plays the arm that is about to begin, by role."""

    def remember(self, task: Any, turns: Sequence[PlayedTurn]) -> None:
        """Take in what was played of a task before the run was interrupted, for the episodes to come."""

    def start(self, task: Any, settings: Any, where: Where, emit: Emit, slot: int) -> Episode:
        """Begin an episode. Of those with the same `slot` only one is under way at a time."""
        return self.method.episode(self, task, settings, where, emit, slot)

    def score(self, task: Any, turns: Sequence[PlayedTurn], settings: Any) -> Score:
        """Score turns that were played before, in order, with an arm's settings."""
        episode = self.start(task, settings, Where(0, task.name), lambda _event: None, 0)
        for turn in turns:
            episode.resume(turn)
        return episode.score()

    def path(self, task: Any, turns: Sequence[PlayedTurn], settings: Any) -> Sequence[Step] | None:
        """The steps that lead to the answer, in order, where episodes are searches; else None."""
        return None

    def searched(self, task: Any, turns: Sequence[PlayedTurn], settings: Any) -> Searched | None:
        """The result of a finished episode that is a search in one of ToolBench's ways; else None."""
        return None

    def solution(self, task: Any, turns: Sequence[PlayedTurn], settings: Any) -> Solution | None:
        """An answer that was made elsewhere, whole; None if there is none."""
        return None

    @property
    def simulator(self) -> Simulator:
        """Where calls are executed. Raises RigError if its world cannot be had."""
        raise RigError(
            f"the method {self.method.name} has no world: its calls change nothing, and return nothing"
        )

    def worlds(self, task: Any, played: Mapping[int, PlayedTurn]) -> Iterator[tuple[int, Snapshot]]:
        """Each turn of a task by its number, with the world that it begins in, as it was played.

        The caller may act in the simulator between two turns. Raises RigError if the task cannot start in
        this world.
        """
        return iter(())


class Method:
    """A way to play and score tasks.

    `roles` are who speaks; the first is the one that is evaluated. `declaration` is of its name, and says
    what it counts. `version` is of its scores, to be raised with any change that can change one.
    """

    name: str
    declaration: Declaration
    roles: tuple[str, ...] = (ASSISTANT,)
    options: tuple[Option, ...] = ()
    version = "1"

    task: Callable[..., Any]
    """Makes a task of what is stored of it, by the names of its fields."""

    episode: Callable[..., Episode] = Episode
    """Begins an episode of a setup: a subclass of `Episode`."""

    file = ""
    """The name of the file in which a folder has its tasks, as a JSON list of what is stored of each."""

    oracles: Mapping[str, Callable[[Any, Request], Prediction]] = {"oracle": true_step}
    """Models that need no weights, by name: what each predicts of a task when it is asked this."""

    knowing: Mapping[str, str] = {}
    """One of its `models` for each role that knows what is right; empty if none does. Together they make the
    true course that others are measured by."""

    shipped: tuple[str, ...] = ()
    """The suites that come with rig itself, by name."""

    holds_responses = False
    """Whether tasks hold what their calls returned in a world, so that it can be checked and written down."""

    def suites(self) -> Mapping[str, Path]:
        """The suites that come with it, by name."""
        places = {name: CONVERSATIONS / name for name in self.shipped}
        return {name: place for name, place in places.items() if place.is_dir()}

    def recognises(self, place: Path) -> bool:
        """Whether a folder or file holds tasks of this method, told from a glance."""
        return bool(self.file) and (place / self.file).is_file()

    def load(self, place: Path) -> Sequence[Any]:
        """The tasks of a folder or file, in order; as `Loaded` where some of them could not be read.

        Raises RigError if it is not one.
        """
        path = place / self.file
        if not self.file:
            raise RigError(f"{place}: the method {self.name} reads no tasks from files")
        sources = read_json(path)
        if not isinstance(sources, list) or not all(isinstance(source, dict) for source in sources):
            raise RigError(f"{path}: not a list of objects, one for each task")
        named = ((source, f"{path}, task {number}") for number, source in enumerate(sources, 1))
        return [self.parse(source, where, place.name) for source, where in named]

    def parse(self, source: JsonObject, where: str, suite: str) -> Any:
        """A task of a suite from its source. `where` names it in errors. Raises RigError."""
        try:
            return self.task(**source, suite=suite)
        except (TypeError, ValueError) as error:
            raise RigError(f"{where}: not a task of the method {self.name}: {error}") from error

    def declaration_of(self, tasks: Sequence[Any]) -> Declaration:
        """What is counted of these tasks."""
        return self.declaration

    def models(self, tasks: Sequence[Any]) -> Mapping[str, Callable[[], Model]]:
        """What makes the models that need no weights, by name: those that know the tasks."""
        return {name: partial(Oracle, tasks, answer, name) for name, answer in self.oracles.items()}

    def cast(self, settings: Any) -> Mapping[str, str]:
        """The roles that these settings ask besides the evaluated one, each with who plays it by default."""
        return dict.fromkeys(self.roles[1:], "")

    def settings(self, values: Mapping[str, Any]) -> Settings:
        """The settings that these options of a run make. Raises RigError for values that cannot be."""
        return OptionValues(self.name, tuple((option.name, values[option.name]) for option in self.options))

    def opening(self, task: Any, settings: Any, role: str) -> Request:
        """How every request to this role begins in this task: its messages are what was said before."""
        return Request(StepKey(task.name))

    def ready(self, values: Mapping[str, Any]) -> Setup:
        """Get ready for a run with these options. Raises RigError for what would stop it."""
        return Setup(self, self.settings(values))

    def check(self, place: Path, world: Path | None = None, toolbox: Toolbox | None = None) -> Checked | None:
        """Check the tasks of a folder or file, a line on each fault; None where nothing can be checked.

        By default, those who know what is right play each task, which has to succeed. `world` and `toolbox`
        are only given where tasks hold responses: the calls are then made in the world of these files, else
        in its own, with these tools.
        """
        if not self.knowing or not self.declaration.success:
            return None
        tasks, faults = self.load(place), list[str]()
        setup = self.ready({option.name: option.default for option in self.options})
        players = {role: self.models(tasks)[name]() for role, name in self.knowing.items()}
        for task in tasks:
            setup.check(task, setup.settings)
            episode = setup.start(task, setup.settings, Where(0, task.name), lambda _event: None, 0)
            list(course(episode, players))
            score = episode.score()
            if not score.counts.get(self.declaration.success):
                faults += [f"{task.name}: {fault.text}" for fault in score.faults]
        return Checked(place, len(tasks), tuple(faults))

    def record(
        self, place: Path, world: Path | None = None, toolbox: Toolbox | None = None
    ) -> Sequence[Path]:
        """Write into the tasks of a folder what their calls return; the files that changed."""
        return ()
