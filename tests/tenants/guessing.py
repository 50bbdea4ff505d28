"""A toy of every tenant, as somebody outside would write it: a method, a judge, a toolbox, an answer format.

The test loads this file with `rig --plugin`. It imports nothing of the tests.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rig.calls import JsonObject
from rig.episodes import PlayedTurn, Step
from rig.events import Emit, PredictionMade, TurnStarted, Where
from rig.methods.base import Ask, Grading, Option, Playing
from rig.methods.scripted import Scripted, replied
from rig.metrics import TASKS, Declaration, Metric, Part, Score
from rig.models import Model, Prediction, ReplyMessage, Request, StepKey, UserMessage
from rig.plugins import Registry
from rig.tasks import ExpectedTurn


@dataclass(frozen=True)
class Secret:
    """A task: a number from 1 to 15 that the user thinks of."""

    name: str
    number: int
    suite: str = ""

    known_turns = ()
    closing = ()
    ground_truth_count = 0

    @property
    def source(self) -> JsonObject:
        return {"name": self.name, "number": self.number}

    @property
    def facts(self) -> Mapping[str, str]:
        return {"task": self.name}

    def expected(self, turn: int) -> ExpectedTurn:
        return ExpectedTurn()


@dataclass(frozen=True)
class Rounds:
    """The settings: how often may be guessed."""

    most: int

    @property
    def fingerprint(self) -> JsonObject:
        return {"protocol": "guessing", "most": self.most}


class Guesses:
    """An episode: each turn the assistant guesses, and the user says whether it is more or less."""

    def __init__(self, task: Secret, settings: Rounds, where: Where, emit: Emit) -> None:
        self.task, self.settings, self.where, self.emit = task, settings, where, emit
        self.turns: list[PlayedTurn] = []

    @property
    def said(self) -> list[str]:
        return [step.prediction.reply or "" for turn in self.turns for step in turn.steps]

    @property
    def next_turn(self) -> int | None:
        is_over = len(self.turns) == self.settings.most or "yes" in self.said
        return None if is_over else len(self.turns)

    def resume(self, played: PlayedTurn) -> None:
        self.turns.append(played)

    def play(self) -> Playing:
        turn = len(self.turns)
        self.emit(TurnStarted(self.where, turn, *self.task.expected(turn)))
        guess = yield from self.ask("assistant", turn, 0, self.said)
        answer = yield from self.ask("user", turn, 1, [*self.said, guess.reply or ""])
        steps = (Step(guess, role="assistant"), Step(answer, role="user", parent=0))
        self.turns.append(PlayedTurn(turn, steps))
        return self.turns[-1]

    def ask(self, role: str, turn: int, step: int, said: Sequence[str]) -> Any:
        prediction = yield Ask(role, request(self.task, role, turn, step, said, self.where.repeat))
        self.emit(PredictionMade(self.where, turn, step, prediction, role))
        return prediction

    def score(self) -> Score:
        return Score({"hits": float("yes" in self.said), "guesses": float(len(self.turns))})


def request(
    task: Secret, role: str, turn: int = 0, step: int = 0, said: Sequence[str] = (), repeat: int = 0
) -> Request:
    kinds = (UserMessage, ReplyMessage) if role == "user" else (ReplyMessage, UserMessage)
    messages = tuple(kinds[number % 2](text) for number, text in enumerate(said))
    key = StepKey(task.name, turn, step, repeat)
    return Request(key, f"You are the {role}.", (), "Numbers from 1 to 15.", messages)


class Guessing:
    """A method with a user role, turns that nobody can count beforehand, and metrics of its own."""

    name = "guessing"
    roles: tuple[str, ...] = ("assistant", "user")
    knowing: ClassVar[Mapping[str, str]] = {"assistant": "bisecting", "user": "honest"}
    options: tuple[Option, ...] = (Option("most", 5, several=True),)
    declaration = Declaration(
        method="guessing",
        metrics=(
            Metric("hit_rate", "hits", "hits"),
            Metric("guesses_each", "guesses", "guesses", TASKS, better="lower", format="number"),
        ),
        success="hits",
        outcome=(Part("guesses", "guesses", better="lower"),),
    )

    def suites(self) -> Mapping[str, Path]:
        return {}

    def recognises(self, place: Path) -> bool:
        return (place / "secrets.json").is_file()

    def load(self, place: Path) -> Sequence[Secret]:
        numbers = json.loads((place / "secrets.json").read_text(encoding="utf-8"))
        return [Secret(name, number, place.name) for name, number in numbers.items()]

    def parse(self, source: JsonObject, where: str, suite: str) -> Secret:
        return Secret(source["name"], source["number"], suite)

    def models(self, tasks: Sequence[Secret]) -> Mapping[str, Callable[[], Model]]:
        numbers = {task.name: task.number for task in tasks}
        return {
            "bisecting": lambda: Scripted(bisect, name="bisecting"),
            "counting": lambda: Scripted(count, name="counting"),
            "honest": lambda: Scripted(lambda asked: answer(numbers, asked), name="honest"),
        }

    def settings(self, values: Mapping[str, Any]) -> Rounds:
        return Rounds(values["most"])

    def ready(self, values: Mapping[str, Any]) -> "Ready":
        return Ready()


class Ready:
    """Nothing has to be made ready to guess."""

    fingerprint: ClassVar[JsonObject] = {}
    grader = Grading("exact", "1", "", {"grader": "exact"})

    def check(self, task: Secret, settings: Rounds) -> None:
        pass

    def opening(self, task: Secret, settings: Rounds, role: str) -> Request:
        return request(task, role)

    def start(self, task: Secret, settings: Rounds, where: Where, emit: Emit, slot: int) -> Guesses:
        return Guesses(task, settings, where, emit)

    def score(self, task: Secret, turns: Sequence[PlayedTurn]) -> Score:
        episode = Guesses(task, Rounds(len(turns)), Where(0, task.name), lambda _event: None)
        for turn in turns:
            episode.resume(turn)
        return episode.score()


def bisect(asked: Request) -> Prediction:
    least, most = 1, 15
    texts = [message.text for message in asked.messages if not hasattr(message, "call")]
    for guess, said in zip(texts[::2], texts[1::2], strict=False):
        least, most = (int(guess) + 1, most) if said == "more" else (least, int(guess) - 1)
    return replied(str((least + most) // 2))


def count(asked: Request) -> Prediction:
    return replied(str(len(asked.messages) // 2 + 1))


def answer(numbers: Mapping[str, int], asked: Request) -> Prediction:
    last = asked.messages[-1]
    assert isinstance(last, UserMessage | ReplyMessage)
    guess, number = int(last.text), numbers[asked.key.conversation]
    return replied("yes" if guess == number else "more" if guess < number else "less")


def register(registry: Registry) -> None:
    registry.add_method(Guessing())
