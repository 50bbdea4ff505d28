"""Which tokens may come next: Outlines' llguidance backend, held once per model.

Outlines builds its vocabulary and tokenizer anew for every generator, and applies masks inside a ctypes
callback where an exception is swallowed and leaves the output unconstrained. Here one backend lives as long
as the model, masks are taken from the matcher directly, and every fault raises.
"""

import json
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import llguidance
import llguidance.numpy
import numpy as np
import numpy.typing as npt
from outlines.backends.llguidance import LLGuidanceBackend
from outlines.types import JsonSchema

from rig.calls import JsonObject
from rig.engine.llama import LlamaModel
from rig.engine.tokenizer import Tokenizer

SEPARATORS = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""Python's own JSON separators: the form in which earlier answers are shown, and no whitespace loops."""


class ConstraintError(Exception):
    """The grammar engine failed: a grammar it cannot compile, or a state it cannot go on from."""


class Constraint:
    """The state of one generation under a grammar. Raises ConstraintError from every method.

    The text ends by itself where the grammar does, so tokens that end a generation are never allowed.
    """

    def __init__(self, matcher: Any, n_vocab: int, ends: npt.NDArray[np.intp]) -> None:
        self._matcher = matcher
        self._n_vocab = n_vocab
        self._ends = ends
        self._mask = llguidance.numpy.allocate_token_bitmask(1, n_vocab)
        self._check()

    def allowed(self) -> npt.NDArray[np.bool_]:
        """Which tokens may come next, shape (n_vocab,)."""
        llguidance.numpy.fill_next_token_bitmask(self._matcher, self._mask, 0)
        self._check()
        # The packaged way of applying the mask is ten times slower than unpacking its bits.
        bits = np.unpackbits(self._mask.view(np.uint8).ravel(), count=self._n_vocab, bitorder="little")
        bits[self._ends] = 0
        return bits.view(np.bool_)

    def accept(self, token: int) -> None:
        """Go on with a token that was allowed."""
        if not self._matcher.consume_token(token):
            self._check()
            raise ConstraintError(f"token {token} was refused")

    def forced(self) -> list[int]:
        """The tokens that must come next whatever the model says; they are accepted by this call."""
        tokens: list[int] = self._matcher.compute_ff_tokens()
        self._check()
        for token in tokens:
            self.accept(token)
        return tokens

    @property
    def complete(self) -> bool:
        """Whether the text is a whole sentence of the grammar that nothing can be added to."""
        stopped = bool(self._matcher.is_stopped())
        self._check()
        return stopped

    def _check(self) -> None:
        error = self._matcher.get_error()
        if error:
            raise ConstraintError(error.splitlines()[0])


class GrammarEngine(LLGuidanceBackend):  # type: ignore[misc]
    """Outlines' llguidance backend over a GGUF file's exact bytes and all its end-of-generation tokens."""

    name = "llguidance"

    def __init__(self, model: LlamaModel, tokenizer: Tokenizer) -> None:
        self.llg = llguidance
        self.tensor_library_name = "numpy"
        self.llg_tokenizer = llguidance.LLTokenizer.from_llamacpp(
            tokens=[_token_bytes(tokenizer, token) for token in range(model.n_vocab)],
            vocab_ptr=model.vocab,
            tokenize_fptr=model.tokenize_address,
            eos_token=list(tokenizer.end_of_generation) or tokenizer.eos,
            slices=llguidance.LLTokenizer.json_slices(),
        )
        self._n_vocab = model.n_vocab
        self._ends = np.array(tokenizer.end_of_generation, dtype=np.intp)
        self._matcher = lru_cache(maxsize=64)(self._compile)

    def start(self, schema: JsonObject) -> Constraint:
        """A fresh constraint to a JSON Schema. Raises ConstraintError for a schema it cannot enforce."""
        return Constraint(self._matcher(json.dumps(schema)).deep_copy(), self._n_vocab, self._ends)

    def _compile(self, schema: str) -> Any:
        checked = JsonSchema(schema).schema
        processor = self.get_json_schema_logits_processor(
            json.dumps({**json.loads(checked), "x-guidance": SEPARATORS})
        )
        matcher = llguidance.LLMatcher(self.llg_tokenizer, processor.grammar)
        error = matcher.get_error()
        if error:
            raise ConstraintError(error.splitlines()[0])
        return matcher


def _token_bytes(tokenizer: Tokenizer, token: int) -> bytes:
    """A token as llguidance wants it: it takes one that begins with 0xff, as no text does, for special."""
    if tokenizer.is_control(token):
        return b"\xff" + tokenizer.special_text(token).encode()
    return tokenizer.piece(token)


def fingerprint() -> dict[str, object]:
    """What of the grammar can change an answer."""
    return {
        "grammar_engine": f"llguidance {version('llguidance')}",
        "grammar_front": f"outlines {version('outlines')}",
        "grammar_separators": [SEPARATORS["item_separator"], SEPARATORS["key_separator"]],
    }
