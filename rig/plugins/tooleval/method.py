"""ToolEval as a method: what a run needs of queries and searches, and whether an answer is right.

An answer passes if it was given with Finish, the world ended as the query's own calls leave it, and the final
answer names every fact. There is no judge. Queries are checked in the same way: their own calls and answers
must pass.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

from rig.config.options import shared
from rig.config.schemes import ServerUse
from rig.core.calls import Call, CallPlace, Doubt, ExecutedCall, Json, JsonObject, Outcome, without_token
from rig.core.errors import RigError
from rig.core.metrics import TASKS, Counts, Declaration, Metric, NamedCount, Part, Score
from rig.core.models import CallMessage, Prediction, Request
from rig.core.tasks import ASSISTANT, PlayedTurn, SearchPath, Step
from rig.methods.base import Checked, Grading, Method, Option, Setup
from rig.methods.scripted import called
from rig.plugins.matching import worlds
from rig.plugins.matching.worlds import RecordChange
from rig.plugins.solutions.setup import SolutionSetup
from rig.plugins.solutions.solution import FINISH, GIVE_ANSWER, Searched, search_path
from rig.plugins.tooleval import queries
from rig.plugins.tooleval.episode import Search, calls_of, path_of, replayed
from rig.plugins.tooleval.queries import Query, ToolEvalSettings, Tools, names, offered, opening, plain
from rig.world.toolbox import Simulator, Toolbox, find_toolbox
from rig.world.world import Snapshot

VERSION = "2"
"""The version of the scores; raise it with any change that can change one."""

DECLARATION = Declaration(
    method="tooleval",
    metrics=(
        Metric("true_pass_rate", "true pass rate", "passes"),
        Metric("answer_rate", "answered", "answered", place="meters"),
        Metric("world_rate", "world as wanted", "world_right", place="meters"),
        Metric("fact_rate", "facts named", "facts_named", "facts", place="tables"),
        Metric("give_up_rate", "gave up", "gave_up", better="lower", place="tables"),
        Metric("harm_rate", "world changed otherwise", "harmed", better="lower", place="tables"),
        Metric("invented_rate", "invented tool names", "invented", better="lower", place="tables"),
        Metric("failed_calls", "failed calls", "calls_failed", "calls", "lower", place="tables"),
        Metric("queries", "questions to the model", "queries", TASKS, "lower", "number", place="tables"),
        Metric("tree_size", "nodes", "nodes", TASKS, "lower", "number", place="tables"),
        Metric("budget_rate", "out of budget", "out_of_budget", better="lower", place="tables"),
    ),
    success="passes",
    counts=(NamedCount("queries", "questions"),),
    outcome=(
        Part("facts_named", "facts named", "facts", short="facts"),
        Part("world_wrong", "world not as wanted", short="world", better="lower"),
        Part("unanswered", "no answer", better="lower"),
    ),
)

Change = tuple[Any, ...]


def final_words(step: Step) -> str:
    """Return the final answer that a step called Finish with; empty if there is none."""
    arguments = step.prediction.call.arguments if step.prediction.call else None
    words = arguments.get("final_answer") if isinstance(arguments, dict) else None
    return words if isinstance(words, str) else ""


def _change(change: RecordChange) -> Change:
    """Return a change in comparable form: without ids if the record is new, and texts by their words."""
    kept = (column for column in change.columns if not _is_id(column.name))
    columns = tuple(sorted((column.name, _plain(column.after)) for column in kept))
    key = () if change.kind == "added" else tuple((name, repr(value)) for name, value in change.key)
    owner = tuple((name, repr(value)) for name, value in change.key if not _is_id(name))
    return change.table, change.kind, key, owner, columns


def _is_id(name: str) -> bool:
    return name == "id" or name.endswith("_id")


def _plain(value: Json) -> str:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return repr(sorted(map(_plain, value)))
    if isinstance(value, dict):
        return repr(sorted((name, _plain(member)) for name, member in value.items()))
    return repr(value)


def _faults(query: Query, setup: "ToolEvalSetup") -> Iterator[str]:
    """Yield the faults of a readable query.

    Every call must be on offer and succeed. The answer must name every fact, and the query none. Without
    facts and actions, any answer would be right.
    """
    settings, simulator = setup.settings, setup.simulator_of(0)
    on_offer = {tool.name for tool in offered(query, settings)}
    simulator.start(*query.start)
    for call in query.calls:
        if call.name not in on_offer:
            yield f"{call.name} is not on offer"
        executed = simulator.execute(call)
        if executed.exception is not None:
            yield f"{call.name} fails: {executed.exception}"
    for ways in query.named:
        if not names(query.answer, ways):
            yield f"the answer does not name {' or '.join(ways)}"
    for ways in query.named:
        if names(query.query, ways):
            yield f"the query gives {' or '.join(ways)} away"
    acts = any(settings.toolbox.is_action(call.name) for call in query.calls)
    if not acts and not query.named:
        yield "it wants no action and no fact"
    if acts and not setup.due(query):
        yield "its actions change nothing"


def next_call(query: Query, request: Request) -> Prediction:
    """Predict the next of the query's own calls, in any kind of search, and finally its answer."""
    number = sum(isinstance(message, CallMessage) for message in request.messages)
    if number < len(query.calls):
        return called(query.calls[number].name, query.calls[number].arguments)
    return called(FINISH, {"return_type": GIVE_ANSWER, "final_answer": query.answer})


