"""What a constraint is to the decoder, whichever engine is behind it."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from rig.engine.grammar.language import Language

Mask = npt.NDArray[np.bool_]
"""Which tokens may come next, shape (n_vocab,). The one who asked may change it."""


class ConstraintError(Exception):
    """The grammar engine failed: a grammar it cannot compile, or a state it cannot go on from."""


class Constraint(Protocol):
    """The state of one generation. Every method raises ConstraintError, and goes on doing so afterwards."""

    def allowed(self) -> Mask:
        """Which tokens may come next, those that end a generation included where they may."""
        ...

    def accept(self, token: int) -> None:
        """Go on with a token that was allowed."""
        ...

    def forced(self) -> list[int]:
        """The tokens that must come next whatever the model says; they are accepted by this call."""
        ...

    @property
    def complete(self) -> bool:
        """Whether the text is whole and nothing can be added to it."""
        ...


class Grammar(Protocol):
    """Makes constraints, for one model and its settings."""

    def start(self, language: Language) -> Constraint:
        """A fresh constraint to a language. Raises ConstraintError for one it cannot enforce."""
        ...
