"""One model in several actors: what runs in each, and what to do if one of them is lost.

Nothing here knows Ray. A file is found on a node by its SHA-256, or sent once through the object store.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from rig.calls import Json
from rig.engine.files.caches import sha256_of
from rig.errors import RigError, counted
from rig.files import put_in_place, temporary_folder
from rig.models import Model, Notify, OnPiece, Piece, Prediction, Request
from rig.paths import cache_directory, models_directory

PATIENCE_S = 0.1
"""How long an actor works before it returns what it has: the live view shows text this often."""
PART = 256 * 2**20
"""Bytes of a file that are sent in one piece."""

Progress = tuple[list[tuple[int, Piece]], list[tuple[int, Prediction]]]
"""New text and finished steps, each by slot."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A model file as it is on the machine that runs rig."""

    path: Path
    sha256: str
    size: int

    @classmethod
    def of(cls, path: Path) -> "Weights":
        """The file at a path. Raises RigError if it cannot be read."""
        return cls(path.absolute(), sha256_of(path), path.stat().st_size)

    def parts(self) -> Iterator[bytes]:
        """The file's content, piece by piece."""
        with self.path.open("rb") as file:
            while part := file.read(PART):
                yield part

    def find(self) -> Path | None:
        """Where the same file is on this machine: at its own path, among the models, or as it was sent."""
        folders = (models_directory(), self._sent.parent)
        others = (path for folder in folders if folder.is_dir() for path in sorted(folder.glob("*.gguf")))
        for path in (self.path, *others):
            if path.is_file() and path.stat().st_size == self.size and sha256_of(path) == self.sha256:
                return path
        return None

    def keep(self, parts: Iterable[bytes]) -> Path:
        """Write the parts that were sent. Raises RigError if they are not the file."""
        with temporary_folder(self._sent.parent, "sent") as folder:
            copy = folder / self._sent.name
            with copy.open("wb") as file:
                file.writelines(parts)
            if sha256_of(copy, fresh=True) != self.sha256:
                raise RigError(f"{self.path.name}: arrived damaged; start the run again")
            put_in_place(copy, self._sent)
        return self._sent

    @property
    def _sent(self) -> Path:
        return cache_directory() / "sent" / self.sha256 / self.path.name


class Worker:
    """A model in a process of its own, with the pieces of text that nobody has fetched yet."""

    def __init__(self, load: Callable[..., Model], weights: Weights | None) -> None:
        self._load = load
        self._weights = weights
        self._pieces: list[tuple[int, Piece]] = []

    def process(self) -> int:
        """The id of this process on its machine."""
        return os.getpid()

    def lacks_weights(self) -> bool:
        """Whether the model's file has to be sent here."""
        return self._weights is not None and self._weights.find() is None

    def keep(self, *parts: bytes) -> None:
        """Store the model's file."""
        assert self._weights is not None
        self._weights.keep(parts)

    def load(self) -> tuple[str, list[str]]:
        """Load the model: its name, and what a person should know."""
        notes: list[str] = []
        if self._weights is None:
            self._model = self._load(notes.append)
        else:
            self._model = self._load(self._weights.find(), notify=notes.append)
        return self._model.name, notes

    def prepare(
        self, opening: Request, slots: int | None, before: Mapping[str, Json] | None
    ) -> tuple[dict[str, Json], int, bool]:
        """Get ready: the fingerprint, how many steps at once, and whether answers of others are of use."""
        self._model.prepare(opening, slots, before)
        return dict(self._model.fingerprint), self._model.slots, self._model.uses_siblings

    def obstacle(self, opening: Request) -> str | None:
        """Why no prompt that begins so can be answered, None if it can."""
        return self._model.obstacle(opening)

    def advance(self, begun: Sequence[tuple[int, Request]]) -> Progress:
        """Begin steps, by slot, and go on with all that are under way until there is something to return."""
        for slot, request in begun:
            self._model.begin(slot, request, partial(self._listen, slot))
        until = monotonic() + PATIENCE_S
        finished: list[tuple[int, Prediction]] = []
        while not finished and monotonic() < until:
            finished = self._model.advance()
        pieces, self._pieces = self._pieces, []
        return pieces, finished

    def _listen(self, slot: int, piece: Piece) -> None:
        self._pieces.append((slot, piece))


class WorkerLost(Exception):
    """An actor has ended, or the machine that it was on."""


class Cluster(Protocol):
    """What `Workers` needs of Ray."""

    def spawn(self, notify: Notify, *, patience_s: float) -> tuple[str, list[Any]]:
        """The model's name, and actors that have it loaded: as many as there is room for at present."""

    def call(self, actor: Any, name: str, *values: Any) -> Any:
        """Begin a call of an actor; `result` takes what this returns."""

    def first(self, calls: Sequence[Any], patience_s: float) -> Any | None:
        """One of these calls that has ended, None if none has."""

    def result(self, call: Any) -> Any:
        """The result of a call. Raises WorkerLost, and what was raised there."""

    def end(self, actor: Any) -> None:
        """End an actor."""


@dataclass(slots=True)
class _Job:
    """A step that was asked for in one of the slots."""

    slot: int
    request: Request
    on_piece: OnPiece


@dataclass(slots=True)
class _Worker:
    """An actor: its steps `under_way` by its own slots, those `waiting` for each, and its present `call`."""

    actor: Any
    waiting: dict[int, deque[_Job]]
    under_way: dict[int, _Job] = field(default_factory=dict)
    call: Any = None


