"""BFCL's categories of several turns as a method. The user names the classes that calls act in."""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rig.calls import JsonObject
from rig.errors import RigError
from rig.files import read_bytes
from rig.methods.base import Grading, Method, Option, Setup
from rig.methods.bfcl.data import folder_of_data
from rig.methods.bfcl.judgement import rates
from rig.methods.bfcl.prompt import BfclSettings
from rig.methods.bfcl.turns import data
from rig.methods.bfcl.turns.classes import FILES, Instances
from rig.methods.bfcl.turns.data import MultiTurnEntry
from rig.methods.bfcl.turns.episode import MultiTurn, opening, true_step
from rig.methods.bfcl.turns.judgement import VERSION, judge
from rig.metrics import Declaration, Part, Score
from rig.models import Request
from rig.tasks import ASSISTANT, PlayedTurn, Task

_TURNS = Part("turns_right", "turns right", "turns", short="turns")
_PLACES = ("func_source_code", "bfcl_eval/eval_checker/multi_turn_eval/func_source_code")
"""Where the classes are in a checkout, or in a copy of it."""


class BFCLTurns(Method):
    """The Berkeley Function Calling Leaderboard's categories of several turns."""

    name = "bfcl-turns"
    declaration = rates("bfcl-turns", data.CATEGORIES, _TURNS)
    knowing: Mapping[str, str] = MappingProxyType({ASSISTANT: "oracle"})
    options: tuple[Option, ...] = (Option("code", "", opens=True), Option("data", "", opens=True))
    oracles = MappingProxyType({"oracle": true_step})
    episode = MultiTurn

    def recognises(self, place: Path) -> bool:
        return place.is_file() and data.category_of(place) is not None

    def load(self, place: Path) -> Sequence[MultiTurnEntry]:
        return data.load(place)

    def parse(self, source: JsonObject, where: str, suite: str) -> MultiTurnEntry:
        return data.parse(source, where, suite)

    def declaration_of(self, tasks: Sequence[Task]) -> Declaration:
        """A rate for each category that there is."""
        suites = {task.suite for task in tasks}
        return rates("bfcl-turns", [name for name in data.CATEGORIES if name in suites], _TURNS)

    def settings(self, values: Mapping[str, Any]) -> BfclSettings:
        return BfclSettings("dots")

    def opening(self, task: MultiTurnEntry, settings: BfclSettings, role: str) -> Request:
        return opening(task, settings)

    def ready(self, values: Mapping[str, Any]) -> "BFCLTurnsSetup":
        named = os.environ.get("RIG_BFCL", "")
        return BFCLTurnsSetup(self, self.settings(values), values["code"] or named, values["data"] or named)


class BFCLTurnsSetup(Setup):
    """The classes that calls act in. Their code is run, so that nobody but the user says where it is."""

    def __init__(self, method: Method, settings: BfclSettings, place: str, of_data: str) -> None:
        super().__init__(method, settings)
        self._place = place
        self._of_data = of_data

    @cached_property
    def code(self) -> Path:
        """The folder with the classes. Raises RigError if nobody named one."""
        if not self._place:
            raise RigError(
                "where are BFCL's classes? Their code is run: name it with --set code=DIR, or in $RIG_BFCL"
            )
        folders = [Path(self._place), *(Path(self._place) / subfolder for subfolder in _PLACES)]
        for folder in folders:
            if (folder / f"{FILES['MathAPI']}.py").is_file():
                return folder
        raise RigError(f"{self._place}: holds none of BFCL's classes, such as {FILES['MathAPI']}.py")

    @property
    def fingerprint(self) -> JsonObject:
        files = sorted(self.code.glob("*.py"))
        return {"code_sha256": sha256(b"\0".join(read_bytes(path) for path in files)).hexdigest()}

    @property
    def grader(self) -> Grading:
        return Grading("state", VERSION, "", {"grader": "state", "grader_version": VERSION})

    def check(self, task: MultiTurnEntry, settings: BfclSettings) -> None:
        """Raise RigError for an entry whose classes cannot be had."""
        Instances(self.code, task.involved, task.config, long=task.is_long)

    def score(self, task: MultiTurnEntry, turns: Sequence[PlayedTurn], settings: BfclSettings) -> Score:
        return judge(task, turns, self.code)

    def data(self) -> Sequence[MultiTurnEntry]:
        """The entries of several turns that `--set data=DIR` or $RIG_BFCL name."""
        folder = folder_of_data(self._of_data)
        files = (file for file in sorted(folder.glob("*.json")) if data.category_of(file))
        return [talk for file in files for talk in data.load(file)]


METHOD: Method = BFCLTurns()
