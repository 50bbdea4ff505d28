"""Judging as two methods: whether answers pass, and which of two wins. The judge is the model that plays.

Runs of both are planned, driven, stored, resumed and shown like any other run. Every model whose answers are
judged is an arm. The questions of a vote go to a judge, or are read again from the store. If a verdict is cut
off, it is asked for once more, without a reason.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from rig.core.calls import ExecutedCall, JsonObject, Outcome
from rig.core.errors import ErrorKind, RigError
from rig.core.events import Notice, PredictionMade, Where
from rig.core.metrics import Score
from rig.core.models import Model, Prediction, Request, StepKey, Usage
from rig.core.tasks import PlayedTurn, Step
from rig.methods.base import Grading, Method, Option, Setup
from rig.methods.episode import Ask, Asking, Episode
from rig.methods.scripted import Scripted, failed
from rig.plugins.judging import DEFAULT, Orders, ReasonPlace, toolbench_paper, voting
from rig.plugins.judging.evaluators import Evaluator, find
from rig.plugins.judging.questions import Cut, Question, fit, read, request
from rig.plugins.judging.voting import SIDE_ORDERS, Result, Verdict, Voting, vote_on_answer, vote_on_pair
from rig.plugins.solutions.judgements import Judgement, judgements_of, parse_judgement
from rig.plugins.solutions.rules import DEFAULTS, VoteRules

JUDGE = "judge"
"""The role that judges."""

NOBODY = "nobody"
"""The judge of evaluators that ask no questions."""


@dataclass(frozen=True)
class JudgeSettings:
    """Whose answers are judged, by which evaluator, and for a comparison the reference and the orders."""

    answers: str
    evaluator: Evaluator
    reason: ReasonPlace = "first"
    reference: str = ""
    orders: Orders = "both"

    @property
    def fingerprint(self) -> JsonObject:
        """Everything that can change a verdict, except the judge."""
        return {
            "protocol": "judging",
            "answers_of": self.answers,
            **({"reference": self.reference, "orders": self.orders} if self.reference else {}),
            "evaluator": self.evaluator.name,
            "evaluator_sha256": self.evaluator.sha256,
            "reason": self.reason,
        }


Course = Generator[tuple[Question, ReasonPlace], Prediction, Result]
"""A vote under way: it asks questions, says how to ask for a reason, and is sent predictions."""


def _course(voting: Voting[Result], evaluator: Evaluator, reason: ReasonPlace) -> Course[Result]:
    verdict: Verdict = None
    try:
        question = next(voting)
        while True:
            for place in dict.fromkeys((reason, "none")):
                verdict = _verdict((yield question, place), evaluator, question)
                if verdict is not None:
                    break
            question = voting.send(verdict)
    except StopIteration as stop:
        result: Result = stop.value
        return result


def _verdict(prediction: Prediction, evaluator: Evaluator, question: Question) -> Verdict:
    """Return the verdict of a prediction; None if it is not a valid one."""
    function = evaluator.function(question.function)
    if prediction.call is None or prediction.call.name != function.name:
        return None
    return read(prediction.call.arguments, function, question)


def _is_of_query(question: Question, prediction: Prediction, evaluator: Evaluator) -> bool:
    """Return whether this is a verdict on the query alone, whoever answered it."""
    return question.is_of_task and _verdict(prediction, evaluator, question) is not None


class JudgingSetup(Setup):
    """Judging needs no world. A verdict on a query is kept for the next answer to it.

    Votes are on whether an answer solves its query or, with a reference, which of two is better.
    `verdicts` are the judge's verdicts on queries, which hold for any model's answer.
    """

    settings: JudgeSettings
    remembers = True

    def __init__(self, method: Method, settings: JudgeSettings, rules: VoteRules) -> None:
        super().__init__(method, settings)
        self.rules = rules
        self.verdicts: dict[str, Prediction] = {}
        self._judge: Model | None = None

    @property
    def grader(self) -> Grading:
        told = {**self.rules.fingerprint, "version": voting.VERSION}
        name = ",".join(f"{key}={value}" for key, value in self.rules.fingerprint.items())
        return Grading(name, voting.VERSION, "", told)

    def meet(self, models: Mapping[str, Model]) -> None:
        """Note the judge, by whose context prompts are measured."""
        self._judge = models[JUDGE]

    def cut(self, ask: Callable[[Cut], Request]) -> Cut:
        """Return the least cut with which a request leaves room for an answer."""
        judge = self._judge

        def has_room(cut: Cut) -> bool:
            room = judge.room(ask(cut)) if judge else None
            return room is None or room >= 0

        return fit(has_room)

    def remember(self, task: Judgement, turns: Sequence[PlayedTurn]) -> None:
        """Take over the judge's earlier verdicts on queries."""
        for played in turns:
            self.recall(task, self.settings, played)

    def recall(self, task: Judgement, settings: JudgeSettings, played: PlayedTurn) -> Any:
        """Return the vote of a turn, None if its steps do not fit. Its verdict on the query is remembered."""
        course = self.course(task, settings, played.turn)
        try:
            question, _ = next(course)
            for step in played.steps:
                if _is_of_query(question, step.prediction, settings.evaluator):
                    self.verdicts.setdefault(task.query_id, step.prediction)
                question, _ = course.send(step.prediction)
        except StopIteration as stop:
            return stop.value
        return None

    def check(self, task: Judgement, settings: JudgeSettings) -> None:
        is_of_pairs = isinstance(self.method, JudgeWin)
        models = (settings.answers, *([settings.reference] if is_of_pairs else []))
        unknown = [name for name in models if name not in task.answers]
        if unknown:
            there_are = ", ".join(task.answers)
            raise RigError(f"{task.name}: nobody called {unknown[0]!r} has answers; choose from: {there_are}")

    def votes(self, task: Judgement, turns: Sequence[PlayedTurn], settings: JudgeSettings) -> list[Any]:
        """Return the votes that were made, read again from their steps."""
        episode = Votes(self, task, settings, Where(0, task.name), lambda _: None)
        for turn in turns:
            episode.resume(turn)
        return episode.results

    def course(self, task: Judgement, settings: JudgeSettings, number: int) -> Course[Any]:
        """Return the vote of this number as a generator of questions."""
        first, second = settings.reference, settings.answers
        evaluator = settings.evaluator
        if not first:
            voting: Voting[Any] = vote_on_answer(evaluator, task.answers[second], task.truths.get(second))
            return _course(voting, evaluator, settings.reason)
        pair = task.answers[first], task.answers[second]
        names = {first, second}
        passes = (task.passes[first], task.passes[second]) if names <= task.passes.keys() else None
        statuses = (task.statuses[first], task.statuses[second]) if names <= task.statuses.keys() else None
        truths = task.truths.get(first), task.truths.get(second)
        orders = SIDE_ORDERS if number % 2 == 0 else SIDE_ORDERS[::-1]
        asked_in = orders if settings.orders == "both" else orders[:1]
        voting = vote_on_pair(evaluator, pair, passes, statuses, asked_in, truths)
        return _course(voting, evaluator, settings.reason)


