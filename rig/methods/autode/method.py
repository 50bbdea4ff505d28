"""AutoDE as a method: its suites, its options, and what a run needs of it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rig.calls import JsonObject
from rig.episodes import ASSISTANT as THE_ASSISTANT
from rig.episodes import PlayedTurn
from rig.events import Emit, Where
from rig.methods.autode.check import check
from rig.methods.autode.data import checkout, scenarios
from rig.methods.autode.data.scenarios import Scenario
from rig.methods.autode.dialogue import Dialogue
from rig.methods.autode.players.oracle import Oracle
from rig.methods.autode.players.scripted_user import ScriptedUser
from rig.methods.autode.prompt import THE_USER, Settings, opening
from rig.methods.autode.scoring.judgement import DECLARATION, VERSION, judge
from rig.methods.autode.talk import Talk
from rig.methods.base import Grading, Method, Option, Setup
from rig.methods.offers import Checked
from rig.metrics import Score
from rig.models import Model, Request
from rig.paths import CONVERSATIONS


class AutoDE:
    """A user with a script talks to an assistant until it calls, or they end (arXiv 2403.11128)."""

    name = "autode"
    declaration = DECLARATION
    roles: tuple[str, ...] = (THE_ASSISTANT, THE_USER)
    knowing: Mapping[str, str] = MappingProxyType({THE_ASSISTANT: "oracle", THE_USER: "scripted"})
    options: tuple[Option, ...] = (
        Option("mode", "dynamic", several=True),
        Option("form", "rig", several=True),
        Option("required", "fixed", several=True),
        Option("max_rounds", 8),
        Option("compat", False),
    )

    def suites(self) -> Mapping[str, Path]:
        return {name: CONVERSATIONS / name for name in ("dynamic",) if (CONVERSATIONS / name).is_dir()}

    def recognises(self, place: Path) -> bool:
        dataset = checkout.find_dataset(place)
        if dataset is not None:
            return checkout.find_workbook(dataset) is not None
        first = min(place.glob("*.json"), default=None) if place.is_dir() else None
        return first is not None and scenarios.is_domain(first)

    def load(self, place: Path) -> Sequence[Scenario]:
        is_public = checkout.find_dataset(place) is not None
        return checkout.load(place) if is_public else scenarios.load_directory(place)

    def parse(self, source: JsonObject, where: str, suite: str) -> Scenario:
        return scenarios.parse(source, where, suite)

    def check(self, place: Path) -> Checked:
        return check(place)

    def models(self, tasks: Sequence[Scenario]) -> Mapping[str, Callable[[], Model]]:
        return {"oracle": lambda: Oracle(tasks), "scripted": lambda: ScriptedUser(tasks)}

    def settings(self, values: Mapping[str, Any]) -> Settings:
        return Settings(**{option.name: values[option.name] for option in self.options})

    def cast(self, settings: Settings) -> Mapping[str, str]:
        """The assistant alone is asked where the conversation is known (`rig.methods.offers.Casting`)."""
        return {THE_USER: "scripted"} if settings.mode == "dynamic" else {}

    def ready(self, values: Mapping[str, Any]) -> Setup:
        return AutoDESetup(self.settings(values))


METHOD: Method = AutoDE()


class AutoDESetup:
    """Scenarios have no world, so that there is nothing to get ready but the scores.

    `settings` are those of one arm.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @property
    def fingerprint(self) -> JsonObject:
        return {}

    @property
    def grader(self) -> Grading:
        kind = "upstream" if self.settings.compat else "default"
        return Grading(kind, VERSION, "exact", {"mode": kind, "version": VERSION})

    def check(self, task: Scenario, settings: Settings) -> None:
        """Every scenario that could be read can be played."""

    def opening(self, task: Scenario, settings: Settings, role: str) -> Request:
        return opening(task, settings, role)

    def start(self, task: Scenario, settings: Settings, where: Where, emit: Emit, slot: int) -> Dialogue:
        return Dialogue(task, settings, where, emit)

    def of_arm(self, settings: Settings) -> "AutoDESetup":
        """What was played, and so what it is worth, depends on the arm (`rig.methods.offers.ByArm`)."""
        return AutoDESetup(settings)

    def score(self, task: Scenario, turns: Sequence[PlayedTurn]) -> Score:
        return judge(task, self.talk(task, turns), self.settings.compat)

    def talk(self, task: Scenario, turns: Sequence[PlayedTurn]) -> Talk:
        """The conversation that these turns are."""
        return Talk(task, self.settings.mode, self.settings.max_rounds).extend(turns)
