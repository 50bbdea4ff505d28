"""ToolTalk's tasks as a method of their own: played live, judged by how the world ends."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rig.calls import JsonObject
from rig.episodes import ASSISTANT, PlayedTurn
from rig.errors import RigError
from rig.events import Emit, Where
from rig.methods.base import Grading, Method, Option
from rig.methods.dynamic.dialogue import Dialogue
from rig.methods.dynamic.judgement import DECLARATION, VERSION, judge
from rig.methods.dynamic.oracle import Oracle
from rig.methods.dynamic.prompt import THE_USER, Settings, opening
from rig.methods.dynamic.tasks import LiveTask
from rig.methods.dynamic.user import ScriptedUser
from rig.methods.tooltalk.acting import Stage
from rig.methods.tooltalk.conversations import load_directory, parse_conversation
from rig.methods.tooltalk.method import ToolTalk, ToolTalkSetup
from rig.metrics import Score
from rig.models import Model, Request
from rig.scoring.matching import ANY_WAY
from rig.toolbox.simulator import Simulator
from rig.toolbox.world import Snapshot

_TOOLTALK = ToolTalk()


class Dynamic:
    """A user talks to the assistant as in a true conversation; the world goes on from its own calls."""

    name = "dynamic"
    declaration = DECLARATION
    roles: tuple[str, ...] = (ASSISTANT, THE_USER)
    options: tuple[Option, ...] = (
        *(option for option in _TOOLTALK.options if option.name != "history"),
        Option("max_rounds", 16),
    )

    def suites(self) -> Mapping[str, Path]:
        return {}

    def recognises(self, place: Path) -> bool:
        """Never by itself: the files are ToolTalk's."""
        return False

    def load(self, place: Path) -> Sequence[LiveTask]:
        return [LiveTask(each) for each in load_directory(place)]

    def parse(self, source: JsonObject, where: str, suite: str) -> LiveTask:
        return LiveTask(replace(parse_conversation(source, where), suite=suite))

    def models(self, tasks: Sequence[LiveTask]) -> Mapping[str, Callable[[], Model]]:
        return {"oracle": lambda: Oracle(tasks), "scripted": lambda: ScriptedUser(tasks)}

    def cast(self, settings: Settings) -> Mapping[str, str]:
        return {THE_USER: "scripted"}

    def settings(self, values: Mapping[str, Any]) -> Settings:
        return Settings(_TOOLTALK.settings({**values, "history": "recorded"}), values["max_rounds"])

    def ready(self, values: Mapping[str, Any]) -> "DynamicSetup":
        tooltalk = _TOOLTALK.ready({**values, "history": "recorded"})
        return DynamicSetup(tooltalk, self.settings(values))


class DynamicSetup:
    """ToolTalk's world and grader; each slot has a simulator of its own. `settings` are those of one arm."""

    def __init__(self, tooltalk: ToolTalkSetup, settings: Settings) -> None:
        self._tooltalk = tooltalk
        self._settings = settings
        self._simulators: dict[int, Simulator] = {}

    def of_arm(self, settings: Settings) -> "DynamicSetup":
        """How far a conversation may go depends on the arm (`rig.methods.offers.ByArm`)."""
        return DynamicSetup(self._tooltalk, settings)

    def meet(self, models: Mapping[str, Model]) -> None:
        """Tell the scripted user of the tools (`rig.methods.offers.Meeting`)."""
        user = models[THE_USER]
        if isinstance(user, ScriptedUser):
            user.toolbox = self._tooltalk.matcher.toolbox

    @property
    def fingerprint(self) -> JsonObject:
        return self._tooltalk.fingerprint

    @property
    def grader(self) -> Grading:
        grading = self._tooltalk.grader
        parts = {**grading.fingerprint, "dynamic_version": VERSION}
        return grading._replace(version=f"{grading.version}.{VERSION}", fingerprint=parts)

    def check(self, task: LiveTask, settings: Settings) -> None:
        self._tooltalk.check(task.conversation, settings.tooltalk)
        conversation = task.conversation
        if conversation.terms != ANY_WAY or any(call.optional for call in conversation.ground_truth):
            asked = "optional calls, an order, or calls that must not be made"
            raise RigError(f"{task.name}: asks for {asked}, which the method dynamic does not know of")

    def opening(self, task: LiveTask, settings: Settings, role: str) -> Request:
        return opening(task.conversation, settings, role)

    def start(self, task: LiveTask, settings: Settings, where: Where, emit: Emit, slot: int) -> Dialogue:
        stage = Stage(self._simulator(slot), self._tooltalk.matcher, where, emit)
        return Dialogue(task, settings, stage)

    def score(self, task: LiveTask, turns: Sequence[PlayedTurn]) -> Score:
        return judge(task, turns, self._simulator(0), self._tooltalk.matcher, self._settings)

    @property
    def simulator(self) -> Simulator:
        """Where calls are executed again (`rig.methods.offers.Executes`)."""
        return self._simulator(0)

    def worlds(self, task: LiveTask, played: Mapping[int, PlayedTurn]) -> Iterator[tuple[int, Snapshot]]:
        """The world goes on from the calls that were made, right or wrong."""
        simulator = self.simulator
        simulator.start(*task.conversation.start)
        world = simulator.snapshot()
        for number, turn in sorted(played.items()):
            yield number, world
            simulator.restore(world)
            for call in turn.executed:
                simulator.execute(call.call)
            world = simulator.snapshot()

    def _simulator(self, slot: int) -> Simulator:
        if slot not in self._simulators:
            known = self._tooltalk.simulator
            self._simulators[slot] = known.twin() if self._simulators else known
        return self._simulators[slot]


METHOD: Method = Dynamic()
