"""Other people's files and tables: what a paper's own tools read and write, for the verbs that need it.

A paper is a tenant like a method (`rig.plugins`). Verbs reach it by its name, or by the method whose runs its
files hold.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from rig import plugins
from rig.calls import JsonObject
from rig.errors import RigError
from rig.methods.base import Settings
from rig.metrics import Counts
from rig.solutions.judgements import ModelAnswers, Preference, RecordedPasses
from rig.solutions.solution import Finished
from rig.tasks import PlayedTurn, Task


class ArmScore(NamedTuple):
    """What a grader makes of an arm on one suite. `grader` says which, in words and by name.

    `by_task` has the counts of each task by themselves, repeat by repeat.
    """

    arm: str
    fingerprint: JsonObject
    suite: str
    counts: Counts
    error_types: Mapping[str, int]
    grader: str
    graded_by: JsonObject
    by_task: Mapping[str, Sequence[Counts]] = MappingProxyType({})


Row: TypeAlias = tuple[Sequence[str | int | float | None], JsonObject]
"""A row of a table: its cells, which are texts, counts (int) and shares (float), and all of it by name."""


class Table(NamedTuple):
    """A table of a paper with rows that were measured. `cited` says what the paper's own rows in it are."""

    subject: str
    grader: str
    graded_by: JsonObject
    header: Sequence[str]
    rows: Sequence[Row]
    cited: str = ""
    number: int = 0

    @property
    def title(self) -> str:
        """What stands above it, with the number that the paper has given it."""
        return f"Table {self.number}. {self.subject}" if self.number else self.subject

    @property
    def cells(self) -> list[Sequence[str | int | float | None]]:
        """The cells of each row."""
        return [cells for cells, _ in self.rows]

    def as_json(self) -> JsonObject:
        """Number, subject, grader and rows, with numbers at their full length."""
        numbered = {"table": self.number} if self.number else {}
        rows = [row for _, row in self.rows]
        return {**numbered, "title": self.subject, "grader": self.graded_by, "rows": rows}


class RecordedArm(NamedTuple):
    """An arm of a run that was made elsewhere: what is known of it, and its finished episodes.

    An episode is a task's name, its repeat, and the turns that were played. `settings` have all options.
    """

    name: str
    fingerprint: JsonObject
    settings: Settings
    episodes: Sequence[tuple[str, int, Sequence[PlayedTurn]]]


class RecordedRun(NamedTuple):
    """What files of results hold: tasks, arms, and a line on each thing that was left out.

    `faults` are of what could not be read, `notes` of what is left out by rule. `options`
    are the method's own that were not as by default, each as `NAME=VALUE`.
    """

    tasks: Sequence[Task]
    arms: Sequence[RecordedArm]
    options: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Converted(NamedTuple):
    """The conversations made of logs: the files written, and a line on each thing that was left out.

    `notes` are of conversations that were made all the same, `faults` of lines that could not be read.
    """

    files: tuple[Path, ...]
    conversations: int
    notes: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


class Results(NamedTuple):
    """A file of results: the votes on the answers of one model, or on those of a reference and a candidate.

    `table` makes the table that goes with it from the answers, with `raw` cells or inert ones.
    """

    path: Path
    models: tuple[str, ...]
    votes: RecordedPasses | Mapping[str, Preference]
    table: Callable[[Sequence[ModelAnswers], bool], str]


class Standing(NamedTuple):
    """A row of a leaderboard: the win rate over all queries with its standard error, and both by test set."""

    method: str
    win_rate: float
    std_error: float
    by_set: Mapping[str, tuple[float, float]]

    @property
    def is_consistent(self) -> bool:
        """Whether the win rate is about the mean over test sets, be it a share or in percent."""
        if not self.by_set:
            return True
        mean = fmean(rate for rate, _ in self.by_set.values())
        return abs(self.win_rate - mean) <= 0.02 * (100 if max(self.win_rate, mean) > 1 else 1)


class Paper:
    """A paper's files and tables. A subclass overrides what it has; the rest is refused in one line.

    `methods` are those whose runs its files hold, the first of which takes in what it imports. `writes` says
    how it has the tasks of a run: each as a file, or those of an arm as the lines of one. `is_log` says that
    its files become conversations, `takes_any` that it can write the run of any method.
    """

    name: str = ""
    methods: tuple[str, ...] = ()
    writes: Literal["", "files", "lines"] = ""
    is_log: ClassVar[bool] = False
    takes_any: ClassVar[bool] = False

    def recorded(self, files: Sequence[Path], place: Path | None, values: Mapping[str, Any]) -> RecordedRun:
        """The results in these files, read with these options of the method.

        `place` has the tasks, or their names, where they do not lie beside the files.
        Raises RigError for files that hold none, and where there are no tasks.
        """
        raise RigError(
            f"--format {self.name}: rig reads no results that were recorded by this method's upstream"
        )

    def convert(self, files: Sequence[Path], directory: Path, rules: Path | None) -> Converted:
        """Make conversations of logs in a folder, with what the file of rules says replaced."""
        raise RigError(f"--format {self.name}: these are no logs")

    def tables(self, scores: Iterable[ArmScore]) -> Sequence[Table]:
        """The paper's tables that these scores have anything to say in."""
        raise RigError(f"--tables: the method {self.methods[0]} has no tables of a paper")

    def holds(self, place: Path, method: str) -> bool:
        """Whether a folder or file has predictions of this one of its methods."""
        return True

    def predictions(
        self, setup: Any, place: Path, method: str
    ) -> Sequence[tuple[Task, Mapping[int, PlayedTurn]]]:
        """The tasks of a folder or file, each with the turns that were played of it. Raises RigError."""
        raise RigError(f"{place}: the method {method} reads no predictions from files; score a stored run")

    def record(self, task: Any, turns: Mapping[int, PlayedTurn], settings: Any, setup: Any) -> str:
        """A finished episode of an arm as a line or file that the paper's own tools read."""
        raise self._refusal("writes no run's predictions")

    def file_of(self, task: Any, arm: str, settings: Any) -> tuple[str, ...]:
        """The folders and the name of the file that a task's line belongs to: by default one for the arm."""
        return (f"{arm}.jsonl",)

    def export(self, rows: Sequence[Finished], directory: Path) -> Sequence[Path]:
        """Write the finished tasks of a run of any method into a directory; the files. Raises RigError."""
        raise self._refusal("writes no runs")

    def _refusal(self, what: str) -> RigError:
        return RigError(f"the paper {self.name} {what}; choose another format, as `--help` names them")


def of_method(method: str) -> Paper:
    """The paper whose files hold the runs of a method; one that has nothing where there is none."""
    papers = plugins.registered().papers
    for name in papers:
        if method in papers.attribute(name, "methods"):
            paper: Paper = papers[name]
            return paper
    nothing = Paper()
    nothing.name, nothing.methods = method, (method,)
    return nothing


def toolbench() -> Any:
    """The paper whose answers and results judges read and write (`rig.papers.toolbench`)."""
    return plugins.registered().papers["toolbench"]
