"""ToolTalk as a method: its suites, its settings, and what a run needs of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rig.calls import JsonObject
from rig.episodes import ASSISTANT, PlayedTurn
from rig.errors import RigError
from rig.events import Emit, Where
from rig.methods.base import Grading, Method, Option
from rig.methods.offers import Report
from rig.methods.tooltalk.acting import Stage
from rig.methods.tooltalk.conversations import (
    OWN,
    Conversation,
    available_suites,
    holds_conversations,
    load_directory,
    parse_conversation,
)
from rig.methods.tooltalk.dialogue import Dialogue
from rig.methods.tooltalk.oracle import Oracle
from rig.methods.tooltalk.prompt import Settings, offered_tools, opening
from rig.methods.tooltalk.replay import replay, replayed_truths
from rig.methods.tooltalk.scoring.callers import name_truths
from rig.methods.tooltalk.scoring.judgement import Truths, judge
from rig.methods.tooltalk.scoring.metrics import DECLARATION, FORBIDDING
from rig.metrics import Declaration, Score
from rig.models import Model, Request
from rig.paths import CONVERSATIONS
from rig.scoring import Grader, Named, read_answers
from rig.scoring import load as load_similarity
from rig.toolbox.find import find_toolbox
from rig.toolbox.own.folder import holds_code, holds_toolbox
from rig.toolbox.simulator import Simulator
from rig.toolbox.toolbox import Toolbox
from rig.toolbox.world import Snapshot, World
from rig.tooltalk import TOOLTALK
from rig.tooltalk.registry import open_world

_MOST_REPLAYED = 500
"""Conversations whose ground truth is kept once it was executed; some 10 KB each."""


class ToolTalk:
    """A model gets true histories, turn by turn (arXiv 2311.10775)."""

    name = "tooltalk"
    declaration = DECLARATION
    roles: tuple[str, ...] = (ASSISTANT,)
    knowing: Mapping[str, str] = MappingProxyType({ASSISTANT: "oracle"})
    options: tuple[Option, ...] = (
        Option("docs", "full", several=True),
        Option("tools", "all", several=True),
        Option("history", "recorded", several=True),
        Option("max_calls", 10),
        Option("toolbox", None, opens=True),
        Option("world", None, opens=True),
        Option("grader", "default"),
        Option("similarity", "minilm", opens=True),
    )

    def suites(self) -> Mapping[str, Path]:
        return {name: CONVERSATIONS / name for name in available_suites()}

    def recognises(self, place: Path) -> bool:
        return place.is_dir() and holds_conversations(place)

    def load(self, place: Path) -> Sequence[Conversation]:
        return load_directory(place)

    def parse(self, source: JsonObject, where: str, suite: str) -> Conversation:
        return replace(parse_conversation(source, where), suite=suite)

    def declaration_of(self, tasks: Sequence[Conversation]) -> Declaration:
        """Calls that must not be made are counted where there are any (`rig.methods.offers.Declares`)."""
        return FORBIDDING if any(task.terms.forbidden for task in tasks) else DECLARATION

    def check(self, place: Path, world: Path | None = None, toolbox: str | None = None) -> Report:
        # Kept from runs: what only these need takes a moment to load.
        from rig.methods.tooltalk.check import check_directory, check_own

        own = _own_toolbox(place, toolbox)
        return check_directory(place, open_world(world), TOOLTALK) if own is None else check_own(place, own)

    def record(self, place: Path, world: Path | None = None, toolbox: str | None = None) -> Sequence[Path]:
        from rig.methods.tooltalk.check import record_directory, record_own

        own = _own_toolbox(place, toolbox)
        return record_directory(place, open_world(world), TOOLTALK) if own is None else record_own(place, own)

    def models(self, tasks: Sequence[Conversation]) -> Mapping[str, Callable[[], Model]]:
        return {"oracle": lambda: Oracle(tasks)}

    def settings(self, values: Mapping[str, Any]) -> Settings:
        own = {name: values[name] for name in ("docs", "tools", "history", "max_calls")}
        return Settings(**own, toolbox=find_toolbox(values["toolbox"]))

    def ready(self, values: Mapping[str, Any]) -> "ToolTalkSetup":
        place, similarity = values["world"], values["similarity"]
        toolbox = find_toolbox(values["toolbox"])
        return ToolTalkSetup(
            partial(toolbox.world, None if place is None else Path(place)),
            Grader(values["grader"], load_similarity(similarity), toolbox),
            str(Named.parse(similarity).absolute),
            is_named=place is not None,
        )


METHOD: Method = ToolTalk()


def _own_toolbox(place: Path, toolbox: str | None) -> Toolbox | None:
    """The toolbox that conversations are for, None for ToolTalk's; a folder's own where it is data alone.

    Raises RigError if it is code that nobody named.
    """
    if toolbox is not None:
        found = find_toolbox(toolbox)
        return None if found is TOOLTALK else found
    for folder in (place, place.parent):
        if holds_toolbox(folder) and (folder is place or place.name == OWN):
            if holds_code(folder):
                raise RigError(
                    f"{folder}: its tools are code, which is run when you name it: --toolbox {folder}"
                )
            return find_toolbox(str(folder))
    return None


def _check_calls(task: Conversation, toolbox: Toolbox) -> None:
    """Raise RigError for a true call that no tool takes; of tools of one's own also by its arguments."""
    forbidden = {name for turn in task.turns for name in turn.forbidden}
    for name in (*(call.name for call in task.ground_truth), *sorted(forbidden)):
        if name not in toolbox.tools:
            raise RigError(f"no tool is named {name} in {toolbox.name} (tools of your own: --toolbox DIR)")
    for call in () if toolbox is TOOLTALK else task.ground_truth:
        tool = toolbox.tools[call.name]
        known = {*tool.parameters["properties"], *tool.injected}
        unknown = next((name for name in call.arguments if name not in known), None)
        if unknown is not None:
            raise RigError(f"{call.name} has no argument {unknown}, so that no model could make this call")


