"""What a method is: how tasks are read, played and scored.

The runner plays a method's episodes, the store keeps its turns and counts, and every display shows them;
none of them knows any method by name. `rig.core.registry` says how to register one, and
docs/tutorials/methods.md how to write one. What a class does not override, its method does not offer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from rig.config.options import TABLE
from rig.config.options import Option as Option
from rig.core.calls import Call, JsonObject
from rig.core.errors import RigError, counted
from rig.core.events import Emit, Where
from rig.core.files import read_json
from rig.core.metrics import Declaration, Score
from rig.core.models import Model, Prediction, Request, StepKey
from rig.core.paths import CONVERSATIONS
from rig.core.tasks import ASSISTANT, PlayedTurn, SearchPath
from rig.methods.episode import Episode, course
from rig.methods.scripted import Oracle, true_step
from rig.scoring.forms import with_forms
from rig.world.toolbox import Simulator, Toolbox
from rig.world.world import Snapshot


@dataclass(frozen=True)
class Checked:
    """The result of checking a place: the number of tasks, and a line on each fault.

    `true_calls` each have their place, and the schema of their arguments.
    """

    place: Path
    tasks: int
    faults: tuple[Any, ...]
    true_calls: tuple[tuple[str, Call, JsonObject], ...] = ()

    @property
    def summary(self) -> tuple[str, ...]:
        """The lines that report the check."""
        return (f"{self.place}: {counted(self.tasks, 'task')}, {counted(len(self.faults), 'fault', 'no')}",)

    def as_json(self) -> JsonObject:
        """Return the place, the number of tasks and the faults as a JSON object."""
        return {"directory": str(self.place), "conversations": self.tasks, "faults": list(self.faults)}


class Settings(Protocol):
    """How a method puts tasks to models: a hashable value, in which the arms of one run can differ."""

    @property
    def fingerprint(self) -> JsonObject:
        """Everything in the settings that can change an answer, as flat JSON values."""
        ...


class HarderSettings:
    """Settings that can make tasks harder than they are."""

    __slots__ = ()

    @property
    def calm(self) -> Any:
        """The same settings, with tasks as they are."""
        return self

    def declared(self, declaration: Declaration) -> Declaration:
        """Return a declaration with what is counted besides."""
        return declaration


@dataclass(frozen=True)
class OptionValues:
    """The settings of a method that has only options: their values by name."""

    protocol: str
    values: tuple[tuple[str, Any], ...]

    def __getitem__(self, name: str) -> Any:
        return dict(self.values)[name]

    @property
    def fingerprint(self) -> JsonObject:
        return {"protocol": self.protocol, **dict(self.values)}


class Grading(NamedTuple):
    """The grader: its name, its version and its similarity of texts. It is stored with every score.

    `fingerprint` is everything that can change a score of the same predictions, as flat JSON values.
    """

    grader: str
    version: str
    similarity: str
    fingerprint: JsonObject


class Loaded(list[Any]):
    """The tasks that were read, in order. `faults` has a line on each task left out as unreadable."""

    def __init__(self, tasks: Iterable[Any] = (), faults: Iterable[str] = ()) -> None:
        super().__init__(tasks)
        self.faults = tuple(faults)

    @classmethod
    def of(cls, parts: Iterable[Sequence[Any]]) -> "Loaded":
        """Join what was read at several places into one."""
        places = list(parts)
        faults = (fault for place in places if isinstance(place, Loaded) for fault in place.faults)
        return cls((task for place in places for task in place), faults)


class Setup:
    """A method made ready for a run: its world and its grader. `settings` are those of the first arm."""

    has_world = False
    """Whether calls act in a world, so that they can be executed again."""

    remembers = False
    """Whether `remember` must be called with what was played before a run was interrupted."""

    is_recorded = False
    """Whether its answers were made elsewhere, so that nobody knows which of them are right."""

    def __init__(self, method: "Method", settings: Any) -> None:
        self.method = method
        self.settings = settings

    @property
    def fingerprint(self) -> JsonObject:
        """What shapes results besides models, settings and grader (world, toolbox), by flat names."""
        return {}

    @property
    def grader(self) -> Grading:
        """The grader of this setup."""
        version = self.method.version
        return Grading("default", version, "", {"grader": "default", "version": version})

    def adjudicated(self, answers: Path) -> "Setup":
        """Return the setup with people's answers about unclear texts, a file of `rig.scoring.answers`."""
        return self

    def check(self, task: Any, settings: Any) -> None:
        """Raise RigError if the task cannot be played with these settings."""

    def require_gradable(self, task: Any) -> None:
        """Raise RigError if the task asks for something that the grader does not know of."""

    def meet(self, models: Mapping[str, Model]) -> None:
        """Take note of the models that play the next arm, by role."""

    def remember(self, task: Any, turns: Sequence[PlayedTurn]) -> None:
        """Take in the turns of a task that were played before the run was interrupted, for later episodes."""

    def start(self, task: Any, settings: Any, where: Where, emit: Emit, slot: int) -> Episode:
        """Begin an episode. Only one episode of the same `slot` is under way at a time."""
        return self.method.episode(self, task, settings, where, emit, slot)

    def score(self, task: Any, turns: Sequence[PlayedTurn], settings: Any) -> Score:
        """Score the turns of an episode that was played before, in order, with an arm's settings."""
        episode = self.start(task, settings, Where(0, task.name), lambda _event: None, 0)
        for turn in turns:
            episode.resume(turn)
        return episode.score()

    def scored(
        self, task: Any, turns: Sequence[PlayedTurn], settings: Any, score: Score | None = None
    ) -> Score:
        """Return the score of played turns, given if it is known, with the forms of the calls in them."""
        own_score = self.score(task, turns, settings) if score is None else score
        rescored = partial(self.score, task, settings=settings) if self.method.begins_from_truth else None
        return with_forms(own_score, turns, self.method.roles[0], self.method.declaration, rescored)

    @property
    def simulator(self) -> Simulator:
        """The simulator that executes calls. Raises RigError if its world cannot be opened."""
        raise RigError(
            f"the method {self.method.name} has no world: its calls change nothing, and return nothing"
        )

    def worlds(self, task: Any, played: Mapping[int, PlayedTurn]) -> Iterator[tuple[int, Snapshot]]:
        """Yield the number of each played turn of a task with the world that the turn begins in.

        The caller may act in the simulator between two turns. Raises RigError if the task cannot start in
        this world.
        """
        return iter(())


