"""Tasks, which models have to do, and the steps and turns that were played of them."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from rig.core.calls import ExecutedCall, JsonObject, StepPlace, Verdict
from rig.core.errors import ErrorKind, RigError, did_you_mean
from rig.core.models import Prediction
from rig.core.registry import Named

LeftOut: TypeAlias = Literal["defects", "calibration"]
"""Tasks to leave out: those known to be wrong, or the fifth of a suite that models may be calibrated on."""


class ExpectedTurn(NamedTuple):
    """What a task knows in advance about one assistant turn.

    `said` is what was said since the assistant turn before, usually one user utterance; `calls` are the
    ground truth, and `reply` is the recorded reply. All are empty if nothing is known in advance.
    """

    said: tuple[str, ...] = ()
    calls: tuple[ExecutedCall, ...] = ()
    reply: str = ""


class Task(Protocol):
    """One task. It is stored as its `source`, a JSON object, from which its method parses it again.

    `name` is unique among the tasks of a run. `suite` is the named set of tasks it was read with, empty if it
    is not known. The members have the defaults of a task about which nothing else is known.
    """

    if TYPE_CHECKING:  # fields of a dataclass must not find a default here

        @property
        def name(self) -> str: ...

        @property
        def suite(self) -> str: ...

        @property
        def source(self) -> JsonObject: ...

    else:

        @cached_property
        def source(self) -> JsonObject:
            """The JSON that is stored: by default the fields of the dataclass without the suite."""
            return {part.name: getattr(self, part.name) for part in fields(self) if part.name != "suite"}

    @property
    def known_turns(self) -> tuple[int, ...]:
        """The numbers of the assistant turns to be played, in whatever way the task counts them; empty if
        that is known only afterwards, and turns are counted from 0.
        """
        return ()

    @property
    def ground_truth_count(self) -> int:
        """How many calls are due in all; 0 if that is not known."""
        return 0

    @property
    def defect(self) -> str:
        """What is known to be wrong with the task; empty if nothing is."""
        return ""

    @property
    def facts(self) -> Mapping[str, str]:
        """What a reader should know before the first turn, by name: place, time, who is speaking."""
        return {}

    @property
    def closing(self) -> tuple[str, ...]:
        """What is said after the last assistant turn."""
        return ()

    def expected(self, turn: int) -> ExpectedTurn:
        """Return what is known in advance about the assistant turn of this number."""
        return ExpectedTurn()


class Counted(Protocol):
    """Anything that knows its assistant turns, as tasks do."""

    @property
    def known_turns(self) -> tuple[int, ...]:
        """The numbers of the assistant turns, as the task counts them."""
        ...


def turn_number(task: Counted, turn: int) -> int:
    """Return the number by which people know an assistant turn: the assistant's turns counted from 1."""
    turns = task.known_turns
    return turns.index(turn) + 1 if turn in turns else turn + 1


def numbered(told: JsonObject, task: Counted) -> JsonObject:
    """Return JSON about a turn or a true call with turns numbered as people count them. `position` is
    the turn's place in the task, and `ground_truth` is (turn, call).
    """
    values: JsonObject = {}
    for name, value in told.items():
        if name == "turn":
            values |= {"turn": turn_number(task, value), "position": value}
        elif name == "ground_truth" and value is not None:
            values[name] = [turn_number(task, value[0]), value[1]]
        else:
            values[name] = value
    return values


AnyTask = TypeVar("AnyTask", bound=Task)


AnyNamed = TypeVar("AnyNamed", bound=Named)


def in_random_order(tasks: Sequence[AnyNamed], seed: int) -> list[AnyNamed]:
    """Return the tasks shuffled: by seed and name alone, whatever order they came in."""
    return sorted(tasks, key=lambda task: sha256(f"{seed} {task.name!r}".encode()).digest())


Part: TypeAlias = Literal["calibration", "comparison"]
"""The fifth of a suite's tasks that models may be calibrated on, or the others, which compare them."""


def part_of(name: str) -> Part:
    """Return the part that a task of this name belongs to, in any suite."""
    return "calibration" if sha256(f"part {name}".encode()).digest()[0] < 256 / 5 else "comparison"


def select(
    tasks: Sequence[AnyTask],
    only: Sequence[str] = (),
    limit: int | None = None,
    without: Collection[LeftOut] = (),
    part: Part | None = None,
) -> list[AnyTask]:
    """Return the tasks named in `only` (all if empty) that belong to `part`, at most `limit` of them.

    Raises RigError for unknown names, and if a part is empty.
    """
    names = {task.name for task in tasks}
    if unknown := [name for name in only if name not in names]:
        near = did_you_mean(unknown[0], names)
        raise RigError(f"no conversation is called {', '.join(unknown)}{near}; `rig suites info` lists them")
    chosen = [task for task in tasks if not only or task.name in only]
    if "defects" in without:
        chosen = [task for task in chosen if not getattr(task, "defect", "")]
    if part := "comparison" if "calibration" in without else part:
        chosen = [task for task in chosen if part_of(task.name) == part]
        if not chosen:
            raise RigError(f"none of these conversations is for {part}; choose a larger suite")
    return chosen if limit is None else chosen[:limit]


ASSISTANT = "assistant"
"""The role that is evaluated, in most methods."""


@dataclass(frozen=True, slots=True)
class Step:
    """One prediction of a turn, by the `role` that made it. A call comes with its outcome and its verdict.

    `parent` is the number of the step of the same turn that this one follows, -1 for none; None stands for
    the step before. Steps are a line in most methods, and a tree where a search goes back.
    """

    prediction: Prediction
    executed: ExecutedCall | None = None
    verdict: Verdict | None = None
    role: str = ASSISTANT
    parent: int | None = None


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """What a model did in the assistant turn at position `turn`.

    `wall_s` are the seconds it took in all, `tools_s` and `scoring_s` those spent in tools and scoring.
    `cpu_s` is the CPU time that the process used meanwhile, None if it was not measured.
    """

    turn: int
    steps: tuple[Step, ...]
    wall_s: float = 0.0
    tools_s: float = 0.0
    scoring_s: float = 0.0
    cpu_s: float | None = None

    @property
    def error(self) -> ErrorKind | None:
        """Why the turn ended without a reply; None if it ended with one."""
        return self.steps[-1].prediction.error if self.steps else None

    @property
    def executed(self) -> tuple[ExecutedCall, ...]:
        """The calls that were executed, in order."""
        return tuple(step.executed for step in self.steps if step.executed is not None)


def require_unique(tasks: Iterable[Task], where: object) -> None:
    """Raise RigError if two tasks have the same name."""
    names = Counter(task.name for task in tasks)
    if repeated := sorted(name for name, count in names.items() if count > 1):
        raise RigError(f"{where}: names must be unique; repeated: {', '.join(repeated)}")


class SearchPath(NamedTuple):
    """The steps of a search that lead to its answer, in order or, without an answer, those that count."""

    steps: Sequence[Step]
    is_answered: bool


class AnswerPath(NamedTuple):
    """The steps of a tree that lead to the answer or, without one, that count."""

    places: frozenset[StepPlace] = frozenset()
    is_answered: bool = False


NO_PATH = AnswerPath()
