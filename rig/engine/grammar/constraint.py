"""What a constraint is to the decoder, for any engine; and the constraint that allows everything."""

from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from rig.engine.grammar.language import Language

if TYPE_CHECKING:  # forms of answers are known before a model library is loaded
    from rig.engine.core.tokenizer import Tokenizer

Mask = npt.NDArray[np.bool_]
"""Which tokens may come next, shape (n_vocab,). The one who asked may change it."""


class ConstraintError(Exception):
    """The grammar engine failed: a grammar it cannot compile, or a state it cannot go on from."""


class Constraint(Protocol):
    """The state of one generation. Every method raises ConstraintError, and continues to do so afterwards."""

    def allowed(self) -> Mask:
        """Which tokens may come next, those that end a generation included where they may."""
        ...

    def accept(self, token: int) -> None:
        """Continue with a token that was allowed."""
        ...

    def forced(self) -> list[int]:
        """The tokens that must come next, no matter what the model says; this call accepts them."""
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


class FreeConstraint:
    """One free generation. Control tokens stay out of it, but for the end and the format's own marks.

    Of the tokens that end it some may only end thoughts, once these are opened.
    """

    def __init__(
        self, allowed: Mask, ends: frozenset[int], opening: frozenset[int], closing: frozenset[int]
    ) -> None:
        self._allowed = allowed
        self._ends = ends
        self._opening = opening
        self._closing = closing
        self._is_thinking = not opening
        self.complete = False

    def allowed(self) -> Mask:
        return self._allowed.copy()

    def accept(self, token: int) -> None:
        if self.complete or not self._allowed[token]:
            raise ConstraintError(f"token {token} was refused")
        self.complete = token in self._ends and not (self._is_thinking and token in self._closing)
        self._is_thinking = (self._is_thinking or token in self._opening) and token not in self._closing

    def forced(self) -> list[int]:
        return []


class FreeGrammar:
    """Makes free constraints; of a language they heed the special tokens it is written with."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self._tokenizer = tokenizer
        pieces = map(tokenizer.piece, range(tokenizer.n_vocab))
        self._text = np.array([bool(piece) for piece in pieces], dtype=np.bool_)
        self._text[list(tokenizer.specials.values())] = False
        self._masks = lru_cache(maxsize=64)(self._mask)

    def start(self, language: Language) -> FreeConstraint:
        return FreeConstraint(*self._masks(language))

    def _mask(self, language: Language) -> tuple[Mask, frozenset[int], frozenset[int], frozenset[int]]:
        """What may be written, what of it ends the answer, and what opens and closes thoughts alone."""
        specials, thoughts = self._tokenizer.specials, language.thoughts

        def tokens_in(texts: str | frozenset[str]) -> frozenset[int]:
            return frozenset(token for text, token in specials.items() if text in texts)

        ends = frozenset(self._tokenizer.end_of_generation)
        marks = tokens_in(language.marks) | tokens_in("\0".join(language.markers))
        allowed = self._text.copy()
        allowed[list(ends | marks)] = True
        opening = tokens_in(thoughts.open if thoughts and not thoughts.is_open else "")
        return allowed, ends, opening, tokens_in(thoughts.close if thoughts else "")