class Method:
    """A way to play and score tasks.

    `roles` are those who speak; the first is evaluated. `declaration` has the method's name and says
    what it counts. `version` is the version of its scores; raise it with any change that can change one.
    """

    name: str
    declaration: Declaration
    roles: tuple[str, ...] = (ASSISTANT,)
    options: tuple[Option, ...] = ()
    version = "1"

    @property
    def explained(self) -> tuple[Option, ...]:
        """The options that no other method has and that the help of verbs explains."""
        return tuple(own for own in self.options if own.name not in TABLE and own.help)

    task: Callable[..., Any]
    """Makes a task from its stored fields, which are keyword arguments."""

    episode: Callable[..., Episode] = Episode
    """Begins an episode of a setup; a subclass of `Episode`."""

    file = ""
    """The name of the file with a folder's tasks: a JSON list with the stored fields of each."""

    oracles: Mapping[str, Callable[[Any, Request], Prediction]] = {"oracle": true_step}
    """Models that need no weights, by name: a function that predicts from a task and a request."""

    knowing: Mapping[str, str] = {}
    """For each role, one of the `models` that knows what is right; empty if none does. Together they play the
    true course that others are measured by."""

    shipped: tuple[str, ...] = ()
    """The suites that come with rig itself, by name."""

    begins_from_truth = False
    """Whether each turn begins from the true history, whatever was played before it."""

    holds_responses = False
    """Whether tasks hold what their calls return in a world, so that `check` and `record` apply to it."""

    def suites(self) -> Mapping[str, Path]:
        """Return the suites that come with the method, by name."""
        places = {name: CONVERSATIONS / name for name in self.shipped}
        return {name: place for name, place in places.items() if place.is_dir()}

    def recognises(self, place: Path) -> bool:
        """Return whether a folder or file seems to hold tasks of this method, without reading all of it."""
        return bool(self.file) and (place / self.file).is_file()

    def load(self, place: Path) -> Sequence[Any]:
        """Read the tasks of a folder or file, in order: a `Loaded` if some of them could not be read.

        Raises RigError if it holds no tasks of this method.
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
        """Make a task of a suite from its source, which `where` names in errors. Raises RigError."""
        try:
            return self.task(**source, suite=suite)
        except (TypeError, ValueError) as error:
            raise RigError(f"{where}: not a task of the method {self.name}: {error}") from error

    def declaration_of(self, tasks: Sequence[Any]) -> Declaration:
        """Return the declaration of what is counted for these tasks."""
        return self.declaration

    def models(self, tasks: Sequence[Any]) -> Mapping[str, Callable[[], Model]]:
        """Return factories of the models that need no weights because they know the tasks, by name."""
        return {name: partial(Oracle, tasks, answer, name) for name, answer in self.oracles.items()}

    def cast(self, settings: Any) -> Mapping[str, str]:
        """Return the roles asked besides the evaluated one, each with the name of its default model."""
        return dict.fromkeys(self.roles[1:], "")

    def settings(self, values: Mapping[str, Any]) -> Settings:
        """Make settings from the option values of a run. Raises RigError for invalid values."""
        return OptionValues(self.name, tuple((option.name, values[option.name]) for option in self.options))

    def opening(self, task: Any, settings: Any, role: str) -> Request:
        """Return how every request to this role begins in this task; its messages come before the task's."""
        return Request(StepKey(task.name))

    def path(self, task: Any, turns: Sequence[PlayedTurn], settings: Any) -> SearchPath | None:
        """Return the steps that lead to the answer of a search; None if episodes are no searches."""
        return None

    def ready(self, values: Mapping[str, Any]) -> Setup:
        """Make a setup for a run with these options. Raises RigError if something would stop the run."""
        return Setup(self, self.settings(values))

    def place_of(self, folder: Path, task: Any, turn: int | None) -> tuple[Path, int] | None:
        """Return the file of a folder that has a task, and the line of a turn; None if it is not known."""
        return None

    def check(self, place: Path, world: Path | None = None, toolbox: Toolbox | None = None) -> Checked | None:
        """Check the tasks of a folder or file and report each fault; None if nothing can be checked.

        By default, the `knowing` models play each task, which has to succeed. `world` and `toolbox` are
        only passed if tasks hold responses: their calls are made with these tools, in the world of these
        files or else in the tools' own.
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
        self,
        place: Path,
        world: Path | None = None,
        toolbox: Toolbox | None = None,
        note: Callable[[str], object] = str,
    ) -> Sequence[Path]:
        """Write what calls return into the tasks of a folder, and return the files that changed.

        `note` gets a line on each answer of a toolbox of the user's own.
        """
        return ()
