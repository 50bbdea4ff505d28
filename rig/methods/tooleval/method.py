"""ToolEval as a method: queries, ways of searching for answers, and what a run needs of both."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rig.calls import JsonObject
from rig.methods.base import Grading, Method, Option, Setup
from rig.methods.checking import Checked
from rig.methods.scripted import called
from rig.methods.tooleval import queries
from rig.methods.tooleval.episode import Search, path_of, replayed
from rig.methods.tooleval.judgement import DECLARATION, VERSION, AnswerJudge, check
from rig.methods.tooleval.prompt import ToolEvalSettings, offered, opening
from rig.methods.tooleval.queries import Query
from rig.metrics import Score
from rig.models import CallMessage, Prediction, Request
from rig.paths import CONVERSATIONS
from rig.solutions.solution import FINISH, GIVE_ANSWER
from rig.solutions.trajectory import Searched
from rig.tasks import ASSISTANT, PlayedTurn, Step
from rig.toolbox.own.find import find_toolbox
from rig.toolbox.simulator import Simulator


def next_call(query: Query, request: Request) -> Prediction:
    """The next of the query's own calls, in any kind of search, and at last its answer."""
    number = sum(isinstance(message, CallMessage) for message in request.messages)
    if number < len(query.calls):
        return called(query.calls[number].name, query.calls[number].arguments)
    return called(FINISH, {"return_type": GIVE_ANSWER, "final_answer": query.answer})


class ToolEval(Method):
    """An assistant works on a query alone, by a search, until it gives an answer (arXiv 2307.16789)."""

    name = "tooleval"
    declaration = DECLARATION
    options: tuple[Option, ...] = (
        Option("search", "cot@1", several=True),
        Option("offer", "plugins", several=True),
        Option("max_queries", 200),
        Option("toolbox", None, opens=True),
        Option("world", None, opens=True),
    )
    knowing: Mapping[str, str] = MappingProxyType({ASSISTANT: "oracle"})
    oracles = MappingProxyType({"oracle": next_call})
    episode = Search
    recognises = staticmethod(queries.holds_queries)
    load = staticmethod(queries.load)
    parse = staticmethod(queries.parse)

    def suites(self) -> Mapping[str, Path]:
        place = CONVERSATIONS / "queries"
        return {place.name: place} if place.is_dir() else {}

    def check(self, place: Path, world: Path | None = None, toolbox: str | None = None) -> Checked:
        return check(place, self.settings(_DEFAULTS))

    def settings(self, values: Mapping[str, Any]) -> ToolEvalSettings:
        toolbox = find_toolbox(values["toolbox"])
        return ToolEvalSettings(values["search"], values["offer"], values["max_queries"], toolbox)

    def opening(self, task: Query, settings: ToolEvalSettings, role: str) -> Request:
        return opening(task, settings)

    def ready(self, values: Mapping[str, Any]) -> "ToolEvalSetup":
        world = values["world"]
        return ToolEvalSetup(self, self.settings(values), None if world is None else Path(world))


class ToolEvalSetup(Setup):
    """A world for each slot in which a search is under way, and one in which answers are judged."""

    settings: ToolEvalSettings

    def __init__(self, method: Method, settings: ToolEvalSettings, world: Path | None) -> None:
        super().__init__(method, settings)
        self._world = world
        self._simulators: dict[int, Simulator] = {}
        self.judgement = AnswerJudge(lambda: self._opened.twin())

    @cached_property
    def _opened(self) -> Simulator:
        toolbox = self.settings.toolbox
        return Simulator(toolbox.world(self._world), toolbox)

    @cached_property
    def fingerprint(self) -> JsonObject:
        return {"world_sha256": self.settings.toolbox.world(self._world).sha256()}

    @property
    def grader(self) -> Grading:
        return Grading("world and facts", VERSION, "", {"mode": "world and facts", "version": VERSION})

    def check(self, task: Query, settings: ToolEvalSettings) -> None:
        offered(task, settings)
        self._opened.start(*task.start)

    def simulator_of(self, slot: int) -> Simulator:
        """The simulator of the episodes with this slot."""
        if slot not in self._simulators:
            self._simulators[slot] = self._opened.twin()
        return self._simulators[slot]

    def score(self, task: Query, turns: Sequence[PlayedTurn], settings: ToolEvalSettings) -> Score:
        return self.judgement.score(task, settings, turns)

    def path(self, task: Query, turns: Sequence[PlayedTurn], settings: ToolEvalSettings) -> Sequence[Step]:
        return path_of(replayed(settings, turns), turns)

    def searched(self, task: Query, turns: Sequence[PlayedTurn], settings: ToolEvalSettings) -> Searched:
        strategy, result = settings.strategy, replayed(settings, turns)
        kept = {node.step for root in result.roots for node in root.walk()}
        budget = settings.max_queries
        return Searched(strategy.method, kept, result.queries, strategy.width, strategy.ranks, budget)


METHOD: Method = ToolEval()

_DEFAULTS: Mapping[str, Any] = {option.name: option.default for option in ToolEval.options}
