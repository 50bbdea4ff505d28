"""One true conversation, played live: the user talks, the assistant calls and replies, the world goes on.

A turn is what the user says, the assistant's calls, and its reply. The first words are the true ones.
"""

from collections.abc import Sequence
from typing import Any

from rig.methods.dynamic.judgement import judge
from rig.methods.dynamic.prompt import THE_USER, DynamicSettings, as_heard
from rig.methods.dynamic.script import DONE, LiveTask
from rig.methods.dynamic.talk import LiveTalk
from rig.methods.episode import Asking
from rig.methods.tooltalk.episode import MatchedEpisode
from rig.metrics import Score
from rig.models import Message
from rig.tasks import ASSISTANT, PlayedTurn, Step


class LiveDialogue(MatchedEpisode):
    """A conversation for an assistant and a user. The world goes on from the calls that were made."""

    task: LiveTask
    settings: DynamicSettings

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        task, setup, settings = self.task, self.setup, self.settings
        self._talk = LiveTalk(task, settings.max_rounds)
        self.matching = setup.matcher.start(task.truths(setup.matcher.toolbox))
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
            self.simulator.execute(call.call)
        self._world = self.simulator.snapshot()

    def begin(self) -> None:
        self.simulator.restore(self._world)

    def speak(self) -> Asking:
        """The user's words, unless they are the first, the assistant's calls, and its reply."""
        if self.turn:
            yield from self.ask(THE_USER)
        while self._talk.end is None and (
            not self.steps or self.steps[-1].role == THE_USER or self.steps[-1].executed is not None
        ):
            yield from self.ask(ASSISTANT)
        self._world = self.simulator.snapshot()

    def messages(self, role: str) -> Sequence[Message]:
        return as_heard(self._talk.messages) if role == THE_USER else self._talk.messages

    def phrases(self, role: str) -> tuple[str, ...]:
        return (DONE,) if role == THE_USER else ()

    def add(self, step: Step) -> None:
        self._talk.add(step)

    def score(self) -> Score:
        """How the world ended, and what was said. The simulator's world is another one afterwards."""
        return judge(self.task, self.played, self.simulator, self.setup.matcher, self.settings)