class Votes(Episode):
    """The votes on one judgement, one after another: each is a turn."""

    setup: JudgingSetup
    task: Judgement
    settings: JudgeSettings

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.results: list[Any] = []

    def resume(self, played: PlayedTurn) -> None:
        """Take over a vote that was made before, and its verdict on the query."""
        result = self.setup.recall(self.task, self.settings, played)
        if result is None:
            raise RigError("a vote is not whole; it cannot be read")
        self.results.append(result)
        self.played.append(played)

    def speak(self) -> Asking:
        """Make a vote."""
        course = self.setup.course(self.task, self.settings, self.turn)
        try:
            asked = next(course)
            while True:
                step = yield from self._answer(*asked)
                self.steps.append(step)
                asked = course.send(step.prediction)
        except StopIteration as stop:
            self.results.append(stop.value)

    def _answer(self, question: Question, reason: ReasonPlace) -> Generator[Ask, Prediction, Step]:
        """Return the judge's answer to a question, or the earlier one if it was asked before."""
        earlier = self.setup.verdicts.get(self.task.query_id) if question.is_of_task else None
        if earlier is not None:
            return self._step(replace(earlier, usage=Usage()), {"asked": "before"})
        function = self.settings.evaluator.function(question.function)
        key = StepKey(self.task.name, self.turn, len(self.steps), self.where.repeat)

        def ask(cut: Cut) -> Request:
            return request(function, question, key, self.turn, reason, cut)

        cut = self.setup.cut(ask)
        parts = zip(Cut._fields, cut, Cut(), strict=True)
        note = ", ".join(f"{name} after {most} characters" for name, most, whole in parts if most < whole)
        if note:
            self.emit(Notice(f"{self.task.name}: cut to fit the judge's context: {note}"))
        prediction = yield Ask(JUDGE, ask(cut))
        if _is_of_query(question, prediction, self.settings.evaluator):
            self.setup.verdicts[self.task.query_id] = prediction
        return self._step(prediction, {"cut": note} if note else {})

    def _step(self, prediction: Prediction, noted: JsonObject) -> Step:
        self.emit(PredictionMade(self.where, self.turn, len(self.steps), prediction, JUDGE))
        executed = ExecutedCall(prediction.call, Outcome(noted)) if prediction.call else None
        return Step(prediction, executed, role=JUDGE)

    def score(self) -> Score:
        """Return the score of the votes, by the present rules."""
        if self.settings.reference:
            return voting.win_score(self.results, self.played)
        model, rules = self.settings.answers, self.setup.rules
        return voting.pass_score(self.task, model, self.results, self.played, rules)


