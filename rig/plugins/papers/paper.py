"""The files and tables of papers: what a paper's own tools read and write, for the verbs that need it.

A paper is registered like a method (`rig.core.registry`). Verbs find it by its name, or by the method whose
runs its files hold.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from rig.core import registry
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.tasks import PlayedTurn, Task
from rig.methods.base import Settings
from rig.plugins.papers.grids import ArmScore, Table


class RecordedArm(NamedTuple):
    """An arm of a run that was made elsewhere, with its finished episodes.

    An episode is a task's name, its repeat, and the played turns. `settings` include all options.
    """

    name: str
    fingerprint: JsonObject
    settings: Settings
    episodes: Sequence[tuple[str, int, Sequence[PlayedTurn]]]


class RecordedRun(NamedTuple):
    """The content of files of results: tasks, arms, and a line on each thing that was left out.

    `faults` are about what could not be read, `notes` about what is left out by rule. `options`
    are the method's own that differ from the default, each as `NAME=VALUE`.
    """

    tasks: Sequence[Task]
    arms: Sequence[RecordedArm]
    options: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Converted(NamedTuple):
    """The conversations made from logs: the files written, and lines on what went wrong.

    `notes` are about conversations that were made all the same, `faults` about unreadable lines.
    """

    files: tuple[Path, ...]
    conversations: int
    notes: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


class Paper:
    """A paper's files and tables. A subclass overrides what it offers; the rest is refused in one line.

    `methods` are those whose runs its files hold; imports go to the first. `writes` says how the tasks of a
    run are written: `files` for one file each, `lines` for a line each in the files that `file_of` names.
    `is_log` says that its files become conversations, `takes_any` that it can write any method's runs.
    """

    name: str = ""
    methods: tuple[str, ...] = ()
    writes: Literal["", "files", "lines"] = ""
    is_log: ClassVar[bool] = False
    takes_any: ClassVar[bool] = False

    def recorded(self, files: Sequence[Path], place: Path | None, values: Mapping[str, Any]) -> RecordedRun:
        """Read the results in these files, with these option values of the method.

        `place` has the tasks, or their names, if they are not beside the files.
        Raises RigError if the files hold no results, or if there are no tasks.
        """
        raise RigError(
            f"--format {self.name}: rig reads no results that were recorded by this method's upstream"
        )

    def convert(self, files: Sequence[Path], directory: Path, rules: Path | None) -> Converted:
        """Make conversations from logs in a folder, with the replacements that the file of rules asks for."""
        raise RigError(f"--format {self.name}: these are no logs")

    def tables(self, scores: Iterable[ArmScore]) -> Sequence[Table]:
        """Make those of the paper's tables that these scores have rows for."""
        raise RigError(f"--tables: the method {self.methods[0]} has no tables of a paper")

    def holds(self, place: Path, method: str) -> bool:
        """Return whether a folder or file has predictions of this method, one of `methods`."""
        return True

    def predictions(
        self, setup: Any, place: Path, method: str
    ) -> Sequence[tuple[Task, Mapping[int, PlayedTurn]]]:
        """Read the tasks of a folder or file, each with its played turns by number. Raises RigError."""
        raise RigError(f"{place}: the method {method} reads no predictions from files; score a stored run")

    def record(self, task: Any, turns: Mapping[int, PlayedTurn], settings: Any, setup: Any) -> str:
        """Return a finished episode of an arm as the line or file that the paper's own tools read."""
        raise self._refusal("writes no run's predictions")

    def file_of(self, task: Any, arm: str, settings: Any) -> tuple[str, ...]:
        """Return the path parts of the file for a task's line: by default one file for each arm."""
        return (f"{arm}.jsonl",)

    def export(self, rows: Sequence[Any], directory: Path) -> Sequence[Path]:
        """Write the finished tasks of any method's run, as `rig.plugins.judging` makes them, to a directory.

        Return the files. Raises RigError.
        """
        raise self._refusal("writes no runs")

    def _refusal(self, what: str) -> RigError:
        return RigError(f"the paper {self.name} {what}; choose another format, as `--help` names them")


def of_method(method: str) -> Paper:
    """Return the paper whose files hold the runs of a method, or an empty one if there is none."""
    papers = registry.registered().papers
    for name in papers:
        if method in papers.attribute(name, "methods"):
            paper: Paper = papers[name]
            return paper
    nothing = Paper()
    nothing.name, nothing.methods = method, (method,)
    return nothing
