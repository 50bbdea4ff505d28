"""Constraints by llguidance: Outlines' backend for it, made once per model.

Outlines builds its vocabulary and tokenizer again for every generator, and applies masks inside a ctypes
callback, where an exception is swallowed and leaves the output unconstrained. Here, one backend lives as long
as the model, masks are taken from the matcher directly, and every fault raises.
"""

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import llguidance
import llguidance.numpy
import numpy as np
import numpy.typing as npt
from outlines.backends.llguidance import LLGuidanceBackend
from outlines.types import CFG

from rig.core.errors import RigError
from rig.plugins.llama.core.llama import LlamaModel
from rig.plugins.llama.core.tokenizer import Tokenizer
from rig.plugins.llama.grammar import lark
from rig.plugins.llama.grammar.language import Constraint, ConstraintError, Language, Mask
from rig.world.schemas import without_keys

SPACE = r"[ \n\r\t]{1,40}"

_BEGUN = re.compile(
    r"\{\s{0,40}\"(?:name|tool|tool_name|function|action)\"\s{0,40}:\s{0,40}\"(?P<tool>[^\"\\]{1,200})\"\s{0,40},\s{0,40}"
    r"\"(?:arguments|parameters|args|input|action_input|tool_input)\"\s{0,40}:"
)
_QUOTE, _BACKSLASH = b'"\\'
_LONGEST = 700
"""Characters of words that are searched again with each token: no beginning of a call is longer."""
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
"""Bounds of numbers are left to the check after decoding: llguidance leaves out some numbers between them."""


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


class ObjectEnd:
    """Follows JSON piece by piece, and says when the value that it began with has ended."""

    def __init__(self) -> None:
        self._depth, self._is_text, self._is_escaped = 0, False, False

    def take(self, piece: bytes) -> bool:
        """Take the next piece; return whether the outermost brackets are closed in it."""
        for byte in piece:
            if self._is_text:
                self._is_text = self._is_escaped or byte != _QUOTE
                self._is_escaped = byte == _BACKSLASH and not self._is_escaped
            elif byte == _QUOTE:
                self._is_text = True
            elif byte in b"{[":
                self._depth += 1
            elif byte in b"}]":
                self._depth -= 1
                if self._depth <= 0:
                    return True
        return False


class LeakConstraint:
    """Follows `words`, and within them holds leaked arguments by constraints that `held` makes of schemas.

    Words are free, and a model may begin a call in them as JSON. llguidance cannot watch words for the names
    of 28 tools at once: the lexer of such a grammar outgrows its bounds. Here the words are watched as text,
    and from the point where a call of a known tool has begun, a second constraint holds its arguments until
    their object ends.
    """

    def __init__(
        self, words: Constraint, language: Language, tokenizer: Tokenizer, held: Callable[[str], Constraint]
    ) -> None:
        self._words, self._held = words, held
        self._leaks, self._thoughts = language.leaks, language.thoughts
        self._trigger = language.trigger.encode()
        self._tokenizer = tokenizer
        self._marks = tokenizer.ends_in(language.markers)
        self._text = b""
        self._begun = 0
        """Where the text is searched from: behind the last leaked call."""
        self._arguments: Constraint | None = None
        self._object = ObjectEnd()

    def allowed(self) -> Mask:
        mask = self._words.allowed()
        if self._arguments is not None:
            mask &= self._arguments.allowed()
        return mask

    def accept(self, token: int) -> None:
        self._words.accept(token)
        if self._arguments is not None:
            self._arguments.accept(token)
        self._follow(token)

    def forced(self) -> list[int]:
        tokens = self._words.forced()
        for token in tokens:
            if self._arguments is not None:
                self._arguments.accept(token)
            self._follow(token)
        return tokens

    @property
    def complete(self) -> bool:
        return self._words.complete

    def _follow(self, token: int) -> None:
        """Take in a token's text: it may begin a call, or end the arguments that are held."""
        piece = self._tokenizer.shown(token, self._marks)
        self._text += piece
        if self._arguments is not None:
            if self._object.take(piece):
                self._arguments, self._begun = None, len(self._text)
        elif b":" in piece and self._trigger not in self._text and (begun := self._call()):
            schema = json.dumps(without_keys(self._leaks[begun["tool"]], _BOUNDS))
            self._arguments, self._begun = self._held(schema), len(self._text)
            rest = begun.string[begun.end() :]
            self._object = ObjectEnd()
            self._object.take(rest.encode())
            try:
                for other in self._tokenizer.content(rest) if rest else ():
                    self._arguments.accept(other)
            except ConstraintError:
                self._arguments = None  # the token that ends the beginning goes on as no arguments do

    def _call(self) -> re.Match[str] | None:
        """Return the beginning of a call of a known tool that the text ends with, outside of thoughts."""
        text = self._text[max(self._begun, len(self._text) - _LONGEST) :].decode("utf-8", "replace")
        begun = None
        for match in _BEGUN.finditer(text):
            begun = match
        if begun is None or begun["tool"] not in self._leaks or text[begun.end() :].strip(' \n\t{"'):
            return None
        return None if self._is_thinking() else begun

    def _is_thinking(self) -> bool:
        thoughts = self._thoughts
        if thoughts is None or thoughts.close.encode() in self._text:
            return False
        return thoughts.is_open or self._text.lstrip().startswith(thoughts.open.encode())


class LLGuidanceGrammar(LLGuidanceBackend):  # type: ignore[misc]
    """Outlines' llguidance backend over a GGUF file's exact bytes and all its end-of-generation tokens."""

    def __init__(self, model: LlamaModel, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        super().__init__(model)
        self._n_vocab = model.n_vocab
        self._ends = np.array(tokenizer.end_of_generation, dtype=np.intp)
        self._matcher = lru_cache(maxsize=64)(self._compile)
        self._json = lru_cache(maxsize=512)(self._compile_json)

    def _create_llg_tokenizer(self, model: LlamaModel) -> Any:
        """Return the tokenizer, in place of Outlines' own, whose pieces have lost the parts of characters."""
        tokenizer = self._tokenizer
        try:
            return llguidance.LLTokenizer.from_llamacpp(
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
        return self._compiled(CFG("\n".join((*rules, f"arguments: {lark.laid_out(schema)}\n"))))

    def _compile(self, language: Language) -> Any:
        return self._compiled(CFG(lark.grammar(language, self._tokenizer.specials)))

    def _compiled(self, grammar: CFG) -> Any:
        # Outlines would guess a grammar's dialect from its content, tools' names included.
        lark_text = self.llg.LLMatcher.grammar_from_lark(grammar.definition)
        matcher = self.llg.LLMatcher(self.llg_tokenizer, lark_text, log_level=0)
        if error := matcher.get_error():
            raise ConstraintError(_in_a_line(error))
        return matcher


def _in_a_line(error: str) -> str:
    """Return llguidance's error in one line: its first line, plus the last if the first ends with a colon."""
    lines = error.strip().splitlines() or [""]
    return f"{lines[0]} {lines[-1].strip()}" if lines[0].endswith(":") else lines[0]
