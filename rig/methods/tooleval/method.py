"""ToolEval as a method: queries, ways of searching for answers, and what a run needs of both."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from rig.calls import JsonObject
from rig.episodes import ASSISTANT, PlayedTurn, Step
from rig.events import Emit, Where
from rig.methods.base import Grading, Method, Option
from rig.methods.offers import Checked
from rig.methods.tooleval.check import check
from rig.methods.tooleval.episode import Search
from rig.methods.tooleval.judgement import DECLARATION, VERSION, Judgement
from rig.methods.tooleval.oracle import Oracle
from rig.methods.tooleval.prompt import Settings, offered, opening
from rig.methods.tooleval.queries import Query, holds_queries, load, parse
from rig.methods.tooleval.steps import path_of, replayed
from rig.metrics import Score
from rig.models import Model, Request
from rig.paths import CONVERSATIONS
from rig.solutions.trajectory import Searched
from rig.toolbox.find import find_toolbox
from rig.toolbox.simulator import Simulator


class ToolEval:
    """An assistant works on a query alone, by a search, until it gives an answer (arXiv 2307.16789)."""

    name = "tooleval"
    declaration = DECLARATION
    roles: tuple[str, ...] = (ASSISTANT,)
    options: tuple[Option, ...] = (
        Option("search", "cot@1", several=True),
        Option("offer", "plugins", several=True),
        Option("max_queries", 200),
        Option("toolbox", None, opens=True),
        Option("world", None, opens=True),
    )
    knowing: Mapping[str, str] = {ASSISTANT: "oracle"}

    def suites(self) -> Mapping[str, Path]:
        place = CONVERSATIONS / "queries"
        return {place.name: place} if place.is_dir() else {}

    def recognises(self, place: Path) -> bool:
        return holds_queries(place)

    def load(self, place: Path) -> Sequence[Query]:
        return load(place)

    def parse(self, source: JsonObject, where: str, suite: str) -> Query:
        return parse(source, where, suite)

    def check(self, place: Path) -> Checked:
        return check(place, self.settings(_DEFAULTS))

    def models(self, tasks: Sequence[Query]) -> Mapping[str, Callable[[], Model]]:
        return {"oracle": lambda: Oracle(tasks)}

    def settings(self, values: Mapping[str, Any]) -> Settings:
        toolbox = find_toolbox(values["toolbox"])
        return Settings(values["search"], values["offer"], values["max_queries"], toolbox)

    def ready(self, values: Mapping[str, Any]) -> "ToolEvalSetup":
        world = values["world"]
        return ToolEvalSetup(self.settings(values), None if world is None else Path(world))


METHOD: Method = ToolEval()

_DEFAULTS: Mapping[str, Any] = {option.name: option.default for option in ToolEval.options}


class ToolEvalSetup:
    """A world for each slot in which a search is under way, and one in which answers are judged."""

    def __init__(self, settings: Settings, world: Path | None) -> None:
        self._settings = settings
        self._world = world
        self._simulators: dict[int, Simulator] = {}
        self.judgement = Judgement(self._twin)

    def _twin(self) -> Simulator:
        return self._opened.twin()

    @cached_property
    def _opened(self) -> Simulator:
        toolbox = self._settings.toolbox
        return Simulator(toolbox.world(self._world), toolbox)

    @cached_property
    def _world_sha256(self) -> str:
        return self._settings.toolbox.world(self._world).sha256()

    @property
    def fingerprint(self) -> JsonObject:
        return {"world_sha256": self._world_sha256}

    @property
    def grader(self) -> Grading:
        return Grading("world and facts", VERSION, "", {"mode": "world and facts", "version": VERSION})

    def of_arm(self, settings: Settings) -> "ToolEvalSetup":
        """The same for the arm with these settings (`rig.methods.offers.ByArm`)."""
        return ToolEvalSetup(settings, self._world)

    def check(self, task: Query, settings: Settings) -> None:
        offered(task, settings)
        self._opened.start(*task.start)

    def opening(self, task: Query, settings: Settings, role: str) -> Request:
        return opening(task, settings)

    def start(self, task: Query, settings: Settings, where: Where, emit: Emit, slot: int) -> Search:
        if slot not in self._simulators:
            self._simulators[slot] = self._opened.twin()
        return Search(task, settings, self._simulators[slot], self.judgement, where, emit)

    def score(self, task: Query, turns: Sequence[PlayedTurn]) -> Score:
        return self.judgement.score(task, self._settings, turns)

    def path(self, task: Query, turns: Sequence[PlayedTurn]) -> Sequence[Step]:
        """The steps that lead to the answer (`rig.methods.offers.Solving`)."""
        return path_of(replayed(self._settings, turns), turns)

    def searched(self, task: Query, turns: Sequence[PlayedTurn]) -> Searched:
        """The result of a search (`rig.methods.offers.Searching`)."""
        strategy, found = self._settings.strategy, replayed(self._settings, turns)
        kept = {node.step for root in found.roots for node in root.walk()}
        budget = self._settings.max_queries
        return Searched(strategy.method, kept, found.queries, strategy.width, strategy.ranks, budget)
