"""A query in progress: the search asks, the world answers, and going back to a node restores its world."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from rig.calls import Call, ExecutedCall, Outcome
from rig.events import WentBack
from rig.methods.episode import Asking, Episode
from rig.methods.tooleval.prompt import ToolEvalSettings, messages, which_is_better
from rig.methods.tooleval.queries import Query
from rig.methods.tooleval.search import Asked, Expand, Found
from rig.methods.tooleval.steps import State, answer, finished, searching
from rig.metrics import Score
from rig.models import Message, Prediction, Request
from rig.solutions.solution import FINISH
from rig.tasks import Step
from rig.toolbox.simulator import Simulator


class Search(Episode):
    """One turn, in which an assistant searches for an answer. `result` is what it came to."""

    task: Query
    settings: ToolEvalSettings
    result: Found | None = None

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._simulator: Simulator = self.setup.simulator_of(self.slot)
        self._asked: Asked

    def begin(self) -> None:
        """The messages depend on the node."""

    def add(self, step: Step) -> None:
        """A step is kept in the search."""

    def speak(self) -> Asking:
        """Search for an answer."""
        self._simulator.start(*self.task.start)
        course = searching(self.settings, State(self._simulator.snapshot()))
        try:
            self._asked = next(course)
            while True:
                number = len(self.steps)
                if self._asked.node.step != number - 1:
                    self.emit(WentBack(self.where, 0, number, self._asked.node.step))
                yield from self.ask(self.evaluated)
                step = self.steps[-1]
                world = self._simulator.snapshot() if step.executed is not None else None
                state = State(world, step.executed)
                self._asked = course.send(answer(self._asked, step, number, state))
        except StopIteration as stop:
            self.result = stop.value

    def opening(self, role: str) -> Request:
        opening = super().opening(role)
        return opening if isinstance(self._asked, Expand) else replace(opening, tools=())

    def messages(self, role: str) -> Iterable[Message]:
        asked = self._asked
        if isinstance(asked, Expand):
            return messages(self.task, asked.node.path, asked.node.children)
        return which_is_better(self.task, asked.first, asked.second)

    def note(self, prediction: Prediction, role: str, parent: int | None = None) -> Step:
        return super().note(prediction, role, self._asked.node.step)

    def execute(self, call: Call) -> ExecutedCall | None:
        """The call in the world of the node that it is made at; none where nodes are compared."""
        if not isinstance(self._asked, Expand):
            return None
        self._simulator.restore(self._asked.node.state.world)
        if call.name == FINISH:
            is_whole = finished(call) in ("answer", "give_up")
            fault = None if is_whole else "Finish needs return_type, and with give_answer the final_answer."
            return ExecutedCall(call, Outcome("", fault))
        return self._simulator.execute(call)

    def score(self) -> Score:
        score: Score = self.setup.judgement.score(self.task, self.settings, self.played)
        return score
