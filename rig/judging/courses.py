"""Votes in progress: the questions of a vote go to a judge, or are read again from the store.

If a verdict is cut off, it is asked for once more, without a reason.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any, Generic, NamedTuple

from rig.calls import ExecutedCall, JsonObject, Outcome
from rig.errors import RigError
from rig.events import Notice, PredictionMade
from rig.judging.evaluators import Evaluator
from rig.judging.questions import Cut, Question, ReasonPlace, fit, read, request
from rig.judging.voting import Result, Verdict, Voting
from rig.methods.episode import Ask, Asking, Episode
from rig.metrics import Score
from rig.models import Model, Prediction, Request, StepKey, Usage
from rig.solutions.judgements import Judgement
from rig.tasks import PlayedTurn, Step

JUDGE = "judge"
"""The role that judges."""


class Put(NamedTuple):
    """A question as the judge reads it, including how it is asked for a reason."""

    question: Question
    reason: ReasonPlace


Putting = Generator[Put, Prediction, Result]


def putting(voting: Voting[Result], evaluator: Evaluator, reason: ReasonPlace) -> Putting[Result]:
    """A vote, in predictions instead of verdicts."""
    verdict: Verdict = None
    try:
        question = next(voting)
        while True:
            for place in dict.fromkeys((reason, "none")):
                prediction = yield Put(question, place)
                verdict = read_prediction(prediction, evaluator, question)
                if verdict is not None:
                    break
            question = voting.send(verdict)
    except StopIteration as stop:
        result: Result = stop.value
        return result


def read_prediction(prediction: Prediction, evaluator: Evaluator, question: Question) -> Verdict:
    """The verdict that a prediction is; None if it is not one."""
    function = evaluator.function(question.function)
    if prediction.call is None or prediction.call.name != function.name:
        return None
    return read(prediction.call.arguments, function, question)


def walked(
    putting: Putting[Result], steps: Sequence[Step]
) -> tuple[Result | None, list[tuple[Question, Prediction]]]:
    """What a vote was, from its steps, None if they are another's; its questions and what the judge said."""
    answered = []
    try:
        put = next(putting)
        for step in steps:
            answered.append((put.question, step.prediction))
            put = putting.send(step.prediction)
    except StopIteration as stop:
        return stop.value, answered
    return None, answered


def replay(putting: Putting[Result], steps: Sequence[Step]) -> Result:
    """What a vote was, from its steps. Raises RigError for steps of another vote."""
    result, _ = walked(putting, steps)
    if result is None:
        raise RigError("a vote is not whole; it cannot be read")
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
        """Take in a vote that was made before, and what was said of the query."""
        self.remember(played)
        self.results.append(replay(self._putting(played.turn), played.steps))
        self.played.append(played)

    def _putting(self, vote: int) -> Putting[Result]:
        return putting(self.setup.vote(self.task, self.settings, vote), self._evaluator, self._reason)

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
        parts = zip(Cut._fields, cut, Cut(), strict=True)
        note = ", ".join(f"{name} after {most} characters" for name, most, whole in parts if most < whole)
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
        """Remember what was said of the query."""
        for question, prediction in walked(self._putting(played.turn), played.steps)[1]:
            if question.is_of_task and read_prediction(prediction, self._evaluator, question) is not None:
                self._memory.answers.setdefault(self.task.query_id, prediction)

    def score(self) -> Score:
        score: Score = self.setup.count(self.task, self.settings, self.results, self.played)
        return score
