"""Constraints by outlines_core: an automaton over tokens, built once for a tool set and kept on disk.

What Outlines wraps around it for llama.cpp is left out: a vocabulary of text, in which the parts of split
characters are lost, and a kernel that needs numba and is silent where that is missing. The vocabulary here is
the model's own bytes.
"""

import hashlib
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt
from outlines_core import Guide, Index, Vocabulary

from rig.engine.grammar.constraint import ConstraintError, Mask
from rig.engine.grammar.index_cache import IndexCache
from rig.engine.grammar.language import Language
from rig.engine.grammar.regex import answer_regex
from rig.engine.tokenizer import Tokenizer
from rig.models import Notify

NAME = f"outlines_core {version('outlines_core')}"

_LONGEST = 1 << 20
"""Characters of a regular expression; far fewer already take minutes and gigabytes to become an index."""


class OutlinesCoreConstraint:
    """The state of one generation: a place in the automaton.

    The text ends by itself where the grammar does, so tokens that end a generation are never allowed.
    """

    def __init__(self, index: Any, n_vocab: int, ends: npt.NDArray[np.intp]) -> None:
        self._guide = Guide(index)
        self._n_vocab = n_vocab
        self._ends = ends
        self._mask = np.zeros((n_vocab + 32) // 32, dtype=np.int32)
        self._current: Mask | None = None
        self._error = ""

    def allowed(self) -> Mask:
        return self._bits().copy()

    def accept(self, token: int) -> None:
        if not 0 <= token < self._n_vocab or not self._bits()[token]:
            self._error = self._error or f"token {token} was refused"
            raise ConstraintError(self._error)
        self._guide.advance(token, return_tokens=False)
        self._current = None

    def forced(self) -> list[int]:
        """The tokens that are the only ones of the vocabulary to fit.

        llguidance finds more: it also takes text that is forced but can be cut into tokens in several ways.
        """
        tokens: list[int] = []
        while np.count_nonzero(bits := self._bits()) == 1:
            tokens.append(int(bits.argmax()))
            self.accept(tokens[-1])
        return tokens

    @property
    def complete(self) -> bool:
        return not self._bits().any() and bool(self._guide.is_finished())

    def _bits(self) -> Mask:
        if self._error:
            raise ConstraintError(self._error)
        if self._current is None:
            self._guide.write_mask_into(self._mask.ctypes.data, self._mask.size, self._mask.itemsize)
            bits = np.unpackbits(self._mask.view(np.uint8), count=self._n_vocab, bitorder="little")
            bits[self._ends] = 0
            self._current = bits.view(np.bool_)
        return self._current


class OutlinesCoreGrammar:
    """outlines_core over a GGUF file's exact bytes. Tokens of equal bytes stand beside each other."""

    def __init__(self, tokenizer: Tokenizer, cache: IndexCache, notify: Notify) -> None:
        self._n_vocab = tokenizer.n_vocab
        self._ends = np.array(tokenizer.end_of_generation, dtype=np.intp)
        ends = frozenset(tokenizer.end_of_generation)
        pieces: dict[bytes, list[int]] = {}
        for token in range(tokenizer.n_vocab):
            piece = tokenizer.piece(token)
            if piece and token not in ends and not tokenizer.is_control(token):
                pieces.setdefault(piece, []).append(token)
        # outlines_core knows one token for the end. It gets one that no model has, so that all are alike.
        self._vocabulary = Vocabulary(tokenizer.n_vocab, pieces)
        self._key = f"{NAME} {sorted(pieces.items())}".encode()
        self._cache = cache
        self._notify = notify
        self._index = lru_cache(maxsize=4)(self._compile)

    def start(self, language: Language) -> OutlinesCoreConstraint:
        """A fresh constraint to a narrowed JSON Schema.

        Raises ConstraintError where it is too large, and for languages that are more than JSON: an automaton
        has no way to wait for a trigger.
        """
        return OutlinesCoreConstraint(self._index(language), self._n_vocab, self._ends)

    def _compile(self, language: Language) -> Any:
        if language.schema is None:
            raise ConstraintError("outlines_core takes JSON alone; use llguidance with this --format")
        regex = answer_regex(language.schema)
        if len(regex) > _LONGEST:
            raise ConstraintError(
                f"outlines_core: a regular expression of {len(regex):,} characters, more than {_LONGEST:,};"
                " use llguidance, or offer fewer tools"
            )
        key = hashlib.sha256(b"\0".join([self._key, regex.encode()])).hexdigest()
        kept = self._cache.load(key)
        if kept is not None:
            return kept
        self._notify(f"{NAME} compiles the grammar; it is kept, so that this takes long only once")
        try:
            index = Index(regex, self._vocabulary)
        except ValueError as error:
            raise ConstraintError(f"outlines_core: {str(error).splitlines()[0]}") from error
        self._cache.save(key, index)
        return index
