"""ToolTalk as a method: its suites, its settings, and what a run needs of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rig.calls import JsonObject
from rig.conversations import Conversation, available_suites, load_directory, parse_conversation
from rig.episodes import ASSISTANT, PlayedTurn
from rig.errors import RigError
from rig.events import Emit, Where
from rig.methods.base import Grading, Option
from rig.methods.tooltalk.callers import name_truths
from rig.methods.tooltalk.dialogue import Dialogue
from rig.methods.tooltalk.judgement import judge
from rig.methods.tooltalk.metrics import DECLARATION
from rig.methods.tooltalk.oracle import Oracle
from rig.methods.tooltalk.prompt import Settings, offered_tools, opening
from rig.metrics import Score
from rig.models import Model, Request
from rig.paths import CONVERSATIONS
from rig.scoring import Grader, Named
from rig.scoring import load as load_similarity
from rig.toolbox.find import find_toolbox
from rig.toolbox.simulator import Simulator


class ToolTalk:
    """True histories are put to a model, turn by turn (arXiv 2311.10775)."""

    name = "tooltalk"
    declaration = DECLARATION
    roles: tuple[str, ...] = (ASSISTANT,)
    options: tuple[Option, ...] = (
        Option("docs", "full", several=True),
        Option("tools", "all", several=True),
        Option("history", "recorded", several=True),
        Option("max_calls", 10),
        Option("toolbox", None),
        Option("world", None),
        Option("grader", "default"),
        Option("similarity", "minilm"),
    )

    def suites(self) -> Mapping[str, Path]:
        return {name: CONVERSATIONS / name for name in available_suites()}

    def recognises(self, place: Path) -> bool:
        return place.is_dir() and next(place.glob("*.json"), None) is not None

    def load(self, place: Path) -> Sequence[Conversation]:
        return load_directory(place)

    def parse(self, source: JsonObject, where: str, suite: str) -> Conversation:
        return replace(parse_conversation(source, where), suite=suite)

    def models(self, tasks: Sequence[Conversation]) -> Mapping[str, Callable[[], Model]]:
        return {"oracle": lambda: Oracle(tasks)}

    def settings(self, values: Mapping[str, Any]) -> Settings:
        own = {name: values[name] for name in ("docs", "tools", "history", "max_calls")}
        return Settings(**own, toolbox=find_toolbox(values["toolbox"]))

    def ready(self, values: Mapping[str, Any]) -> "ToolTalkSetup":
        given, similarity = values["world"], values["similarity"]
        toolbox = find_toolbox(values["toolbox"])
        world = toolbox.world(None if given is None else Path(given))
        return ToolTalkSetup(
            Simulator(world, toolbox, upstream_compat=values["grader"] == "upstream"),
            Grader(values["grader"], load_similarity(similarity), toolbox),
            str(Named.parse(similarity).absolute),
            world.sha256(),
        )


class ToolTalkSetup:
    """A world that is restored before every turn, and a grader with the `similarity` it was asked for."""

    def __init__(self, simulator: Simulator, grader: Grader, similarity: str, world_sha256: str) -> None:
        self._simulators = {0: simulator}
        self._grader = grader
        self._similarity = similarity
        self._world_sha256 = world_sha256

    @property
    def fingerprint(self) -> JsonObject:
        return {"world_sha256": self._world_sha256}

    @property
    def grader(self) -> Grading:
        grader = self._grader
        return Grading(grader.mode, grader.version, self._similarity, dict(grader.fingerprint))

    def check(self, task: Conversation, settings: Settings) -> None:
        offered_tools(task, settings)
        try:
            settings.toolbox.docs([call.name for call in task.ground_truth])
            self._simulators[0].start(*task.start)
        except RigError as error:
            raise RigError(f"{task.name}: {error}") from error

    def opening(self, task: Conversation, settings: Settings, role: str) -> Request:
        return opening(task, settings)

    def start(self, task: Conversation, settings: Settings, where: Where, emit: Emit, slot: int) -> Dialogue:
        if slot not in self._simulators:
            self._simulators[slot] = self._simulators[0].twin()
        return Dialogue(task, self._simulators[slot], self._grader, settings, where=where, emit=emit)

    def score(self, task: Conversation, turns: Sequence[PlayedTurn]) -> Score:
        return judge(task, turns, name_truths(task, self._grader.toolbox), self._grader)
