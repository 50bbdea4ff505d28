"""What runs in an actor: a model that advances steps, and the file that it is loaded from.

Nothing here knows Ray. A file is found on a node by its SHA-256, or sent once through the object store.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic

from rig.calls import Json
from rig.engine.files.caches import sha256_of
from rig.errors import RigError
from rig.files import put_in_place, temporary_folder
from rig.models import Model, Piece, Prediction, Request
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
