"""A role that a person plays: a model whose words are typed."""

from collections.abc import Mapping

from rig.calls import Json
from rig.errors import RigError
from rig.methods.scripted import replied
from rig.models import Model, OnPiece, Piece, Prediction, Request
from rig.running.control import Control

HUMAN = "human"
"""What a person is called where a model could be named."""


class Person(Model):
    """The person at the display. They speak one turn after another, in one conversation at a time."""

    name = HUMAN

    def __init__(self) -> None:
        super().__init__()
        self._control: Control | None = None

    def join(self, control: Control) -> None:
        """Take part in a run. Raises RigError if its display takes no answers."""
        if not control.takes_answers:
            raise RigError("a person plays a role of this run; let them answer with --display tui or plain")
        self._control = control

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        return {"engine": HUMAN}

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        """What the person says. Raises Stopped if they leave instead."""
        assert self._control is not None
        text = self._control.wait_for_answer()
        on_piece(Piece(text, tokens=0))
        return replied(text)