class ToolEval(Method):
    """An assistant works on a query alone, by a search, until it gives an answer (arXiv 2307.16789)."""

    name = "tooleval"
    declaration = DECLARATION
    options: tuple[Option, ...] = (
        *shared("toolbox", "servers", "server_network", "world"),
        Option("search", "cot@1", several=True),
        Option("offer", "plugins", several=True, choices=get_args(Tools)),
        Option("max_queries", 200, least=1),
    )
    knowing: Mapping[str, str] = MappingProxyType({ASSISTANT: "oracle"})
    oracles = MappingProxyType({"oracle": next_call})
    episode = Search
    shipped = ("queries",)
    recognises = staticmethod(queries.holds_queries)
    load = staticmethod(queries.load)
    parse = staticmethod(queries.parse)

    def check(self, place: Path, world: Path | None = None, toolbox: Toolbox | None = None) -> Checked:
        try:
            tasks = queries.load(place)
        except RigError as error:
            return Checked(place, 0, (str(error),))
        setup, faults = self.ready(_DEFAULTS), list[str]()
        for query in tasks:
            try:
                faults += [f"{query.name}: {fault}" for fault in _faults(query, setup)]
            except RigError as error:
                faults.append(f"{query.name}: {error}")
        return Checked(place, len(tasks), tuple(faults))

    def settings(self, values: Mapping[str, Any]) -> ToolEvalSettings:
        toolbox = find_toolbox(values["toolbox"], ServerUse.of(values))
        return ToolEvalSettings(values["search"], values["offer"], values["max_queries"], toolbox)

    def opening(self, task: Query, settings: ToolEvalSettings, role: str) -> Request:
        return opening(task, settings)

    def ready(self, values: Mapping[str, Any]) -> "ToolEvalSetup":
        world = values["world"]
        return ToolEvalSetup(self, self.settings(values), None if world is None else Path(world))

    def path(self, task: Query, turns: Sequence[PlayedTurn], settings: ToolEvalSettings) -> SearchPath:
        return search_path(path_of(replayed(settings, turns), turns))


