"""Judging as two methods: whether answers pass, and which of two wins. The judge is the model that plays.

Runs of both are planned, driven, stored, resumed and shown like any other run. Every model whose answers are
judged is an arm.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from rig.calls import JsonObject
from rig.errors import ErrorKind, RigError
from rig.events import Emit, Where
from rig.judging import metrics
from rig.judging.courses import JUDGE, Memory, Votes, putting, replay
from rig.judging.evaluators import DEFAULT, Evaluator, find
from rig.judging.questions import Cut, Question, ReasonPlace, request
from rig.judging.voting import (
    SIDE_ORDERS,
    Orders,
    Voting,
    vote_on_answer,
    vote_on_pair,
)
from rig.methods import paper
from rig.methods.base import Grading, Method, Option, Setup
from rig.methods.scripted import Scripted, failed
from rig.metrics import Score
from rig.models import Model, Request, StepKey
from rig.solutions.decisions import DEFAULTS, VoteRules
from rig.solutions.judgements import Judgement, judgements_of
from rig.solutions.reading import parse_judgement
from rig.tasks import PlayedTurn

NOBODY = "nobody"
"""The judge of evaluators that ask no questions."""


@dataclass(frozen=True)
class JudgeSettings:
    """Whose answers are judged, against whose if it is a comparison, and how a judge is asked."""

    answers: str
    evaluator: Evaluator
    reason: ReasonPlace = "first"
    reference: str = ""
    orders: Orders = "both"

    @property
    def fingerprint(self) -> JsonObject:
        """All that can change a verdict but the judge."""
        return {
            "protocol": "judging",
            "answers_of": self.answers,
            **({"reference": self.reference, "orders": self.orders} if self.reference else {}),
            "evaluator": self.evaluator.name,
            "evaluator_sha256": self.evaluator.sha256,
            "reason": self.reason,
        }

    def __hash__(self) -> int:
        return hash((self.answers, self.reference, self.evaluator.sha256, self.reason, self.orders))


class JudgingSetup(Setup):
    """Judging needs no world. What is found out about a query is kept for the next answer to it.

    Votes are on whether an answer solves its query or, where there is a reference, which of two is better.
    """

    settings: JudgeSettings
    remembers = True

    def __init__(self, method: Method, settings: JudgeSettings, rules: VoteRules) -> None:
        super().__init__(method, settings)
        self.rules = rules
        self.memory = Memory()

    @property
    def grader(self) -> Grading:
        told = {**self.rules.fingerprint, "version": metrics.VERSION}
        name = ",".join(f"{key}={value}" for key, value in self.rules.fingerprint.items())
        return Grading(name, metrics.VERSION, "", told)

    def meet(self, models: Mapping[str, Model]) -> None:
        """Measure prompts by the judge that judges now."""
        self.memory.judge = models[JUDGE]

    def remember(self, task: Judgement, turns: Sequence[PlayedTurn]) -> None:
        """Know what the judge said of queries before."""
        votes = self.start(task, self.settings, Where(0, task.name), lambda _: None, 0)
        for played in turns:
            votes.remember(played)

    def check(self, task: Judgement, settings: JudgeSettings) -> None:
        is_of_pairs = isinstance(self.method, JudgeWin)
        models = (settings.answers, *([settings.reference] if is_of_pairs else []))
        unknown = [name for name in models if name not in task.answers]
        if unknown:
            there_are = ", ".join(task.answers)
            raise RigError(f"{task.name}: nobody called {unknown[0]!r} has answers; choose from: {there_are}")

    def start(
        self, task: Judgement, settings: JudgeSettings, where: Where, emit: Emit, slot: int
    ) -> Votes[Any]:
        return Votes(self, task, settings, where, emit, slot)

    def score(self, task: Judgement, turns: Sequence[PlayedTurn], settings: JudgeSettings) -> Score:
        """Score votes again, by the rules of now."""
        return self.count(task, settings, self.read(task, turns, settings), turns)

    def read(self, task: Judgement, turns: Sequence[PlayedTurn], settings: JudgeSettings) -> list[Any]:
        """The votes that were made, read again from their steps."""
        votes = ((self.vote(task, settings, turn.turn), turn.steps) for turn in turns)
        return [replay(putting(vote, settings.evaluator, settings.reason), steps) for vote, steps in votes]

    def vote(self, task: Judgement, settings: JudgeSettings, number: int) -> Voting[Any]:
        """The vote of a number, as a generator of questions."""
        first, second = settings.reference, settings.answers
        if not first:
            return vote_on_answer(settings.evaluator, task.answers[second], task.truths.get(second))
        pair = task.answers[first], task.answers[second]
        names = {first, second}
        passes = (task.passes[first], task.passes[second]) if names <= task.passes.keys() else None
        statuses = (task.statuses[first], task.statuses[second]) if names <= task.statuses.keys() else None
        truths = task.truths.get(first), task.truths.get(second)
        orders = SIDE_ORDERS if number % 2 == 0 else SIDE_ORDERS[::-1]
        asked_in = orders if settings.orders == "both" else orders[:1]
        return vote_on_pair(settings.evaluator, pair, passes, statuses, asked_in, truths)

    def count(
        self, task: Judgement, settings: JudgeSettings, votes: Sequence[Any], turns: Sequence[PlayedTurn]
    ) -> Score:
        """What votes are counted as."""
        if settings.reference:
            return metrics.win_score(votes, turns)
        return metrics.pass_score(task, settings.answers, votes, turns, self.rules)


class Judging(Method):
    """What the two methods have in common. The role that is evaluated is the judge's."""

    roles: tuple[str, ...] = (JUDGE,)

    def parse(self, source: JsonObject, where: str, suite: str) -> Judgement:
        return parse_judgement(source, where, suite)

    def load(self, place: Path) -> Sequence[Judgement]:
        return judgements_of(paper.toolbench().answers(place))

    def models(self, tasks: Sequence[Judgement]) -> Mapping[str, Callable[[], Model]]:
        nobody = failed(ErrorKind.INVALID, "nobody judges; name a judge")
        return {NOBODY: lambda: Scripted(lambda _: nobody, name=NOBODY)}

    def settings(self, values: Mapping[str, Any]) -> JudgeSettings:
        for name, choices in (("orders", Orders), ("reason", ReasonPlace)):
            if name in values and values[name] not in get_args(choices):
                raise RigError(f"{name}={values[name]}: choose from: {', '.join(get_args(choices))}")
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
        asked = function._replace(prompt="")
        begun = request(asked, question, key, 0, settings.reason, Cut())
        return Request(key, begun.instructions, begun.tools, "", (), tools_are_shared=False)


class JudgePass(Judging):
    """Whether answers solve their queries."""

    name = "judge-pass"
    declaration = metrics.PASSES
    options: tuple[Option, ...] = (
        Option("answers_of", "", several=True),
        Option("evaluator", DEFAULT, opens=True),
        Option("reason", "first"),
        Option("ties", DEFAULTS.ties),
        Option("unsure", DEFAULTS.unsure),
        Option("unsolvable", DEFAULTS.unsolvable),
        Option("coin", 0),
    )

    def recognises(self, place: Path) -> bool:
        return paper.toolbench().holds_answers(place)


class JudgeWin(Judging):
    """Which of two answers to a query is better."""

    name = "judge-win"
    declaration = metrics.WINS
    options: tuple[Option, ...] = (
        Option("answers_of", "", several=True),
        Option("reference", "", opens=True),
        Option("evaluator", DEFAULT, opens=True),
        Option("reason", "first"),
        Option("orders", "both"),
    )


PASSES: Method = JudgePass()
WINS: Method = JudgeWin()