class Judging(Method):
    """What the two methods have in common. The evaluated role is the judge's."""

    roles: tuple[str, ...] = (JUDGE,)
    episode = Votes
    parse = staticmethod(parse_judgement)

    def load(self, place: Path) -> Sequence[Judgement]:
        return judgements_of(toolbench_paper().answers(place))

    def models(self, tasks: Sequence[Judgement]) -> Mapping[str, Callable[[], Model]]:
        nobody = failed(ErrorKind.INVALID, "nobody judges; name a judge")
        return {NOBODY: lambda: Scripted(lambda _: nobody, name=NOBODY)}

    def settings(self, values: Mapping[str, Any]) -> JudgeSettings:
        return JudgeSettings(
            values["answers_of"],
            find(values["evaluator"]),
            values["reason"],
            values.get("reference", ""),
            values.get("orders", "both"),
        )

    def ready(self, values: Mapping[str, Any]) -> JudgingSetup:
        names = ("ties", "unsure", "unsolvable", "coin")
        rules = VoteRules(*(values[name] for name in names)) if "ties" in values else VoteRules()
        return JudgingSetup(self, self.settings(values), rules)

    def opening(self, task: Judgement, settings: JudgeSettings, role: str) -> Request:
        function = next(iter(settings.evaluator.functions.values()), None)
        key = StepKey(task.name, 0, 0)
        if function is None:
            return Request(key, "", (), "", ())
        question = Question(function.name, lambda cut: {})
        begun = request(function._replace(prompt=""), question, key, 0, settings.reason, Cut())
        return Request(key, begun.instructions, begun.tools, "", (), tools_are_shared=False)


class JudgePass(Judging):
    """Whether answers solve their queries."""

    name = "judge-pass"
    declaration = voting.PASSES
    options: tuple[Option, ...] = (
        Option("answers_of", "", several=True),
        Option("evaluator", DEFAULT, opens=True),
        Option("reason", "first", choices=get_args(ReasonPlace)),
        Option("ties", DEFAULTS.ties),
        Option("unsure", DEFAULTS.unsure),
        Option("unsolvable", DEFAULTS.unsolvable),
        Option("coin", 0),
    )

    def recognises(self, place: Path) -> bool:
        return bool(toolbench_paper().holds_answers(place))


class JudgeWin(Judging):
    """Which of two answers to a query is better."""

    name = "judge-win"
    declaration = voting.WINS
    options: tuple[Option, ...] = (
        Option("answers_of", "", several=True),
        Option("reference", "", opens=True),
        Option("evaluator", DEFAULT, opens=True),
        Option("reason", "first", choices=get_args(ReasonPlace)),
        Option("orders", "both", choices=get_args(Orders)),
    )


PASSES: Method = JudgePass()
WINS: Method = JudgeWin()
