"""One model in several actors, and what happens if one of them is lost."""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rig.config.schemes import Loader, Scheme
from rig.core.calls import Json
from rig.core.errors import Halted, RigError, counted
from rig.core.models import (
    Model,
    Notify,
    OnPiece,
    OnRead,
    PendingStep,
    Piece,
    Prediction,
    Request,
    halted_step,
    unheard,
)
from rig.plugins.ray import on_ray
from rig.plugins.ray.on_ray import RayCluster, WorkerLost


class Ray(Scheme):
    """Places to load models on: `ray` is a cluster of this machine, which ends with the run.

    `ray:ADDRESS` is one that is running.
    """

    name = "ray"
    is_place = True

    def elsewhere(self, where: str, load: Loader) -> Loader:
        _, _, address = where.partition(":")
        return lambda notify: Workers(RayCluster(load, address, notify), notify)

    def disconnect(self) -> None:
        on_ray.disconnect()


RAY = Ray()


@dataclass(slots=True)
class _Worker:
    """An actor: its steps `under_way` by its own slots, those `waiting` for each, and its current `call`.

    Steps that a listener ended are `halted`: the actor goes on with them, but what comes is not the answer.
    """

    actor: Any
    waiting: dict[int, deque[PendingStep]] = field(default_factory=lambda: defaultdict(deque))
    under_way: dict[int, PendingStep] = field(default_factory=dict)
    call: Any = None
    halted: dict[int, Prediction] = field(default_factory=dict)

    def hear(self, own: int, piece: Piece) -> None:
        """Pass on text of a step."""
        try:
            if own not in self.halted:
                self.under_way[own].on_piece(piece)
        except Halted as halted:
            self.halted[own] = halted_step(halted)


class Workers(Model):
    """The same model in several actors. Each slot belongs to one of them, so that prompts stay cached.

    The steps of a lost actor are requested again from the others: a conversation continues where it was, as
    its world is not on the lost machine. If no actor is left, new ones are waited for.
    """

    AGAIN_S = 120.0
    """The seconds to wait for actors when all are lost."""

    name = ""
    fingerprint: Mapping[str, Json] = {}
    slots = 1

    def __init__(self, cluster: RayCluster, notify: Notify) -> None:
        self._cluster = cluster
        self._notify = notify
        self._workers: list[_Worker] = []
        self._homes: dict[int, tuple[_Worker, int]] = {}
        self._slots_each = 1
        self._opening: Request | None = None
        self.name, self._actors = cluster.spawn(notify, patience_s=self.AGAIN_S)

    def prepare(
        self,
        opening: Request,
        slots: int | None,
        before: Mapping[str, Json] | None = None,
        on_read: OnRead = unheard,
    ) -> None:
        """Prepare all actors in the same way: the first decides what is left open."""
        self._opening = opening
        first, *others = [worker.actor for worker in self._workers] or self._actors
        self.fingerprint, self._slots_each = self._ask(first, "prepare", opening, slots, before)
        self._workers = [_Worker(first), *self._alike(others)]
        for _ in range(len(others) + 1 - len(self._workers)):
            self._notify(f"{self.name}: an actor on another machine would answer differently; left out")
        self.slots = self._slots_each * len(self._workers)
        self._assign_slots()

    def obstacle(self, opening: Request) -> str | None:
        """Return why no prompt that begins like this can be answered; None if the first actor can."""
        obstacle: str | None = self._ask(self._workers[0].actor, "obstacle", opening)
        return obstacle

    def begin(self, slot: int, request: Request, on_piece: OnPiece) -> None:
        """Queue a step for the actor that the slot belongs to."""
        worker, own = self._homes[slot]
        worker.waiting[own].append(PendingStep(slot, request, on_piece))
        self._send(worker)

    def advance(self) -> list[tuple[int, Prediction]]:
        """Wait at most a second for an actor that has text or finished steps. Return the finished ones."""
        busy = [worker for worker in self._workers if worker.call is not None]
        ended = self._cluster.first([worker.call for worker in busy], 1.0)
        if ended is None:
            return []
        worker = next(worker for worker in busy if worker.call is ended)
        try:
            pieces, finished = self._cluster.result(ended)
        except WorkerLost:
            self._replace(worker)
            return []
        worker.call = None
        try:
            for own, piece in pieces:
                worker.hear(own, piece)
        except BaseException:
            self.close()  # what actors still make of their steps is not listened to
            raise
        predictions = [
            (worker.under_way.pop(own).slot, worker.halted.pop(own, prediction))
            for own, prediction in finished
        ]
        self._send(worker)
        return predictions

    def close(self) -> None:
        """End all actors."""
        for actor in [worker.actor for worker in self._workers] or self._actors:
            self._cluster.end(actor)
        self._workers, self._actors = [], []

    def _alike(self, actors: Sequence[Any]) -> Iterator[_Worker]:
        """Yield the actors that, once prepared, answer as the first does; the others are ended."""
        request = "prepare", self._opening, self._slots_each, self.fingerprint
        calls = [self._cluster.call(actor, *request) for actor in actors]
        for actor, call in zip(actors, calls, strict=True):
            if self._result(call)[0] == self.fingerprint:
                yield _Worker(actor)
            else:
                self._cluster.end(actor)

    def _assign_slots(self) -> None:
        """Distribute the slots among the actors."""
        homes = [(worker, own) for own in range(self._slots_each) for worker in self._workers]
        self._homes = {slot: homes[slot % len(homes)] for slot in range(self.slots)}

    def _send(self, worker: _Worker) -> None:
        """Let an actor continue its steps and begin waiting ones, unless it is busy."""
        if worker.call is not None:
            return
        begun = []
        for own, jobs in sorted(worker.waiting.items()):
            if jobs and own not in worker.under_way:
                worker.under_way[own] = jobs.popleft()
                begun.append((own, worker.under_way[own].request))
        if worker.under_way:
            worker.call = self._cluster.call(worker.actor, "advance", begun)

    def _replace(self, lost: _Worker) -> None:
        """Give the steps of a lost actor to the others, or to new ones if there are none."""
        jobs = [*lost.under_way.values(), *(job for jobs in lost.waiting.values() for job in jobs)]
        self._workers.remove(lost)
        self._notify(f"{self.name}: an actor was lost; others take over {counted(len(jobs), 'step')}")
        try:
            _, actors = self._cluster.spawn(self._notify, patience_s=0.0 if self._workers else self.AGAIN_S)
            self._workers += self._alike(actors)
        except RigError as error:
            self._notify(f"{self.name}: it could not be replaced: {error}")
        if not self._workers:
            raise RigError(f"{self.name}: all actors were lost; `--resume` goes on, with or without --on")
        self._assign_slots()
        for job in jobs:
            self.begin(job.slot, job.request, job.on_piece)

    def _ask(self, actor: Any, name: str, *values: Any) -> Any:
        return self._result(self._cluster.call(actor, name, *values))

    def _result(self, call: Any) -> Any:
        try:
            return self._cluster.result(call)
        except WorkerLost:
            raise RigError(f"{self.name}: an actor was lost while it started; start again") from None
