"""A model in several actors, on a cluster that is made up: who is asked what, and what is asked again."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import small_talks

from rig.config.options import RunConfig
from rig.config.schemes import place_of
from rig.core.errors import RigError
from rig.core.events import Event, Notice
from rig.core.models import Model, Notify
from rig.methods.scripted import Scripted
from rig.plugins.ray.on_ray import Weights, Worker, WorkerLost
from rig.plugins.ray.workers import RAY, Workers
from rig.running.planning import elsewhere


class MadeUp:
    """A cluster in this process. `mortal` actors are lost when they are asked so many things."""

    def __init__(self, *models: Model, mortal: dict[int, int] | None = None) -> None:
        self.models = list(models)
        self.mortal = mortal or {}
        self.made: list[Worker] = []
        self.asked: dict[int, int] = {}
        self.ended: list[int] = []

    def spawn(self, notify: Notify, *, patience_s: float) -> tuple[str, list[Any]]:
        if not self.models:
            raise RigError("no room")
        found = []
        for model in self.models:
            worker = Worker(lambda _, model=model: model, None)  # type: ignore[misc]
            worker.load()
            self.made.append(worker)
            found.append(len(self.made) - 1)
        self.models = []
        return "made up", found

    def call(self, actor: Any, name: str, *values: Any) -> Any:
        return actor, name, values

    def first(self, calls: Sequence[Any], patience_s: float) -> Any | None:
        return calls[-1]

    def result(self, call: Any) -> Any:
        actor, name, values = call
        self.asked[actor] = self.asked.get(actor, 0) + (name == "advance")
        if self.asked[actor] > self.mortal.get(actor, 10**9):
            raise WorkerLost(actor)
        return getattr(self.made[actor], name)(*values)

    def end(self, actor: Any) -> None:
        self.ended.append(actor)


def models(number: int) -> list[Scripted]:
    return [Scripted(small_talks.erratic, chunk=3) for _ in range(number)]


def played(store: Path, cluster: MadeUp) -> tuple[list[Any], list[Event]]:
    """The predictions of a run with workers, in the order of their places, and the events."""
    events = small_talks.play(small_talks.plan(store, lambda notify: Workers(cluster, notify)))
    return rows(store), events


def rows(store: Path) -> list[Any]:
    found = small_talks.content(store, ("turns", "predictions"))
    places = {row["id"]: (row["conversation"], row["turn"]) for row in found["turns"]}
    return sorted((*places[row["turn"]], row["step"], row["raw"]) for row in found["predictions"])


def small_talks_rows(store: Path) -> list[tuple[int, str]]:
    """Which arm, by position, said what."""
    found = small_talks.content(store, ("turns", "predictions"))
    arms = {row["id"]: row["arm"] for row in found["turns"]}
    first = min(arms.values())
    return [(arms[row["turn"]] - first, row["raw"]) for row in found["predictions"]]


@pytest.fixture
def alone(tmp_path: Path) -> list[Any]:
    """What the model says without workers."""
    store = tmp_path / "alone.sqlite"
    small_talks.play(small_talks.plan(store, *models(1)))
    return rows(store)


@pytest.mark.parametrize("actors", [1, 2, 3])
def test_several_actors_say_what_one_model_says(tmp_path: Path, alone: list[Any], actors: int) -> None:
    cluster = MadeUp(*models(actors))
    found, _ = played(tmp_path / "runs.sqlite", cluster)
    assert found == alone
    assert sorted(cluster.ended) == list(range(actors))
    assert len(cluster.asked) == actors


@pytest.mark.parametrize("after", range(4))
def test_a_lost_actors_steps_are_asked_again_of_the_others(
    tmp_path: Path, alone: list[Any], after: int
) -> None:
    found, events = played(tmp_path / "runs.sqlite", MadeUp(*models(2), mortal={1: after}))
    assert found == alone
    assert any(isinstance(event, Notice) and "an actor was lost" in event.text for event in events)


def test_where_all_are_lost_the_run_can_be_resumed_without_them(tmp_path: Path, alone: list[Any]) -> None:
    store = tmp_path / "runs.sqlite"
    with_workers = small_talks.plan(store, lambda notify: Workers(MadeUp(*models(1), mortal={0: 5}), notify))
    small_talks.play(with_workers)
    failure = small_talks.stored(store).arms[0].failure
    assert failure is not None
    assert "all actors were lost" in failure
    small_talks.play(small_talks.plan(store, *models(1), resume=True))
    assert rows(store) == alone


def test_an_actor_that_would_answer_otherwise_is_left_out(tmp_path: Path, alone: list[Any]) -> None:
    other = Scripted(small_talks.erratic, chunk=3, fingerprint={"devices": "other"})
    cluster = MadeUp(*models(1), other)
    found, events = played(tmp_path / "runs.sqlite", cluster)
    assert found == alone
    assert cluster.asked.get(1, 0) == 0
    assert any(isinstance(event, Notice) and "left out" in event.text for event in events)


def test_a_file_is_found_by_what_is_in_it_and_else_kept_as_it_was_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RIG_MODELS", str(tmp_path / "models"))
    here = tmp_path / "tiny.gguf"
    here.write_bytes(b"GGUF and more")
    weights = Weights.of(here)
    assert weights.find() == here
    parts = list(weights.parts())
    here.unlink()
    assert weights.find() is None
    with pytest.raises(RigError, match="arrived damaged"):
        weights.keep([b"something else"])
    assert weights.find() is None
    sent = weights.keep(parts)
    assert (weights.find(), sent.read_bytes()) == (sent, b"GGUF and more")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "of-another-name.gguf").write_bytes(b"GGUF and more")
    assert weights.find() == tmp_path / "models" / "of-another-name.gguf"


@pytest.mark.parametrize("where", ["mars", "", "rays"])
def test_elsewhere_than_on_ray_is_nowhere(where: str) -> None:
    with pytest.raises(RigError, match="give ray, or ray:ADDRESS"):
        place_of(where).elsewhere(where, lambda notify: small_talks.oracle())


def test_planning_a_run_elsewhere_connects_to_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # importing it now raises ImportError
    planned = small_talks.plan(tmp_path / "runs.sqlite", small_talks.oracle())
    todo = elsewhere(planned, "ray:192.0.2.9:1")
    assert todo.place is RAY
    config = RunConfig.of(models=("a.gguf",), lora=("some.gguf",))
    adapted = replace(planned, arms=tuple(replace(arm, config=config) for arm in planned.arms))
    with pytest.raises(RigError, match="--on does not work with --lora"):
        elsewhere(adapted, "ray")