class Workers(Model):
    """The same model in several actors. Each slot belongs to one of them, so that prompts stay cached.

    The steps of an actor that is lost are asked again of the others: a conversation goes on where it was, as
    its world is not on the machine that was lost. Where none is left, others are waited for.
    """

    AGAIN_S = 120.0
    """For how long actors are waited for when all are lost."""

    name = ""
    fingerprint: Mapping[str, Json] = {}
    slots = 1
    uses_siblings = False

    def __init__(self, cluster: Cluster, notify: Notify) -> None:
        self._cluster = cluster
        self._notify = notify
        self._workers: list[_Worker] = []
        self._homes: dict[int, tuple[_Worker, int]] = {}
        self._slots_each = 1
        self._opening: Request | None = None
        self.name, self._actors = cluster.spawn(notify, patience_s=self.AGAIN_S)

    def prepare(self, opening: Request, slots: int | None, before: Mapping[str, Json] | None = None) -> None:
        """Get all actors ready in the same way: the first decides what is left open."""
        self._opening = opening
        first, *others = [worker.actor for worker in self._workers] or self._actors
        prepared = self._ask(first, "prepare", opening, slots, before)
        self.fingerprint, self._slots_each, self.uses_siblings = prepared
        calls = [
            self._cluster.call(actor, "prepare", opening, self._slots_each, self.fingerprint)
            for actor in others
        ]
        self._workers = [self._worker(first)]
        for actor, call in zip(others, calls, strict=True):
            if self._result(call)[0] == self.fingerprint:
                self._workers.append(self._worker(actor))
            else:
                self._notify(f"{self.name}: an actor on another machine would answer differently; left out")
                self._cluster.end(actor)
        self.slots = self._slots_each * len(self._workers)
        self._assign_slots()

    def obstacle(self, opening: Request) -> str | None:
        """Why no prompt that begins so can be answered, None if it can; the first actor knows."""
        obstacle: str | None = self._ask(self._workers[0].actor, "obstacle", opening)
        return obstacle

    def begin(self, slot: int, request: Request, on_piece: OnPiece) -> None:
        """Give a step to the actor that the slot belongs to."""
        worker, own = self._homes[slot]
        worker.waiting[own].append(_Job(slot, request, on_piece))
        self._send(worker)

    def advance(self) -> list[tuple[int, Prediction]]:
        """Wait a second at most for an actor that has text or finished steps."""
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
                worker.under_way[own].on_piece(piece)
        except BaseException:
            self.close()  # what actors still make of their steps is not listened to
            raise
        predictions = [(worker.under_way.pop(own).slot, prediction) for own, prediction in finished]
        self._send(worker)
        return predictions

    def close(self) -> None:
        """End all actors."""
        for actor in [worker.actor for worker in self._workers] or self._actors:
            self._cluster.end(actor)
        self._workers, self._actors = [], []

    def _worker(self, actor: Any) -> _Worker:
        return _Worker(actor, {own: deque() for own in range(self._slots_each)})

    def _assign_slots(self) -> None:
        """Share the slots out among the actors that there are."""
        homes = [(worker, own) for own in range(self._slots_each) for worker in self._workers]
        self._homes = {slot: homes[slot % len(homes)] for slot in range(self.slots)}

    def _send(self, worker: _Worker) -> None:
        """Let an actor continue with what it has and take on what waits, unless it is busy."""
        if worker.call is not None:
            return
        begun = []
        for own, jobs in worker.waiting.items():
            if jobs and own not in worker.under_way:
                worker.under_way[own] = jobs.popleft()
                begun.append((own, worker.under_way[own].request))
        if worker.under_way:
            worker.call = self._cluster.call(worker.actor, "advance", begun)

    def _replace(self, lost: _Worker) -> None:
        """Give the steps of a lost actor to the others, or to new ones where there are none."""
        jobs = [*lost.under_way.values(), *(job for jobs in lost.waiting.values() for job in jobs)]
        self._workers.remove(lost)
        self._notify(f"{self.name}: an actor was lost; others take over {counted(len(jobs), 'step')}")
        self._workers += self._more(patience_s=0.0 if self._workers else self.AGAIN_S)
        if not self._workers:
            raise RigError(f"{self.name}: all actors were lost; `--resume` goes on, with or without --on")
        self._assign_slots()
        for job in jobs:
            self.begin(job.slot, job.request, job.on_piece)

    def _more(self, patience_s: float) -> list[_Worker]:
        """New actors for those that were lost, if they answer as the others do."""
        workers = []
        try:
            _, actors = self._cluster.spawn(self._notify, patience_s=patience_s)
            for actor in actors:
                again = self._ask(actor, "prepare", self._opening, self._slots_each, self.fingerprint)
                if again[0] == self.fingerprint:
                    workers.append(self._worker(actor))
                else:
                    self._cluster.end(actor)
        except RigError as error:
            self._notify(f"{self.name}: it could not be replaced: {error}")
        return workers

    def _ask(self, actor: Any, name: str, *values: Any) -> Any:
        return self._result(self._cluster.call(actor, name, *values))

    def _result(self, call: Any) -> Any:
        try:
            return self._cluster.result(call)
        except WorkerLost:
            raise RigError(f"{self.name}: an actor was lost while it started; start again") from None
