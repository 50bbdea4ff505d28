"""ToolTalk as a method: how it plays a conversation, its suites, and its settings.

Every assistant turn begins in the world that the ground truth of earlier turns leaves, and the model reads
the true history, no matter what it did itself. Within the turn, it calls tools, one at a time, until it
replies (paper, section 3.3; its `tooltalk` evaluator).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any

from rig.config.options import shared
from rig.config.schemes import ServerUse
from rig.core.calls import Call, CallPlace, ExecutedCall, JsonObject, StepPlace, Verdict
from rig.core.errors import ErrorKind, RigError
from rig.core.events import Rejudged
from rig.core.metrics import Score
from rig.core.models import Message, Prediction, ReplyMessage, Request, UserMessage
from rig.core.tasks import ASSISTANT, PlayedTurn, Step
from rig.methods.base import Checked, Method, Option
from rig.methods.episode import Asking, Episode
from rig.plugins.matching.matching import Matching
from rig.plugins.own_tools.folder import holds_code, holds_toolbox
from rig.plugins.stress import dial as dials
from rig.plugins.stress.dial import Attempt, Presentation, Stress
from rig.plugins.tooltalk import conversations, scoring
from rig.plugins.tooltalk.conversations import Conversation
from rig.plugins.tooltalk.prompt import ToolTalkSettings, begun, call_message, opening, presented
from rig.plugins.tooltalk.setup import ToolTalkSetup, WorldSetup, decisive, replay
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.registry import open_world
from rig.world.toolbox import Toolbox, find_toolbox, is_declared
from rig.world.world import Snapshots


class MatchedEpisode(Episode):
    """An episode whose calls act in a world, and are matched with the true calls as they are made.

    A turn has at most `max_calls` calls.
    """

    setup: WorldSetup
    matching: Matching
    max_calls: int

    def __init__(self, presentation: Presentation, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.presentation = presentation
        self.grader = self.setup.grader_of(presentation)
        self.simulator = self.setup.simulator_of(self.slot)
        self._places: list[StepPlace] = []

    def resume(self, played: PlayedTurn) -> None:
        """Match the calls of a turn that was played before, so that matching continues from there."""
        for number, step in enumerate(played.steps):
            if step.executed is not None:
                self._match(StepPlace(played.turn, number), step.executed)
        super().resume(played)

    def note(self, prediction: Prediction, role: str, parent: int | None = None) -> Step:
        """Add the next step. A call beyond `max_calls` becomes an error."""
        calls = sum(step.executed is not None and not is_declared(step.executed) for step in self.steps)
        if prediction.call is not None and role == self.evaluated and calls >= self.max_calls:
            name = prediction.call.name
            detail = f"{name} would be call {calls + 1} of the turn; the cap is {self.max_calls}"
            prediction = replace(prediction, call=None, error=ErrorKind.CALL_CAP, error_detail=detail)
        return super().note(prediction, role, parent)

    def execute(self, call: Call) -> ExecutedCall:
        before = tuple(step.executed for step in self.steps if step.executed is not None)
        attempt = Attempt(self.turn, len(self.steps), call, before)
        return self.presentation.executed(attempt, self.simulator)

    def judge(self, executed: ExecutedCall) -> tuple[Verdict, tuple[Rejudged, ...]]:
        return self._match(StepPlace(self.turn, len(self.steps)), executed)

    def _match(self, place: StepPlace, executed: ExecutedCall) -> tuple[Verdict, tuple[Rejudged, ...]]:
        """Return the verdict on a call, and new verdicts on earlier calls that it moved."""
        self._places.append(place)
        verdict = self.matching.add(place.turn, self.presentation.cleaned(executed))
        moved = self.matching.moved
        return verdict, tuple(Rejudged(*self._places[number], verdict=now) for number, now in moved)


class ToolTalkEpisode(MatchedEpisode):
    """A conversation for one model. Every turn begins in the true world, with the true history."""

    task: Conversation
    settings: ToolTalkSettings

    def __init__(self, setup: Any, task: Conversation, settings: ToolTalkSettings, *arguments: Any) -> None:
        super().__init__(presented(task, settings), setup, task, settings, *arguments)
        self._history: list[Message] = []
        self._worlds = Snapshots()
        self._before: list[tuple[int, int]] = []
        """The world before each turn and at the end, and the number of messages by then."""
        self._ended: dict[int, tuple[str, ...]] = {}
        began = perf_counter()
        self._truths = list(self._rehearse())
        self._rehearsal_s = perf_counter() - began
        self.matching = self.grader.start(self._truths, self.task.terms)
        self.max_calls = self.settings.max_calls

    def _rehearse(self) -> Iterator[tuple[CallPlace, ExecutedCall]]:
        """Play the true conversation once, noting the start of each turn, and yield the true calls with their
        places as they are executed.
        """
        for index, turn, world, calls in replay(self.task, self.simulator):
            self._before.append((self._worlds.add(world), len(self._history)))
            if turn.role == "user":
                self._history.append(UserMessage(self.presentation.hears(turn.text)))
                continue
            for number, (recorded, replayed) in enumerate(zip(turn.calls, calls, strict=True)):
                yield CallPlace(index, number), decisive(recorded, replayed, self.setup.matcher)
                as_recorded = self.settings.history == "recorded" and recorded.recorded
                true = recorded if as_recorded else replayed
                self._history.append(call_message(self.presentation.returns(true)))
            self._history.append(ReplyMessage(turn.text))
        self._before.append((self._worlds.add(self.simulator.snapshot()), len(self._history)))

    def resume(self, played: PlayedTurn) -> None:
        """Take in a turn that was played before, and make its calls again if its end is judged."""
        super().resume(played)
        if self.task.turns[played.turn].expects_end:
            self._begin(played.turn)
            for executed in played.executed:
                self.simulator.repeat(executed)
            self._end(played.turn)

    def _begin(self, turn: int) -> None:
        self.simulator.restore(self._worlds[self._before[turn][0]])

    def _end(self, turn: int) -> None:
        """Note what does not hold at the end of a turn."""
        if (of_turn := self.task.turns[turn]).expects_end:
            true_end = self._worlds[self._before[turn + 1][0]]
            self._ended[turn] = scoring.unmet(of_turn.expected, self.simulator, true_end)

    def begin(self) -> None:
        """Do nothing: the model reads the true history."""

    def add(self, step: Step) -> None:
        """Do nothing: no step is carried over into the next turn."""

    def speak(self) -> Asking:
        """Let the assistant call tools until a reply, an error or the cap on calls."""
        self.tools_s, self._rehearsal_s = self._rehearsal_s, 0.0
        clock = perf_counter()
        self._begin(self.turn)
        self.tools_s += perf_counter() - clock
        yield from super().speak()
        clock = perf_counter()
        self._end(self.turn)
        self.tools_s += perf_counter() - clock

    def messages(self, role: str) -> Iterator[Message]:
        history = self._history[: self._before[self.turn][1]]
        yield from begun(history, self.task, self.presentation.before)
        for step in self.steps:
            if step.executed is not None:
                yield call_message(step.executed, step.prediction)

    def score(self) -> Score:
        """Score all turns with the grader."""
        turns = self.presentation.cleaned_turns(self.played)
        arguments = self.task, turns, self._truths, self.grader, self._ended, self.matching
        return self.presentation.scored(scoring.judge(*arguments), self.played)


_SETTINGS = ("docs", "tools", "history", "max_calls")


class ToolTalk(Method):
    """A model gets true histories, turn by turn (arXiv 2311.10775)."""

    name = "tooltalk"
    begins_from_truth = True
    declaration = scoring.DECLARATION
    knowing: Mapping[str, str] = MappingProxyType({ASSISTANT: "oracle"})
    episode = ToolTalkEpisode
    shipped = ("easy", "hard")
    holds_responses = True
    recognises = staticmethod(conversations.holds_conversations)
    load = staticmethod(conversations.load_directory)
    declaration_of = staticmethod(scoring.declaration_of)

    @property
    def options(self) -> tuple[Option, ...]:  # type: ignore[override]
        """The options that are shared with other methods, and the dials."""
        of_world = "toolbox", "servers", "server_network", "world"
        return (*shared(*_SETTINGS, *of_world, "grader", "similarity", "reader"), *dials.options())

    def parse(self, source: JsonObject, where: str, suite: str) -> Conversation:
        return replace(conversations.parse_conversation(source, where), suite=suite)

    def place_of(self, folder: Path, task: Conversation, turn: int | None) -> tuple[Path, int] | None:
        from rig.plugins.tooltalk.places import place_of

        return place_of(folder, task, turn)

    def check(self, place: Path, world: Path | None = None, toolbox: Toolbox | None = None) -> Checked:
        # Imported here, because these modules take a moment to load and runs do not need them.
        from rig.plugins.tooltalk import check, check_written

        if (own := _own_toolbox(place, toolbox)) is not None:
            return check_written.check_own(place, own)
        return check.check_directory(place, open_world(world), TOOLTALK)

    def record(
        self,
        place: Path,
        world: Path | None = None,
        toolbox: Toolbox | None = None,
        note: Callable[[str], object] = str,
    ) -> Sequence[Path]:
        from rig.plugins.tooltalk import check, check_written

        if (own := _own_toolbox(place, toolbox)) is not None:
            return check_written.record_own(place, own, note)
        return check.record_directory(place, open_world(world), TOOLTALK)

    def opening(self, task: Conversation, settings: ToolTalkSettings, role: str) -> Request:
        return opening(task, settings)

    def settings(self, values: Mapping[str, Any]) -> ToolTalkSettings:
        own = {name: values[name] for name in _SETTINGS}
        toolbox = find_toolbox(values["toolbox"], ServerUse.of(values))
        return ToolTalkSettings(**own, toolbox=toolbox, stress=Stress.of(values))

    def ready(self, values: Mapping[str, Any]) -> ToolTalkSetup:
        return ToolTalkSetup(self, values)


METHOD = ToolTalk()


def _own_toolbox(place: Path, toolbox: Toolbox | None) -> Toolbox | None:
    """Return the toolbox of conversations: the given one or the folder's own, None for ToolTalk's.

    Raises RigError if the folder's own tools are code, which has to be named to be run.
    """
    if toolbox is not None:
        return None if toolbox is TOOLTALK else toolbox
    for folder in (place, place.parent):
        if holds_toolbox(folder) and (folder is place or place.name == conversations.OWN):
            if holds_code(folder):
                raise RigError(
                    f"{folder}: its tools are code, which is run when you name it: --toolbox {folder}"
                )
            return find_toolbox(str(folder))
    return None
