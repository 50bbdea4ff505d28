"""What a run of ToolTalk needs: a world that is restored before every turn, and a grader."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

from rig.config.schemes import ServerUse
from rig.core.calls import CallPlace, ExecutedCall, JsonObject
from rig.core.errors import RigError
from rig.core.metrics import Score
from rig.core.tasks import PlayedTurn
from rig.methods.base import Grading, Method, Setup
from rig.plugins.matching.matching import Grader, Terms
from rig.plugins.matching.rules import rules_sha256
from rig.plugins.mcp.cassette import NOT_RECORDED
from rig.plugins.stress.dial import Presentation, offering
from rig.plugins.tooltalk.conversations import Conversation, Turn
from rig.plugins.tooltalk.faults import Truths
from rig.plugins.tooltalk.prompt import ToolTalkSettings, presented
from rig.plugins.tooltalk.scoring import judge, name_truths, unmet
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.scoring import Adjudicated, NamedMeasure, read_answers
from rig.scoring import load as load_similarity
from rig.world.rules import TrueCall
from rig.world.toolbox import Simulator, Toolbox, find_toolbox
from rig.world.world import Snapshot, World


class TrueTurn(NamedTuple):
    """A turn and its position, the world before it, and its ground-truth calls executed in that world."""

    position: int
    turn: Turn
    world: Snapshot
    calls: tuple[ExecutedCall, ...]


def replay(conversation: Conversation, simulator: Simulator) -> Iterator[TrueTurn]:
    """Yield every turn of a conversation, from its start. Raises RigError if it cannot start in this world.

    Upstream rebuilds the world and replays all earlier calls at every turn; a snapshot per turn gives the
    same states in linear time. The caller may act in the simulator between two turns; that is undone.
    """
    simulator.start(*conversation.start, recorded=conversation.ground_truth)
    world = simulator.snapshot()
    for index, turn in enumerate(conversation.turns):
        before = world
        calls: tuple[ExecutedCall, ...] = ()
        if turn.calls:
            simulator.restore(world)
            calls = tuple(simulator.execute(truth.call) for truth in turn.calls)
            world = simulator.snapshot()
        yield TrueTurn(index, turn, before, calls)


def decisive(recorded: TrueCall, replayed: ExecutedCall, grader: Grader) -> TrueCall:
    """Return the true call that predictions are checked against: with the simulator's response, so that a
    model that makes the same call is right, no matter what was recorded. Upstream trusts the recording.
    """
    named = replace(recorded, username=replayed.username)
    if grader.mode == "upstream":
        return named
    return replace(named, call=replayed.call, outcome=replayed.outcome)


def replayed_truths(
    conversation: Conversation, simulator: Simulator, grader: Grader
) -> list[tuple[CallPlace, ExecutedCall]]:
    """Return the true calls by (turn, call). Raises RigError if the conversation cannot start here."""
    return [
        (CallPlace(index, number), decisive(recorded, replayed, grader))
        for index, turn, _, calls in replay(conversation, simulator)
        for number, (recorded, replayed) in enumerate(zip(turn.calls, calls, strict=True))
    ]


_MOST_REPLAYED = 500
"""How many conversations' executed ground truth is kept in memory, at some 10 KB each."""


def _check_calls(task: Conversation, toolbox: Toolbox) -> None:
    """Raise RigError for a true call without a tool, or, with your own tools, with an unknown argument."""
    forbidden = {name for turn in task.turns for name in turn.forbidden}
    for name in (*(call.name for call in task.ground_truth), *sorted(forbidden)):
        if name not in toolbox.tools:
            folder = f"its folder has tools: --toolbox {task.folder}"
            hint = folder if task.folder else "tools of your own: --toolbox DIR"
            raise RigError(f"no tool is named {name} in {toolbox.name} ({hint})")
    for call in () if toolbox is TOOLTALK else task.ground_truth:
        tool = toolbox.tools[call.name]
        parameters = {*tool.parameters["properties"], *tool.injected}
        unknown = next((name for name in call.arguments if name not in parameters), None)
        if unknown is not None:
            raise RigError(f"{call.name} has no argument {unknown}, so that no model could make this call")


