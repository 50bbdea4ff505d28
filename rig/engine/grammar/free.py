"""No grammar: any text, until a token that ends the generation."""

from functools import lru_cache

import numpy as np

from rig.engine.grammar.constraint import ConstraintError, Mask
from rig.engine.grammar.language import Language
from rig.engine.tokenizer import Tokenizer


class FreeConstraint:
    """One free generation. Control tokens stay out of it, but for the end and the format's own marks."""

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
    """Makes free constraints; of a language they heed the special tokens it is written with."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._text = np.array(
            [bool(tokenizer.piece(each)) for each in range(tokenizer.n_vocab)], dtype=np.bool_
        )
        self._text[list(tokenizer.specials.values())] = False
        self._masks = lru_cache(maxsize=64)(self._mask)

    def start(self, language: Language) -> FreeConstraint:
        return FreeConstraint(*self._masks(language))

    def _mask(self, language: Language) -> tuple[Mask, frozenset[int]]:
        """What may be written, and what of it ends the answer."""
        specials = self._tokenizer.specials
        ends = {specials[stop] for stop in language.stops if stop in specials}
        ends.update(self._tokenizer.end_of_generation)
        markers = "\0".join(language.markers)
        marks = {token for text, token in specials.items() if text in language.marks or text in markers}
        allowed = self._text.copy()
        allowed[list(ends | marks)] = True
        return allowed, frozenset(ends)
