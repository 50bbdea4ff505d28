"""No grammar: any text, until a token that ends the generation."""

import numpy as np

from rig.calls import JsonObject
from rig.engine.grammar.constraint import ConstraintError, Mask
from rig.engine.tokenizer import Tokenizer


class FreeConstraint:
    """One free generation. Control tokens stay out of it, but for the end and the marks of tool calls."""

    def __init__(self, allowed: Mask, ends: frozenset[int]) -> None:
        self._allowed = allowed
        self._ends = ends
        self._ended = False

    def allowed(self) -> Mask:
        return self._allowed.copy()

    def accept(self, token: int) -> None:
        if self._ended or not self._allowed[token]:
            raise ConstraintError(f"token {token} was refused")
        self._ended = token in self._ends

    def forced(self) -> list[int]:
        return []

    @property
    def complete(self) -> bool:
        return self._ended


class FreeGrammar:
    """Makes free constraints; they are the same for every schema."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._ends = frozenset(tokenizer.end_of_generation)
        self._allowed = np.array(
            [
                token in self._ends
                or bool(tokenizer.mark(token))
                or (bool(tokenizer.piece(token)) and not tokenizer.is_control(token))
                for token in range(tokenizer.n_vocab)
            ]
        )

    def start(self, schema: JsonObject) -> FreeConstraint:
        return FreeConstraint(self._allowed, self._ends)
