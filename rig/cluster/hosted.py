"""What an actor does: it holds a model and advances steps. Nothing here knows Ray."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import monotonic

from rig.calls import Json
from rig.cluster.weights import Weights
from rig.models import Drafting, Model, Piece, Prediction, Request

PATIENCE_S = 0.1
"""For how long an actor works before it says what it has: the live view shows text this often."""

Found = tuple[list[tuple[int, Piece]], list[tuple[int, Prediction]]]


class Hosted:
    """A model in a process of its own, with the pieces of text that nobody has fetched yet."""

    def __init__(self, load: Callable[..., Model], weights: Weights | None) -> None:
        self._load = load
        self._weights = weights
        self._model: Model | None = None
        self._pieces: list[tuple[int, Piece]] = []

    def process(self) -> int:
        """The id of this process on its machine."""
        return os.getpid()

    def lacks_weights(self) -> bool:
        """Whether the file of the model has to be sent here."""
        return self._weights is not None and self._weights.find() is None

    def keep(self, *parts: bytes) -> None:
        """Take the file of the model."""
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
    ) -> tuple[dict[str, Json], int]:
        """Get ready: the fingerprint, and how many steps it can predict at once."""
        self._here.prepare(opening, slots, before)
        return dict(self._here.fingerprint), self._here.slots

    def uses_siblings(self) -> bool:
        """Whether it drafts what another arm answered."""
        return isinstance(self._here, Drafting) and self._here.uses_siblings

    def obstacle(self, opening: Request) -> str | None:
        """As the model has it."""
        return self._here.obstacle(opening)

    def advance(self, begun: Sequence[tuple[int, Request]]) -> Found:
        """Take steps on, by slot, and go on with all that are under way until something is to be told."""
        for slot, request in begun:
            self._here.begin(slot, request, partial(self._listen, slot))
        until = monotonic() + PATIENCE_S
        finished: list[tuple[int, Prediction]] = []
        while not finished and monotonic() < until:
            finished = self._here.advance()
        pieces, self._pieces = self._pieces, []
        return pieces, finished

    def _listen(self, slot: int, piece: Piece) -> None:
        self._pieces.append((slot, piece))

    @property
    def _here(self) -> Model:
        assert self._model is not None, "the model is not loaded"
        return self._model
