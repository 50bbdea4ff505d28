"""Constraints by llguidance: Outlines' backend for it, made once per model.

Outlines builds its vocabulary and tokenizer again for every generator, and applies masks inside a ctypes
callback, where an exception is swallowed and leaves the output unconstrained. Here, one backend lives as long
as the model, masks are taken from the matcher directly, and every fault raises.
"""

from functools import lru_cache
from typing import Any

import llguidance
import llguidance.numpy
import numpy as np
import numpy.typing as npt
from outlines.backends.llguidance import LLGuidanceBackend

from rig.engine.core.llama import LlamaModel
from rig.engine.core.tokenizer import Tokenizer
from rig.engine.grammar import lark
from rig.engine.grammar.language import Constraint, ConstraintError, Language, Mask
from rig.engine.grammar.leak import SPACE, LeakConstraint
from rig.errors import RigError


class LLGuidanceConstraint:
    """The state of one generation under a grammar. None of the tokens in `ends` is ever allowed.

    JSON ends by itself where the grammar does. The model decides where words end, and calls that others can
    follow.
    """

    def __init__(self, matcher: Any, n_vocab: int, ends: npt.NDArray[np.intp]) -> None:
        self._matcher = matcher
        self._n_vocab = n_vocab
        self._ends = ends
        self._mask = llguidance.numpy.allocate_token_bitmask(1, n_vocab)
        self._check()

    def allowed(self) -> Mask:
        llguidance.numpy.fill_next_token_bitmask(self._matcher, self._mask, 0)
        self._check()
        # The packaged way of applying the mask is ten times slower than unpacking its bits.
        bits = np.unpackbits(self._mask.view(np.uint8).ravel(), count=self._n_vocab, bitorder="little")
        bits[self._ends] = 0
        return bits.view(np.bool_)

    def accept(self, token: int) -> None:
        if not self._matcher.consume_token(token):
            self._check()
            raise ConstraintError(f"token {token} was refused")

    def forced(self) -> list[int]:
        tokens: list[int] = self._matcher.compute_ff_tokens()
        self._check()
        for token in tokens:
            self.accept(token)
        return tokens

    @property
    def complete(self) -> bool:
        stopped = bool(self._matcher.is_stopped())
        self._check()
        return stopped

    def _check(self) -> None:
        error = self._matcher.get_error()
        if error:
            raise ConstraintError(_in_a_line(error))


class LLGuidanceGrammar(LLGuidanceBackend):  # type: ignore[misc]
    """Outlines' llguidance backend over a GGUF file's exact bytes and all its end-of-generation tokens.

    With `free_order` parameters may come in any order, otherwise in the schema's.
    """

    def __init__(self, model: LlamaModel, tokenizer: Tokenizer, *, free_order: bool = False) -> None:
        self.llg = llguidance
        self.tensor_library_name = "numpy"
        try:
            self.llg_tokenizer = llguidance.LLTokenizer.from_llamacpp(
                # A token that begins with 0xff, as no text does, counts as special.
                tokens=[
                    b"\xff" + tokenizer.special_text(token).encode()
                    if tokenizer.is_control(token)
                    else tokenizer.piece(token)
                    for token in range(model.n_vocab)
                ],
                vocab_ptr=model.vocab,
                tokenize_fptr=model.tokenize_address,
                eos_token=list(tokenizer.end_of_generation) or tokenizer.eos,
                slices=llguidance.LLTokenizer.json_slices(),
            )
        except ValueError as error:
            fault = f"{model.path}: no grammar can hold its tokens: {error}; is it damaged?"
            raise RigError(fault) from error
        self._n_vocab = model.n_vocab
        self._ends = np.array(tokenizer.end_of_generation, dtype=np.intp)
        self._specials = tokenizer.specials
        self._free_order = free_order
        self._tokenizer = tokenizer
        self._matcher = lru_cache(maxsize=64)(self._compile)
        self._json = lru_cache(maxsize=512)(self._compile_json)

    def start(self, language: Language) -> Constraint:
        """Return a new constraint to a language. Raises ConstraintError for one that it cannot enforce."""
        ends = self._ends if language.schema else self._ends[:0]
        words = LLGuidanceConstraint(self._matcher(language).deep_copy(), self._n_vocab, ends)
        if not language.leaks:
            return words
        return LeakConstraint(words, language, self._tokenizer, self._leaked)

    def _leaked(self, schema: str) -> LLGuidanceConstraint:
        """Return a constraint to JSON of this schema, however it is laid out, and then to anything."""
        return LLGuidanceConstraint(self._json(schema).deep_copy(), self._n_vocab, self._ends[:0])

    def _compile_json(self, schema: str) -> Any:
        rules = ("start: SPACE? arguments REST?", f"SPACE: /{SPACE}/", "REST: /(?s:.+)/")
        text = "\n".join((*rules, f"arguments: {lark.laid_out(schema)}\n"))
        return self._compiled(str(llguidance.LLMatcher.grammar_from_lark(text)))

    def _compile(self, language: Language) -> Any:
        return self._compiled(self._grammar(language))

    def _compiled(self, grammar: str) -> Any:
        matcher = llguidance.LLMatcher(self.llg_tokenizer, grammar, log_level=0)
        if error := matcher.get_error():
            raise ConstraintError(_in_a_line(error))
        return matcher

    def _grammar(self, language: Language) -> str:
        text = lark.grammar(language, self._specials, free_order=self._free_order)
        # Outlines would guess a grammar's dialect from its content, tools' names included.
        return str(llguidance.LLMatcher.grammar_from_lark(text))


def _in_a_line(error: str) -> str:
    """Return llguidance's error in one line: its first line, plus the last if the first ends with a colon."""
    lines = error.strip().splitlines() or [""]
    return f"{lines[0]} {lines[-1].strip()}" if lines[0].endswith(":") else lines[0]
