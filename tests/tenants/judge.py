"""A toy judge: it reads the dialogues of a stored run and says of each whether it was short.

Its tasks are the finished episodes of a run store, so that judging is driven, stored and shown as playing is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rig.calls import JsonObject
from rig.episodes import PlayedTurn, Step
from rig.events import Emit, PredictionMade, TurnStarted, Where
from rig.methods.base import Ask, Grading, Option, Playing
from rig.methods.scripted import Scripted, replied
from rig.metrics import Declaration, Metric, Score
from rig.models import Model, Prediction, Request, StepKey, UserMessage
from rig.plugins import Registry
from rig.store import Runs
from rig.tasks import ExpectedTurn


@dataclass(frozen=True)
class Dialogue:
    """A finished episode: what was said, in order."""

    name: str
    said: tuple[str, ...]
    suite: str = ""

    known_turns = (0,)
    closing = ()
    ground_truth_count = 0

    @property
    def source(self) -> JsonObject:
        return {"name": self.name, "said": list(self.said)}

    @property
    def facts(self) -> Mapping[str, str]:
        return {"task": self.name}

    def expected(self, turn: int) -> ExpectedTurn:
        return ExpectedTurn(said=(f"Was this short? {' '.join(self.said)}",))


@dataclass(frozen=True)
class NoSettings:
    fingerprint: ClassVar[JsonObject] = {"protocol": "reviewing"}


class Review:
    """An episode: one question to the judge."""

    def __init__(self, task: Dialogue, where: Where, emit: Emit) -> None:
        self.task, self.where, self.emit = task, where, emit
        self.turns: list[PlayedTurn] = []

    @property
    def next_turn(self) -> int | None:
        return None if self.turns else 0

    def resume(self, played: PlayedTurn) -> None:
        self.turns.append(played)

    def play(self) -> Playing:
        self.emit(TurnStarted(self.where, 0, *self.task.expected(0)))
        prediction = yield Ask("judge", question(self.task))
        self.emit(PredictionMade(self.where, 0, 0, prediction, "judge"))
        self.turns.append(PlayedTurn(0, (Step(prediction, role="judge"),)))
        return self.turns[0]

    def score(self) -> Score:
        [step] = self.turns[0].steps
        return Score({"passes": float(step.prediction.reply == "short")})


def question(task: Dialogue) -> Request:
    messages = tuple(map(UserMessage, task.expected(0).said))
    return Request(StepKey(task.name, 0, 0), "You are a judge.", (), "", messages)


class Reviewing:
    """The method. Who is evaluated is the judge."""

    name = "reviewing"
    roles: tuple[str, ...] = ("judge",)
    options: tuple[Option, ...] = ()
    declaration = Declaration("reviewing", (Metric("pass_rate", "passes", "passes"),), "passes")

    def suites(self) -> Mapping[str, Path]:
        return {}

    def recognises(self, place: Path) -> bool:
        return place.suffix == ".sqlite"

    def load(self, place: Path) -> Sequence[Dialogue]:
        with Runs.open(place) as runs:
            run = runs.get("latest")
            transcripts = [runs.transcript(run, cell.conversation, cell.arm) for cell in runs.cells(run)]
        return [
            Dialogue(
                f"{each.arm}: {each.conversation.name}",
                tuple(step.prediction.raw for turn in each.turns.values() for step in turn.steps),
            )
            for each in transcripts
        ]

    def parse(self, source: JsonObject, where: str, suite: str) -> Dialogue:
        return Dialogue(source["name"], tuple(source["said"]), suite)

    def models(self, tasks: Sequence[Dialogue]) -> Mapping[str, Callable[[], Model]]:
        return {
            "patient": lambda: Scripted(lambda asked: verdict(asked, 200), name="patient"),
            "hasty": lambda: Scripted(lambda asked: verdict(asked, 40), name="hasty"),
        }

    def settings(self, values: Mapping[str, Any]) -> NoSettings:
        return NoSettings()

    def ready(self, values: Mapping[str, Any]) -> "Ready":
        return Ready()


def verdict(asked: Request, most: int) -> Prediction:
    [message] = asked.messages
    assert isinstance(message, UserMessage)
    return replied("short" if len(message.text) <= most else "long")


class Ready:
    """A judge needs no world."""

    fingerprint: ClassVar[JsonObject] = {}
    grader = Grading("own", "1", "", {"grader": "own"})

    def check(self, task: Dialogue, settings: NoSettings) -> None:
        pass

    def opening(self, task: Dialogue, settings: NoSettings, role: str) -> Request:
        return question(Dialogue(task.name, ()))

    def start(self, task: Dialogue, settings: NoSettings, where: Where, emit: Emit, slot: int) -> Review:
        return Review(task, where, emit)

    def score(self, task: Dialogue, turns: Sequence[PlayedTurn]) -> Score:
        review = Review(task, Where(0, task.name), lambda _event: None)
        review.turns.extend(turns)
        return review.score()


def register(registry: Registry) -> None:
    registry.add_method(Reviewing())