class ToolTalkSetup:
    """A world that is restored before every turn, and a grader with the `similarity` it was asked for.

    The world is opened when it is first needed. That raises RigError where it cannot be had. `is_named` says
    that it was asked for by name: files of predictions do not say in which world they were made, so that
    without a name what they recorded is all there is to hold them against.
    """

    def __init__(
        self, open_world: Callable[[], World], matcher: Grader, similarity: str, *, is_named: bool = False
    ) -> None:
        self._open_world = open_world
        self._is_named = is_named
        self._as_recorded = False
        self._simulators: dict[int, Simulator] = {}
        self._replayed: dict[int, tuple[Conversation, Truths]] = {}
        self._similarity = similarity
        self.matcher = matcher

    @cached_property
    def _opened(self) -> tuple[World, str]:
        """The world, and a hash of it as it is before anything happens in it."""
        world = self._open_world()
        return world, world.sha256()

    @cached_property
    def simulator(self) -> Simulator:
        """Where calls are executed: by ToolTalk's ways if they are matched by them."""
        matcher = self.matcher
        return Simulator(self._opened[0], matcher.toolbox, upstream_compat=matcher.mode == "upstream")

    @property
    def fingerprint(self) -> JsonObject:
        return {"world_sha256": self._opened[1]}

    @property
    def grader(self) -> Grading:
        matcher = self.matcher
        rules = matcher.toolbox.rules_sha256
        similarity = f"{self._similarity}, rules {rules[:8]}" if rules else self._similarity
        return Grading(matcher.mode, matcher.version, similarity, dict(matcher.fingerprint))

    def adjudicated(self, answers: Path) -> "ToolTalkSetup":
        said = read_answers(answers)
        matcher = self.matcher.adjudicated(said)
        if matcher is self.matcher:
            return self
        similarity = f"{self._similarity}, answers {said.sha256[:8]}"
        return ToolTalkSetup(self._open_world, matcher, similarity, is_named=self._is_named)

    def check(self, task: Conversation, settings: Settings) -> None:
        offered_tools(task, settings)
        if self.matcher.mode == "upstream" and not task.is_plain:
            raise RigError(f"{task.name}: has rules for its calls, which --grader upstream does not know of")
        try:
            _check_calls(task, settings.toolbox)
            self.simulator.start(*task.start)
        except RigError as error:
            raise RigError(f"{task.name}: {error}") from error

    def opening(self, task: Conversation, settings: Settings, role: str) -> Request:
        return opening(task, settings)

    def start(self, task: Conversation, settings: Settings, where: Where, emit: Emit, slot: int) -> Dialogue:
        if slot not in self._simulators:
            self._simulators[slot] = self.simulator.twin() if self._simulators else self.simulator
        return Dialogue(task, settings, Stage(self._simulators[slot], self.matcher, where, emit))

    def score(self, task: Conversation, turns: Sequence[PlayedTurn]) -> Score:
        return judge(task, turns, self._truths(task), self.matcher)

    def _truths(self, task: Conversation) -> Truths:
        """What predictions are checked against. A run's repeats share it, so it is kept for some tasks."""
        if self._as_recorded:
            return name_truths(task, self.matcher.toolbox)
        known, truths = self._replayed.get(id(task), (None, ()))
        if known is not task:
            truths = tuple(replayed_truths(task, self.simulator, self.matcher))
            if len(self._replayed) >= _MOST_REPLAYED:
                self._replayed.pop(next(iter(self._replayed)))
            self._replayed[id(task)] = task, truths
        return truths

    def worlds(self, task: Conversation, played: Mapping[int, PlayedTurn]) -> Iterator[tuple[int, Snapshot]]:
        """Every turn begins in the true world, no matter what was played."""
        return ((turn.position, turn.world) for turn in replay(task, self.simulator))

    def hold_to_recorded(self) -> None:
        """Hold predictions against what files have recorded, unless a world was asked for by name."""
        self._as_recorded = not self._is_named
