"""The method `dynamic`: ToolTalk's tasks, played live and judged by how the world ends.

A turn is what the user says, the assistant's calls, and its reply. The user's first words are the true ones.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Self

from rig.core.calls import JsonObject, without_token
from rig.core.errors import RigError
from rig.core.metrics import Score
from rig.core.models import CallMessage, Message, Model, Prediction, Request, UserMessage
from rig.core.tasks import ASSISTANT, PlayedTurn, Step
from rig.methods.base import Grading, Method, Option
from rig.methods.episode import Asking
from rig.methods.scripted import Oracle, called, failures, replied
from rig.plugins.autode.talk import DONE, THE_USER
from rig.plugins.dynamic.judgement import DECLARATION, VERSION, judge
from rig.plugins.dynamic.script import LiveTask, LiveUser
from rig.plugins.dynamic.talk import DynamicSettings, LiveTalk, as_heard, opening
from rig.plugins.matching.matching import ANY_WAY
from rig.plugins.tooltalk.conversations import load_directory, parse_conversation
from rig.plugins.tooltalk.method import METHOD as TOOLTALK
from rig.plugins.tooltalk.method import MatchedEpisode
from rig.plugins.tooltalk.prompt import begun, presented
from rig.plugins.tooltalk.setup import WorldSetup
from rig.world.world import Snapshot


class LiveDialogue(MatchedEpisode):
    """A conversation between an assistant and a user. The world goes on from the calls that were made."""

    task: LiveTask
    settings: DynamicSettings

    def __init__(self, setup: WorldSetup, task: LiveTask, settings: DynamicSettings, *arguments: Any) -> None:
        super().__init__(presented(task.conversation, settings.tooltalk), setup, task, settings, *arguments)
        self._talk = LiveTalk(task, settings.max_rounds)
        self.matching = self.grader.start(task.truths(setup.matcher.toolbox))
        self.max_calls = settings.tooltalk.max_calls
        self.simulator.start(*task.conversation.start, recorded=task.conversation.ground_truth)
        self._world = self.simulator.snapshot()

    @property
    def is_over(self) -> bool:
        return self._talk.end is not None

    def resume(self, played: PlayedTurn) -> None:
        """Take in a turn that was played before; its calls are executed again."""
        super().resume(played)
        for call in played.executed:
            self.simulator.repeat(call)
        self._world = self.simulator.snapshot()

    def begin(self) -> None:
        self.simulator.restore(self._world)

    def speak(self) -> Asking:
        """Ask the user, except in the first turn, and then the assistant until it replies."""
        if self.turn:
            yield from self.ask(THE_USER)
        while self._talk.end is None and (
            not self.steps or self.steps[-1].role == THE_USER or self.steps[-1].executed is not None
        ):
            yield from self.ask(ASSISTANT)
        self._world = self.simulator.snapshot()

    def messages(self, role: str) -> Sequence[Message]:
        if role == THE_USER:
            return as_heard(self._talk.messages)
        hears = self.presentation.hears
        messages = (
            UserMessage(hears(message.text)) if isinstance(message, UserMessage) else message
            for message in self._talk.messages
        )
        return begun(messages, self.task.conversation, self.presentation.before)

    def phrases(self, role: str) -> tuple[str, ...]:
        return (DONE,) if role == THE_USER else ()

    def add(self, step: Step) -> None:
        self._talk.add(step)

    def score(self) -> Score:
        """Score how the world ended and what was said. This changes the simulator's world."""
        return judge(self.presentation, self.task, self.played, self.simulator, self.grader, self.settings)


