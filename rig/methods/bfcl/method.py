"""BFCL as a method: entries of one turn, checked as the leaderboard checks them, category by category."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rig.calls import JsonObject
from rig.episodes import ASSISTANT, PlayedTurn
from rig.events import Emit, Where
from rig.methods.base import Grading, Method, Option
from rig.methods.bfcl import data
from rig.methods.bfcl.checker import VERSION
from rig.methods.bfcl.data import Entry
from rig.methods.bfcl.episode import Answering, Oracle
from rig.methods.bfcl.judgement import declaration_of, judge
from rig.methods.bfcl.prompt import Settings, request
from rig.methods.bfcl.results import files_of, line_of, read_results
from rig.metrics import Declaration, Score
from rig.models import Model, Request, StepKey
from rig.tasks import Task


class BFCL:
    """The Berkeley Function Calling Leaderboard's categories of one turn."""

    name = "bfcl"
    declaration = declaration_of()
    roles: tuple[str, ...] = (ASSISTANT,)
    knowing: Mapping[str, str] = MappingProxyType({ASSISTANT: "oracle"})
    options: tuple[Option, ...] = (
        Option("names", "underscores", several=True),
        Option("data", "", opens=True),
    )
    files_as = "bfcl"

    def suites(self) -> Mapping[str, Path]:
        return {}

    def recognises(self, place: Path) -> bool:
        return data.holds_entries(place)

    def holds_results(self, place: Path) -> bool:
        """Whether files of results are of one turn (`rig.methods.offers.SharesFiles`)."""
        return bool(files_of(place, of_turns=False))

    def load(self, place: Path) -> Sequence[Entry]:
        return data.load(place)

    def parse(self, source: JsonObject, where: str, suite: str) -> Entry:
        return data.parse(source, where, suite)

    def declaration_of(self, tasks: Sequence[Task]) -> Declaration:
        """A rate for each category that there is (`rig.methods.offers.Declares`)."""
        return declaration_of({task.suite for task in tasks})

    def models(self, tasks: Sequence[Entry]) -> Mapping[str, Callable[[], Model]]:
        return {"oracle": lambda: Oracle(tasks)}

    def settings(self, values: Mapping[str, Any]) -> Settings:
        return Settings(values["names"])

    def ready(self, values: Mapping[str, Any]) -> "BFCLSetup":
        return BFCLSetup(self.settings(values), values["data"] or os.environ.get("RIG_BFCL", ""))


METHOD: Method = BFCL()


class BFCLSetup:
    """Nothing acts here: there is nothing to get ready but the scores, which depend on the names."""

    in_lines = True

    def __init__(self, settings: Settings, place: str) -> None:
        self._settings = settings
        self._place = place
        self._as_written = False

    @property
    def fingerprint(self) -> JsonObject:
        return {}

    @property
    def grader(self) -> Grading:
        return Grading("ast", VERSION, "", {"grader": "ast", "grader_version": VERSION})

    def check(self, task: Entry, settings: Settings) -> None:
        """Every entry that could be read can be played."""

    def opening(self, task: Entry, settings: Settings, role: str) -> Request:
        begun = request(task, settings, StepKey(task.name, 0, 0))
        return Request(
            begun.key, begun.instructions, begun.tools, begun.context, (), False, several_calls=True
        )

    def start(self, task: Entry, settings: Settings, where: Where, emit: Emit, slot: int) -> Answering:
        return Answering(task, settings, where, emit)

    def of_arm(self, settings: Settings) -> "BFCLSetup":
        return BFCLSetup(settings, self._place)

    def score(self, task: Entry, turns: Sequence[PlayedTurn]) -> Score:
        return judge(task, turns, self._settings, as_written=self._as_written)

    def file_of(self, task: Entry) -> str:
        """The file of results that an entry's line belongs to (`rig.methods.offers.Files`)."""
        return f"BFCL_v4_{task.suite}_result.json"

    def record(self, task: Entry, turns: Mapping[int, PlayedTurn]) -> str:
        return line_of(task, turns, self._settings)

    def predictions(self, place: Path) -> Sequence[tuple[Entry, dict[int, PlayedTurn]]]:
        """Answers in BFCL's files of results; the data are where `--set data=DIR` or $RIG_BFCL say.

        They are taken as they are written. Where a name in them has a dot, names were given with dots.
        """
        entries = data.load(data.folder_of_data(self._place))
        found = read_results(place, entries)
        self._as_written = True
        made = (executed for _, turns in found for turn in turns.values() for executed in turn.executed)
        if any("." in executed.name for executed in made):
            self._settings = Settings("dots")
        return found
