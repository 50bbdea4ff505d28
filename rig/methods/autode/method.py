"""AutoDE as a method: its suites, its options, and what a run needs of it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rig.calls import JsonObject
from rig.files import beginning
from rig.methods.autode.check import check
from rig.methods.autode.data import checkout, scenarios
from rig.methods.autode.data.scenarios import Scenario
from rig.methods.autode.episode import Dialogue
from rig.methods.autode.judgement import DECLARATION, UPSTREAM_VERSION, VERSION
from rig.methods.autode.players.oracle import true_step
from rig.methods.autode.players.scripted_user import ScriptedUser
from rig.methods.autode.prompt import THE_USER, AutoDeSettings, opening
from rig.methods.base import Grading, Method, Option, Setup
from rig.methods.checking import Checked
from rig.methods.scripted import Oracle
from rig.models import Model, Request
from rig.paths import CONVERSATIONS
from rig.tasks import ASSISTANT as THE_ASSISTANT


class AutoDE(Method):
    """A user with a script talks to an assistant until it calls, or they end (arXiv 2403.11128)."""

    name = "autode"
    declaration = DECLARATION
    roles: tuple[str, ...] = (THE_ASSISTANT, THE_USER)
    knowing: Mapping[str, str] = MappingProxyType({THE_ASSISTANT: "oracle", THE_USER: "scripted"})
    episode = Dialogue
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
        if checkout.find_dataset(place) is not None:
            return checkout.holds_data(place)
        first = min(place.glob("*.json"), default=None) if place.is_dir() else None
        return first is not None and '"scenarios"' in beginning(first, 400)

    def load(self, place: Path) -> Sequence[Scenario]:
        is_public = checkout.find_dataset(place) is not None
        return checkout.load(place) if is_public else scenarios.load_directory(place)

    def parse(self, source: JsonObject, where: str, suite: str) -> Scenario:
        return scenarios.parse(source, where, suite)

    def check(self, place: Path, world: Path | None = None, toolbox: str | None = None) -> Checked:
        values = {option.name: option.default for option in self.options}
        return check(place, self.ready(values))

    def models(self, tasks: Sequence[Scenario]) -> Mapping[str, Callable[[], Model]]:
        return {"oracle": lambda: Oracle(tasks, true_step), "scripted": lambda: ScriptedUser(tasks)}

    def settings(self, values: Mapping[str, Any]) -> AutoDeSettings:
        return AutoDeSettings(**{option.name: values[option.name] for option in self.options})

    def cast(self, settings: AutoDeSettings) -> Mapping[str, str]:
        """The assistant alone is asked where the conversation is known."""
        return {THE_USER: "scripted"} if settings.mode == "dynamic" else {}

    def ready(self, values: Mapping[str, Any]) -> Setup:
        return AutoDESetup(self, self.settings(values))

    def opening(self, task: Scenario, settings: AutoDeSettings, role: str) -> Request:
        return opening(task, settings, role)


class AutoDESetup(Setup):
    """Scenarios have no world, so that there is nothing to get ready but the scores."""

    settings: AutoDeSettings

    @property
    def grader(self) -> Grading:
        kind, version = ("upstream", UPSTREAM_VERSION) if self.settings.compat else ("default", VERSION)
        return Grading(kind, version, "exact", {"mode": kind, "version": version})


METHOD: Method = AutoDE()