class DynamicSetup(WorldSetup):
    """ToolTalk's world and grader, which judges the world that an assistant acted in."""

    def meet(self, models: Mapping[str, Model]) -> None:
        """Give the run's toolbox to the scripted user."""
        user = models[THE_USER]
        if isinstance(user, LiveUser):
            user.toolbox = self.matcher.toolbox

    @property
    def grader(self) -> Grading:
        grading = super().grader
        parts = {**grading.fingerprint, "dynamic_version": VERSION}
        return grading._replace(version=f"{grading.version}.{VERSION}", fingerprint=parts)

    def adjudicated(self, answers: Path) -> Self:
        """Return the setup itself: people's answers on unclear texts do not decide how the world ends."""
        return self

    def require_gradable(self, task: LiveTask) -> None:
        self.require_known(task.conversation)

    def check(self, task: LiveTask, settings: DynamicSettings) -> None:
        conversation = task.conversation
        self.require(conversation, settings.tooltalk)
        ends = any(turn.expects_end for turn in conversation.turns)
        if ends or conversation.terms != ANY_WAY or any(call.optional for call in conversation.ground_truth):
            asked = "optional calls, an order, calls that must not be made, or how a turn ends"
            raise RigError(f"{task.name}: asks for {asked}, which the method dynamic does not know of")

    def score(self, task: LiveTask, turns: Sequence[PlayedTurn], settings: DynamicSettings) -> Score:
        presentation = presented(task.conversation, settings.tooltalk)
        grader = self.grader_of(presentation)
        return judge(presentation, task, turns, self.simulator_of(0), grader, settings)

    def worlds(self, task: LiveTask, played: Mapping[int, PlayedTurn]) -> Iterator[tuple[int, Snapshot]]:
        """Yield each played turn with its world, which goes on from the calls made, right or wrong."""
        simulator = self.simulator
        simulator.start(*task.conversation.start)
        world = simulator.snapshot()
        for number, turn in sorted(played.items()):
            yield number, world
            simulator.restore(world)
            for call in turn.executed:
                simulator.repeat(call)
            world = simulator.snapshot()


class Dynamic(Method):
    """A user talks to the assistant as in a true conversation; the world goes on from the assistant's calls.

    It recognises no files: they are ToolTalk's.
    """

    name = "dynamic"
    declaration = DECLARATION
    roles: tuple[str, ...] = (ASSISTANT, THE_USER)

    @property
    def options(self) -> tuple[Option, ...]:  # type: ignore[override]
        own = (option for option in TOOLTALK.options if option.name != "history")
        return (*own, Option("max_rounds", 16, least=1))

    episode = LiveDialogue

    def load(self, place: Path) -> Sequence[LiveTask]:
        return [LiveTask(conversation) for conversation in load_directory(place)]

    def parse(self, source: JsonObject, where: str, suite: str) -> LiveTask:
        return LiveTask(replace(parse_conversation(source, where), suite=suite))

    def models(self, tasks: Sequence[LiveTask]) -> Mapping[str, Callable[[], Model]]:
        return {"oracle": lambda: Oracle(tasks, _true_step), "scripted": lambda: LiveUser(tasks)}

    def cast(self, settings: DynamicSettings) -> Mapping[str, str]:
        return {THE_USER: "scripted"}

    def opening(self, task: LiveTask, settings: DynamicSettings, role: str) -> Request:
        return opening(task.conversation, settings, role)

    def settings(self, values: Mapping[str, Any]) -> DynamicSettings:
        return DynamicSettings(TOOLTALK.settings({**values, "history": "recorded"}), values["max_rounds"])

    def ready(self, values: Mapping[str, Any]) -> DynamicSetup:
        return DynamicSetup(self, values)


METHOD: Method = Dynamic()


def _true_step(task: LiveTask, request: Request) -> Prediction:
    """Predict the next call of the true turn with the same number, and after the last its reply."""
    true = task.expected(request.key.turn)
    calls = list(takewhile(lambda message: isinstance(message, CallMessage), reversed(request.messages)))
    number = len(calls) - failures(calls)
    if number < len(true.calls):
        return called(true.calls[number].name, without_token(true.calls[number].arguments))
    return replied(true.reply or "There is nothing else that I can do.")
