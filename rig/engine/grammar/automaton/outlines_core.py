"""Constraints by outlines_core: an automaton over tokens, built once for a tool set and kept on disk.

What Outlines wraps around it for llama.cpp is left out: a vocabulary of text, in which the parts of split
characters are lost, and a kernel that needs numba and is silent where that is missing. The vocabulary here is
the model's own bytes.
"""

import hashlib
from functools import cached_property, lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np
from outlines_core import Guide, Index, Vocabulary

from rig.engine.grammar.automaton.calls import END, FIRST_SPECIAL, START, language_regex
from rig.engine.grammar.automaton.index_cache import IndexCache
from rig.engine.grammar.automaton.regex import answer_regex
from rig.engine.grammar.constraint import ConstraintError, Mask
from rig.engine.grammar.language import Language
from rig.engine.tokenizer import Tokenizer
from rig.models import Notify

NAME = f"outlines_core {version('outlines_core')}"

_LONGEST = 1 << 20
"""Characters of a regular expression; far fewer already take minutes and gigabytes to become an index."""
_MOST_STEPS = 20_000_000
"""From the places in free text, where nearly every token fits; each takes some 50 bytes while it is made."""
_NEARLY_EVERY = 100
"""Of the 256 bytes, at a place in free text."""


class OutlinesCoreConstraint:
    """The state of one generation: a place in the automaton.

    The text ends where the automaton does. JSON does so by itself; words, and calls that others can follow,
    have an end that the model writes. `start` is a token that is before all text.
    """

    def __init__(self, index: Any, n_vocab: int, start: int | None = None) -> None:
        self._guide = Guide(index)
        if start is not None:
            self._guide.advance(start, return_tokens=False)
        self._n_vocab = n_vocab
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
            self._current = bits.view(np.bool_)
        return self._current


class OutlinesCoreGrammar:
    """outlines_core over a GGUF file's exact bytes. Tokens of equal bytes stand side by side."""

    def __init__(self, tokenizer: Tokenizer, cache: IndexCache, notify: Notify) -> None:
        self._n_vocab = tokenizer.n_vocab
        ends = self._ends = tokenizer.end_of_generation or (tokenizer.eos,)
        pieces: dict[bytes, list[int]] = {}
        for token in range(tokenizer.n_vocab):
            piece = tokenizer.piece(token)
            if piece and token not in ends and not tokenizer.is_control(token):
                pieces.setdefault(piece, []).append(token)
        self._pieces = pieces
        self._special = {
            text: (chr(FIRST_SPECIAL + number), token)
            for number, (text, token) in enumerate(tokenizer.specials.items())
        }
        self._cache = cache
        self._notify = notify
        self._index = lru_cache(maxsize=4)(self._compile)

    def start(self, language: Language) -> OutlinesCoreConstraint:
        """A fresh constraint to a language. Raises ConstraintError if it is too large."""
        start = self._ends[0] if language.schema is None else None
        return OutlinesCoreConstraint(self._index(language), self._n_vocab, start)

    @cached_property
    def _of_text(self) -> tuple[Any, bytes]:
        """The vocabulary of text, and what it is."""
        return self._vocabulary(self._pieces)

    @cached_property
    def _of_all(self) -> tuple[Any, bytes]:
        """The vocabulary with special tokens as characters of their own, and what it is."""
        lead = chr(FIRST_SPECIAL).encode()[:1]  # that of them all; no token of text may spell one
        text = {piece: tokens for piece, tokens in self._pieces.items() if lead not in piece}
        special = {letter.encode(): [token] for letter, token in self._special.values()}
        ends = {START.encode(): [self._ends[0]], END.encode(): [*self._ends]}
        return self._vocabulary({**text, **special, **ends})

    def _vocabulary(self, pieces: dict[bytes, list[int]]) -> tuple[Any, bytes]:
        # outlines_core knows one token for the end. It gets one that no model has, so that all are alike.
        return Vocabulary(self._n_vocab, pieces), f"{NAME} {sorted(pieces.items())}".encode()

    def _compile(self, language: Language) -> Any:
        if language.schema is None:
            letters = {text: letter for text, (letter, _) in self._special.items()}
            regex, (vocabulary, told) = language_regex(language, letters), self._of_all
        else:
            regex, (vocabulary, told) = answer_regex(language.schema), self._of_text
        if len(regex) > _LONGEST:
            raise ConstraintError(
                f"outlines_core: a regular expression of {len(regex):,} characters, more than {_LONGEST:,};"
                " use llguidance, or offer fewer tools"
            )
        if language.schema is None:
            self._check_size(regex)
        key = hashlib.sha256(b"\0".join([told, regex.encode()])).hexdigest()
        kept = self._cache.load(key)
        if kept is not None:
            return kept
        self._notify(f"{NAME} compiles the grammar; it is kept, so that this takes long only once")
        try:
            index = Index(regex, vocabulary)
        except ValueError as error:
            raise ConstraintError(f"outlines_core: {str(error).splitlines()[0]}") from error
        self._cache.save(key, index)
        return index

    def _check_size(self, regex: str) -> None:
        """Raise ConstraintError for what would take too much memory, as its automaton over bytes shows.

        Strings in tags end at a text, and have a place in free text for each of its characters.
        """
        steps = Index(
            regex, Vocabulary(256, {bytes([each]): [each] for each in range(256)})
        ).get_transitions()
        places = sum(len(each) > _NEARLY_EVERY for each in steps.values())
        if places * self._n_vocab > _MOST_STEPS:
            raise ConstraintError(
                f"outlines_core: {places:,} places in free text are too many for {self._n_vocab:,} tokens;"
                " use llguidance, or offer fewer tools"
            )
