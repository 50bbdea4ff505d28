"""A role that a person plays: a model whose words are typed."""

from collections.abc import Mapping

from rig.calls import Json
from rig.errors import RigError
from rig.methods.scripted import replied
from rig.models import OnPiece, Piece, Prediction, Request
from rig.running.control import Control

HUMAN = "human"
"""What a person is called where a model could be named."""


class Person:
    """The person at the display. They speak one turn after another, in one conversation at a time."""

    name = HUMAN

    def __init__(self) -> None:
        self._begun: list[tuple[int, Request, OnPiece]] = []
        self._control: Control | None = None

    def join(self, control: Control) -> None:
        """Take part in a run. Raises RigError if its display takes no answers."""
        if not control.takes_answers:
            raise RigError("a person plays a role of this run; let them answer with --display tui or plain")
        self._control = control

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        return {"engine": HUMAN}

    @property
    def slots(self) -> int:
        return 1

    def prepare(self, opening: Request, slots: int | None, before: Mapping[str, Json] | None = None) -> None:
        """Nothing to get ready."""

    def obstacle(self, opening: Request) -> None:
        """A person can always be asked."""

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        """What the person says. Raises Stopped if they leave instead."""
        assert self._control is not None
        text = self._control.wait_for_answer()
        on_piece(Piece(text, tokens=0))
        return replied(text)

    def begin(self, slot: int, request: Request, on_piece: OnPiece) -> None:
        self._begun.append((slot, request, on_piece))

    def advance(self) -> list[tuple[int, Prediction]]:
        slot, request, on_piece = self._begun.pop()
        return [(slot, self.predict(request, on_piece))]

    def close(self) -> None:
        """Nothing to free."""
