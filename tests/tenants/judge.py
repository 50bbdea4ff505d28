"""A toy judge: it reads the dialogues of a stored run and says of each whether it was short."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rig.methods import kit
from rig.store import Runs, Transcript


@dataclass(frozen=True)
class Dialogue(kit.Task):
    name: str
    said: Sequence[str]
    suite: str = ""
    known_turns = (0,)

    def expected(self, turn: int) -> kit.ExpectedTurn:
        return kit.ExpectedTurn((f"Was this short? {' '.join(self.said)}",))


class Review(kit.Episode):
    def score(self) -> kit.Score:
        return kit.Score({"passes": int(self.words == ["short"])})


def verdict(most: int, task: Dialogue, request: kit.Request) -> kit.Prediction:
    return kit.replied("short" if len(kit.words(request)[-1]) <= most else "long")


class Reviewing(kit.Method):
    name, task, episode = "reviewing", Dialogue, Review
    roles = ("judge",)
    oracles = {"patient": partial(verdict, 200), "hasty": partial(verdict, 40)}
    declaration = kit.Declaration("reviewing", (kit.Metric("pass_rate", "passes", "passes"),), "passes")

    def recognises(self, place: Path) -> bool:
        return place.suffix == ".sqlite"

    def load(self, place: Path) -> Sequence[Dialogue]:
        with Runs.open(place) as runs:
            run = runs.get("latest")
            stored = [runs.transcript(run, cell.conversation, cell.arm) for cell in runs.cells(run)]
        return [Dialogue(f"{one.arm}: {one.conversation.name}", list(_words(one))) for one in stored]

    def opening(self, task: Dialogue, settings: object, role: str) -> kit.Request:
        return kit.Request(kit.StepKey(task.name), "You are a judge.")


def _words(stored: Transcript) -> Iterator[str]:
    return (step.prediction.raw for turn in stored.turns.values() for step in turn.steps)


def register(registry: kit.Registry) -> None:
    registry.methods.add(Reviewing())
