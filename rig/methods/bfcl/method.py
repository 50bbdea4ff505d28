"""BFCL as a method: entries of one turn, checked as the leaderboard checks them, category by category."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rig.calls import JsonObject
from rig.methods.base import Grading, Method, Option, Setup
from rig.methods.bfcl import data
from rig.methods.bfcl.checker import VERSION
from rig.methods.bfcl.data import SingleTurnEntry
from rig.methods.bfcl.episode import SingleTurn, true_answer
from rig.methods.bfcl.judgement import judge, rates
from rig.methods.bfcl.prompt import BfclSettings, opening
from rig.metrics import Declaration, Score
from rig.models import Request
from rig.tasks import ASSISTANT, PlayedTurn, Task


class BFCL(Method):
    """The Berkeley Function Calling Leaderboard's categories of one turn."""

    name = "bfcl"
    declaration = rates("bfcl", data.CATEGORIES)
    knowing: Mapping[str, str] = MappingProxyType({ASSISTANT: "oracle"})
    options: tuple[Option, ...] = (
        Option("names", "underscores", several=True),
        Option("data", "", opens=True),
    )
    oracles = MappingProxyType({"oracle": true_answer})
    episode = SingleTurn

    def recognises(self, place: Path) -> bool:
        return bool(data.files(place))

    def load(self, place: Path) -> Sequence[SingleTurnEntry]:
        return data.load(place)

    def parse(self, source: JsonObject, where: str, suite: str) -> SingleTurnEntry:
        return data.parse(source, where, suite)

    def declaration_of(self, tasks: Sequence[Task]) -> Declaration:
        """A rate for each category that there is."""
        suites = {task.suite for task in tasks}
        return rates("bfcl", [category for category in data.CATEGORIES if category in suites])

    def settings(self, values: Mapping[str, Any]) -> BfclSettings:
        return BfclSettings(values["names"])

    def opening(self, task: SingleTurnEntry, settings: BfclSettings, role: str) -> Request:
        return opening(task, settings)

    def ready(self, values: Mapping[str, Any]) -> "BFCLSetup":
        return BFCLSetup(self, self.settings(values), values["data"] or os.environ.get("RIG_BFCL", ""))


class BFCLSetup(Setup):
    """Nothing acts here: there is nothing to get ready but the scores, which depend on the names."""

    def __init__(self, method: Method, settings: BfclSettings, place: str) -> None:
        super().__init__(method, settings)
        self._place = place
        self._as_written = False

    @property
    def grader(self) -> Grading:
        return Grading("ast", VERSION, "", {"grader": "ast", "grader_version": VERSION})

    def score(self, task: SingleTurnEntry, turns: Sequence[PlayedTurn], settings: BfclSettings) -> Score:
        return judge(task, turns, settings, as_written=self._as_written)

    def data(self) -> Sequence[SingleTurnEntry]:
        """The entries that `--set data=DIR` or $RIG_BFCL name."""
        return data.load(data.folder_of_data(self._place))

    def take_as_written(self, *, has_dots: bool) -> None:
        """Score answers as files have them; names `has_dots` where they were given with dots."""
        self._as_written = True
        if has_dots:
            self.settings = BfclSettings("dots")


METHOD: Method = BFCL()
