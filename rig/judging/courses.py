"""Votes in progress: the questions of a vote go to a judge, or are read again from the store.

If a verdict is cut off, it is asked for once more, without a reason.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeVar

from rig.calls import ExecutedCall, JsonObject, Outcome
from rig.episodes import PlayedTurn, Step
from rig.errors import RigError
from rig.events import Notice, PredictionMade
from rig.judging.evaluators import Evaluator
from rig.judging.questions import Cut, Question, ReasonPlace, fit, read, request
from rig.judging.voting import Verdict
from rig.methods.episode import Ask, Asking, Episode
from rig.metrics import Score
from rig.models import Model, Prediction, Request, StepKey, Usage
from rig.solutions.judgements import Judgement

JUDGE = "judge"
"""The role that judges."""

Result = TypeVar("Result")


class Put(NamedTuple):
    """A question as the judge reads it, including how it is asked for a reason."""

    question: Question
    reason: ReasonPlace


Putting = Generator[Put, Prediction, Result]


def putting(
    asking: Generator[Question, Verdict, Result], evaluator: Evaluator, reason: ReasonPlace
) -> Putting[Result]:
    """A vote, in predictions instead of verdicts."""
    verdict: Verdict = None
    try:
        question = next(asking)
        while True:
            for place in dict.fromkeys((reason, "none")):
                prediction = yield Put(question, place)
                verdict = read_prediction(prediction, evaluator, question)
                if verdict is not None:
                    break
            question = asking.send(verdict)
    except StopIteration as stop:
        result: Result = stop.value
        return result


def read_prediction(prediction: Prediction, evaluator: Evaluator, question: Question) -> Verdict:
    """The verdict that a prediction is; None if it is not one."""
    function = evaluator.function(question.function)
    if prediction.call is None or prediction.call.name != function.name:
        return None
    return read(prediction.call.arguments, function, question)


def replay(putting: Putting[Result], steps: Sequence[Step]) -> Result:
    """What a vote was, from its steps. Raises RigError for steps of another vote."""
    left = iter(steps)
    try:
        next(putting)
        while True:
            step = next(left, None)
            if step is None:
                raise RigError("a vote is not whole; it cannot be read")
            putting.send(step.prediction)
    except StopIteration as stop:
        result: Result = stop.value
        return result


class Memory:
    """What was found out about queries, for any model's answer; and how long prompts may be."""

    def __init__(self) -> None:
        self.answers: dict[str, Prediction] = {}
        self.judge: Model | None = None

    def cut(self, ask: Callable[[Cut], Request]) -> Cut:
        """The least cut with which a request leaves room for an answer."""
        judge = self.judge

        def has_room(cut: Cut) -> bool:
            room = judge.room(ask(cut)) if judge else None
            return room is None or room >= 0

        return fit(has_room)


class Votes(Episode, Generic[Result]):
    """Votes on one judgement, one after another: each is a turn."""

    task: Judgement

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._evaluator: Evaluator = self.settings.evaluator
        self._reason: ReasonPlace = self.settings.reason
        self._memory: Memory = self.setup.memory
        self.results: list[Result] = []

    @property
    def is_over(self) -> bool:
        return len(self.played) >= self.task.votes

    def resume(self, played: PlayedTurn) -> None:
        """Take in a vote that was made before, and what was found out of the query."""
        self.remember(played)
        self.results.append(replay(self._putting(played.turn), played.steps))
        self.played.append(played)

    def _putting(self, vote: int) -> Putting[Result]:
        asking = self.setup.vote(self.task, self.settings, vote)
        return putting(asking, self._evaluator, self._reason)

    def speak(self) -> Asking:
        """Make the vote."""
        course = self._putting(self.turn)
        try:
            put = next(course)
            while True:
                step = yield from self._ask(put, self.turn, len(self.steps))
                self.steps.append(step)
                put = course.send(step.prediction)
        except StopIteration as stop:
            self.results.append(stop.value)

    def _ask(self, put: Put, vote: int, number: int) -> Generator[Ask, Prediction, Step]:
        """One question to the judge, or what it said when it was asked before."""
        question = put.question
        earlier = self._memory.answers.get(self.task.query_id) if question.is_of_task else None
        if earlier is not None:
            return self._step(replace(earlier, usage=Usage()), vote, number, {"asked": "before"})
        function = self._evaluator.function(question.function)
        key = StepKey(self.task.name, vote, number, self.where.repeat)

        def ask(cut: Cut) -> Request:
            return request(function, question, key, vote, put.reason, cut)

        cut = self._memory.cut(ask)
        note = _note_of(cut)
        if note:
            self.emit(Notice(f"{self.task.name}: cut to fit the judge's context: {note}"))
        prediction = yield Ask(JUDGE, ask(cut))
        if question.is_of_task and read_prediction(prediction, self._evaluator, question) is not None:
            self._memory.answers[self.task.query_id] = prediction
        return self._step(prediction, vote, number, {"cut": note} if note else {})

    def _step(self, prediction: Prediction, vote: int, number: int, noted: JsonObject) -> Step:
        self.emit(PredictionMade(self.where, vote, number, prediction, JUDGE))
        if prediction.call is None:
            return Step(prediction, role=JUDGE)
        executed = ExecutedCall(prediction.call, Outcome(noted))
        return Step(prediction, executed, role=JUDGE)

    def remember(self, played: PlayedTurn) -> None:
        """Remember what was found out of the query."""
        for question, prediction in self._asked(played):
            if question.is_of_task and read_prediction(prediction, self._evaluator, question) is not None:
                self._memory.answers.setdefault(self.task.query_id, prediction)

    def _asked(self, played: PlayedTurn) -> Iterator[tuple[Question, Prediction]]:
        """The questions of a vote that was made before, each with what the judge said."""
        course: Any = self._putting(played.turn)
        try:
            put = next(course)
            for step in played.steps:
                yield put.question, step.prediction
                put = course.send(step.prediction)
        except StopIteration:
            return

    def score(self) -> Score:
        score: Score = self.setup.count(self.task, self.settings, self.results, self.played)
        return score


def _note_of(cut: Cut) -> str:
    """What was cut, in words."""
    parts = zip(Cut._fields, cut, Cut(), strict=True)
    return ", ".join(f"{name} after {most} characters" for name, most, whole in parts if most < whole)