class ToolEvalSetup(SolutionSetup, Setup):
    """The setup for searches: a world for each slot, and one for judging answers."""

    settings: ToolEvalSettings

    def __init__(self, method: Method, settings: ToolEvalSettings, world: Path | None) -> None:
        super().__init__(method, settings)
        self._world = world
        self.simulator_of = cache(lambda _slot: self._opened.twin())
        """Returns the simulator of the episodes with this slot."""
        self._due: dict[str, Counter[Change]] = {}

    @cached_property
    def _opened(self) -> Simulator:
        toolbox = self.settings.toolbox
        return Simulator(toolbox.world(self._world), toolbox)

    @cached_property
    def _judging(self) -> Simulator:
        return self._opened.twin()

    @cached_property
    def fingerprint(self) -> JsonObject:
        return {"world_sha256": self.settings.toolbox.world(self._world).sha256()}

    @property
    def grader(self) -> Grading:
        return Grading("world and facts", VERSION, "", {"mode": "world and facts", "version": VERSION})

    def check(self, task: Query, settings: ToolEvalSettings) -> None:
        offered(task, settings)
        self._opened.start(*task.start)

    def searched(self, task: Query, turns: Sequence[PlayedTurn], settings: ToolEvalSettings) -> Searched:
        strategy, result = settings.strategy, replayed(settings, turns)
        kept = {node.step for root in result.roots for node in root.walk()}
        budget = settings.max_queries
        return Searched(strategy.method, kept, result.queries, strategy.width, strategy.ranks, budget)

    def score(self, task: Query, turns: Sequence[PlayedTurn], settings: ToolEvalSettings) -> Score:
        """Score a search by its answer, the world it left, and the facts it names."""
        result = replayed(settings, turns)
        path = path_of(result, turns)
        is_answered = bool(result.terminals)
        answer = final_words(path[-1]) if is_answered else ""
        changes, due = self.changes(task, list(calls_of(path))), self.due(task)
        is_right = changes == due
        verdicts = [names(answer, ways, task.answer) for ways in task.named]
        named, unclear = verdicts.count(True), verdicts.count(None)
        passes = is_answered and is_right and named == len(task.named)
        could_pass = is_answered and is_right and named + unclear == len(task.named)
        counts: Counts = {
            "passes": int(passes),
            "answered": int(is_answered),
            "unanswered": int(not is_answered),
            "gave_up": int(bool(result.given_up)),
            "world_right": int(is_right),
            "world_wrong": int(not is_right),
            "harmed": int(bool(changes - due)),
            "facts": len(task.named),
            "facts_named": named,
            **self._call_counts([step for turn in turns for step in turn.steps]),
            "queries": result.queries,
            "nodes": result.size,
            "longest": result.longest,
            "out_of_budget": int(result.last > 10_000),
        }
        doubts = tuple(
            Doubt(0, 0, CallPlace(0, number), FINISH, "final_answer", " or ".join(ways), answer, "fact")
            for number, (ways, verdict) in enumerate(zip(task.named, verdicts, strict=True))
            if verdict is None
        )
        # By how much the counts grow if the answer names the facts of which that is unclear.
        more = {"facts_named": unclear, "passes": could_pass - passes}
        return Score(counts, doubts=doubts, unclear=more)

    def _call_counts(self, steps: Sequence[Step]) -> Counts:
        """Count the calls of all branches of a search, those that failed, and whether a tool was invented."""
        calls = list(calls_of(steps))
        return {
            "calls": len(calls),
            "calls_failed": sum(call.exception is not None for call in calls),
            "invented": int(any(call.name not in self.settings.toolbox.tools for call in calls)),
        }

    def due(self, query: Query) -> Counter[Change]:
        """Return the changes of the world that the query's own calls make."""
        if query.name not in self._due:
            calls = [ExecutedCall(call, Outcome()) for call in query.calls]
            self._due[query.name] = self.changes(query, calls)
        return self._due[query.name]

    def changes(self, query: Query, calls: Sequence[ExecutedCall]) -> Counter[Change]:
        """Return how the world differs after these calls, ignoring drawn ids, and what was sent.

        A change that was made twice counts twice: two equal alarms differ from one.

        An action that leaves no record, such as sending a message, counts by its arguments. An update that is
        repeated changes nothing more, and does not count again.
        """
        simulator = self._judging
        simulator.start(*query.start)
        before = last = simulator.snapshot()
        sent: Counter[Change] = Counter()
        recorded: set[Change] = set()
        for call in calls:
            if not self.settings.toolbox.is_action(call.name):
                continue
            done = simulator.execute(Call(call.name, without_token(call.arguments)))
            action = ("sent", call.name, _plain(without_token(call.arguments)))
            now = simulator.snapshot()
            if action not in recorded:
                if self._records(last, now):
                    recorded.add(action)
                elif done.exception is None:
                    sent[action] += 1
            last = now
        return self._records(before, last) + sent

    def _records(self, before: Snapshot, after: Snapshot) -> Counter[Change]:
        """Return the changes of records between two snapshots, however many."""
        difference = worlds.diff(self._judging, before, after, limit=None)
        return Counter(_change(change) for change in difference.changes if not change.is_bookkeeping)


METHOD: Method = ToolEval()

_DEFAULTS: Mapping[str, Any] = {option.name: option.default for option in ToolEval.options}