class WorldSetup(Setup):
    """A world that is restored before every turn, and a grader with the requested `similarity`.

    The world is opened on first use, which raises RigError if that fails.
    """

    has_world = True

    def __init__(self, method: Method, values: Mapping[str, Any]) -> None:
        super().__init__(method, method.settings(values))
        self._place = None if values["world"] is None else Path(values["world"])
        self._simulators: dict[int, Simulator] = {}
        similarity = values["similarity"]
        named, measure = str(NamedMeasure.parse(similarity).absolute), load_similarity(similarity)
        if values.get("reader") is not None:
            if values["grader"] == "upstream" or named == "exact":
                raise RigError(
                    "--reader has no effect with --grader upstream or --similarity exact; leave it out"
                )
            from rig.plugins.similarity.readers import measured, open_reader

            reader = measured(open_reader(values["reader"]))
            named, measure = f"{named}, {reader}", Adjudicated(measure, reader=reader)
        self._similarity = named
        self.matcher = Grader(
            values["grader"], measure, find_toolbox(values["toolbox"], ServerUse.of(values))
        )

    @cached_property
    def _opened(self) -> tuple[World, str]:
        """The world, and its hash before anything happens in it."""
        world = self.matcher.toolbox.world(self._place)
        return world, world.sha256()

    @cached_property
    def simulator(self) -> Simulator:
        """The simulator that executes calls, in ToolTalk's ways if the grader is `upstream`."""
        matcher = self.matcher
        return Simulator(self._opened[0], matcher.toolbox, upstream_compat=matcher.mode == "upstream")

    @property
    def fingerprint(self) -> JsonObject:
        return {"world_sha256": self._opened[1]}

    @property
    def grader(self) -> Grading:
        matcher = self.matcher
        rules = rules_sha256(matcher.toolbox)
        similarity = f"{self._similarity}, rules {rules[:8]}" if rules else self._similarity
        return Grading(matcher.mode, matcher.version, similarity, dict(matcher.fingerprint))

    def simulator_of(self, slot: int) -> Simulator:
        """Return the simulator of the episodes with this slot."""
        if slot not in self._simulators:
            self._simulators[slot] = self.simulator.twin() if self._simulators else self.simulator
        return self._simulators[slot]

    def grader_of(self, presentation: Presentation) -> Grader:
        """Return the grader for calls with the presentation's distractors on offer."""
        if presentation.distractors is None:
            return self.matcher
        return self.matcher.of(offering(self.matcher.toolbox, presentation.distractors))

    def adjudicated(self, answers: Path) -> Self:
        opinions = read_answers(answers)
        matcher = self.matcher.adjudicated(opinions)
        if matcher is self.matcher:
            return self
        adjudicated = copy(self)
        adjudicated.matcher = matcher
        adjudicated._similarity = f"{self._similarity}, answers {opinions.sha256[:8]}"
        return adjudicated

    def require(self, conversation: Conversation, settings: ToolTalkSettings) -> None:
        """Raise RigError if a conversation cannot be played in this world, or scored by this grader."""
        presented(conversation, settings)
        self.require_known(conversation)
        try:
            _check_calls(conversation, settings.toolbox)
            self.simulator.start(*conversation.start)
        except RigError as error:
            raise RigError(f"{conversation.name}: {error}") from error
        if settings.toolbox.fingerprint.get("servers") == "replay":
            for _, truth in replayed_truths(conversation, self.simulator, self.matcher):
                if truth.exception == NOT_RECORDED:
                    raise RigError(
                        f"{conversation.name}: nobody recorded what {truth.name} answers to a true call;"
                        " record again with `rig tools record`"
                    )

    def require_known(self, conversation: Conversation) -> None:
        """Raise RigError if a conversation has rules that the grader does not know of."""
        has_rules = any(call.rules or call.optional for call in conversation.ground_truth)
        has_rules |= any(turn.expects_end for turn in conversation.turns)
        if self.matcher.mode == "upstream" and (has_rules or conversation.terms != Terms()):
            raise RigError(
                f"{conversation.name}: has rules for its calls, which --grader upstream does not know of"
            )


class ToolTalkSetup(WorldSetup):
    """The setup for ToolTalk, where every turn begins in the true world. Executed true calls are kept."""

    def __init__(self, method: Method, values: Mapping[str, Any]) -> None:
        super().__init__(method, values)
        self._as_recorded = False
        self._replayed: dict[int, tuple[Conversation, Truths]] = {}

    def check(self, task: Conversation, settings: ToolTalkSettings) -> None:
        self.require(task, settings)

    def require_gradable(self, task: Conversation) -> None:
        self.require_known(task)

    def score(self, task: Conversation, turns: Sequence[PlayedTurn], settings: ToolTalkSettings) -> Score:
        presentation = presented(task, settings)
        cleaned, grader = presentation.cleaned_turns(turns), self.grader_of(presentation)
        ended = {} if self._as_recorded else self._ended(task, turns)
        return presentation.scored(judge(task, cleaned, self._truths(task), grader, ended), turns)

    def _ended(self, task: Conversation, turns: Sequence[PlayedTurn]) -> Mapping[int, tuple[str, ...]]:
        """Return what does not hold at the end of each turn whose end is judged, making its calls again."""
        ended: dict[int, tuple[str, ...]] = {}
        if not any(turn.expects_end for turn in task.turns):
            return ended
        worlds = [*(true.world for true in replay(task, self.simulator)), self.simulator.snapshot()]
        for played in turns:
            if (turn := task.turns[played.turn]).expects_end:
                self.simulator.restore(worlds[played.turn])
                for executed in played.executed:
                    self.simulator.repeat(executed)
                ended[played.turn] = unmet(turn.expected, self.simulator, worlds[played.turn + 1])
        return ended

    def _truths(self, task: Conversation) -> Truths:
        """Return the true calls that predictions are checked against, kept for a run's repeats."""
        if self._as_recorded:
            return name_truths(task, self.matcher.toolbox)
        replayed, truths = self._replayed.get(id(task), (None, ()))
        if replayed is not task:
            truths = tuple(replayed_truths(task, self.simulator, self.matcher))
            if len(self._replayed) >= _MOST_REPLAYED:
                self._replayed.pop(next(iter(self._replayed)))
            self._replayed[id(task)] = task, truths
        return truths

    def worlds(self, task: Conversation, played: Mapping[int, PlayedTurn]) -> Iterator[tuple[int, Snapshot]]:
        """Yield all turns with the true world that they begin in, no matter what was played."""
        return ((turn.position, turn.world) for turn in replay(task, self.simulator))

    def hold_to_recorded(self) -> None:
        """Check predictions against the recorded responses, unless a world was named.

        Files of predictions do not say in which world they were made.
        """
        self._as_recorded = self._place is None
