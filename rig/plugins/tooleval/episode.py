"""A query in progress: the search asks, the model answers, and going back to a node restores its world.

The same search can be rebuilt from the steps of its turn.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rig.core.calls import Call, ExecutedCall, Outcome
from rig.core.events import WentBack
from rig.core.metrics import Score
from rig.core.models import Message, Prediction, Request
from rig.core.tasks import PlayedTurn, Step
from rig.methods.episode import Asking, Episode
from rig.plugins.solutions.solution import FINISH, GIVE_ANSWER, GIVE_UP, as_text, observation
from rig.plugins.tooleval.queries import Query, ToolEvalSettings, messages, which_is_better
from rig.plugins.tooleval.search import Asked, Code, Expand, Found, Made, search
from rig.world.toolbox import Simulator
from rig.world.world import Snapshot


class State(NamedTuple):
    """The state of a node: its world, and the call that led to it."""

    world: Snapshot | None
    executed: ExecutedCall | None = None


def replayed(settings: ToolEvalSettings, turns: Sequence[PlayedTurn]) -> Found:
    """Rebuild a search from its turns. Nodes have the number of their step, and its call as their state.

    Steps that are not a whole search give an empty result.
    """
    course = search(settings.strategy, State(None), settings.max_queries)
    try:
        asked = next(course)
        for number, step in enumerate(step for turn in turns for step in turn.steps):
            asked = course.send(answer(asked, step, number, State(None, step.executed)))
        return Found(settings.strategy)
    except StopIteration as stop:
        result: Found = stop.value
        return result


def path_of(result: Found, turns: Sequence[PlayedTurn]) -> list[Step]:
    """Return the steps to the node that counts, or if there is none, to the end of the last chain or path."""
    steps = [step for turn in turns for step in turn.steps]
    end = result.end
    if end is None:
        nodes = [node for root in result.roots for node in root.walk()]
        end = nodes[-1] if nodes else None
    numbers = dict.fromkeys(node.step for node in end.path) if end is not None else {}
    return [steps[number] for number in numbers if number >= 0]


def answer(asked: Asked, step: Step, number: int, state: State) -> Any:
    """Return what the search is sent for a step: a `Made`, or whether the first of two nodes is better."""
    prediction = step.prediction
    if not isinstance(asked, Expand):
        text = (prediction.reply or "").strip().strip(".\"' ")
        return text[-1:].lower() == "a"
    if prediction.call is None:
        words = prediction.reply if prediction.reply is not None else prediction.error_detail
        return Made("failed" if prediction.error else "ok", words or "", state=state, step=number)
    executed = step.executed
    assert executed is not None
    name, exception = prediction.call.name, executed.exception
    code: Code = "ok"
    if name == FINISH:
        code = finished(prediction.call)
    elif exception is not None:
        code = "unknown" if exception.startswith("API ") else "error"
    text = "" if name == FINISH and exception is None else observation(executed)
    return Made(code, prediction.content, name, as_text(prediction.call.arguments), text, state, number)


def finished(call: Call) -> Code:
    """Return how Finish was called."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    kind = arguments.get("return_type")
    if kind == GIVE_UP:
        return "give_up"
    words = arguments.get("final_answer")
    return "answer" if kind == GIVE_ANSWER and isinstance(words, str) and words.strip() else "bad_finish"


def calls_of(path: Sequence[Step]) -> Iterator[ExecutedCall]:
    """Yield the calls of tools along a path, without Finish."""
    return (step.executed for step in path if step.executed is not None and step.executed.name != FINISH)


class Search(Episode):
    """An episode of one turn, in which an assistant searches for an answer: at the end, the `result`."""

    task: Query
    settings: ToolEvalSettings
    result: Found | None = None
    _simulator: Simulator
    _asked: Asked

    def begin(self) -> None:
        """Do nothing: the messages depend on the node."""

    def add(self, step: Step) -> None:
        """Do nothing: the search keeps the step."""

    def speak(self) -> Asking:
        """Search for an answer."""
        self._simulator = self.setup.simulator_of(self.slot)
        self._simulator.start(*self.task.start)
        state = State(self._simulator.snapshot())
        course = search(self.settings.strategy, state, self.settings.max_queries)
        try:
            self._asked = next(course)
            while True:
                number = len(self.steps)
                if self._asked.node.step != number - 1:
                    self.emit(WentBack(self.where, 0, number, self._asked.node.step))
                yield from self.ask(self.evaluated)
                step = self.steps[-1]
                world = self._simulator.snapshot() if step.executed is not None else None
                self._asked = course.send(answer(self._asked, step, number, State(world, step.executed)))
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
        """Execute a call in the world of the node where it is made; None if nodes are being compared."""
        if not isinstance(self._asked, Expand):
            return None
        self._simulator.restore(self._asked.node.state.world)
        if call.name == FINISH:
            is_whole = finished(call) in ("answer", "give_up")
            fault = None if is_whole else "Finish needs return_type, and with give_answer the final_answer."
            return ExecutedCall(call, Outcome("", fault))
        return self._simulator.execute(call)

    def score(self) -> Score:
        score: Score = self.setup.score(self.task, self.played, self.settings)
        return score
