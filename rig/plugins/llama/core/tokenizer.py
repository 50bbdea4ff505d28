"""Text to token ids and back, by the GGUF file's own vocabulary."""

import ctypes
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import TypeAlias

from rig.plugins.llama.core.llama import C, LlamaModel

Segment: TypeAlias = tuple[int, ...]
"""Tokens of a prompt that are prefilled, and found again in the cache, together."""
LONGEST_WHOLE = 1 << 15
"""The most characters of a text that is tokenised as a whole."""
_PIECE = 1 << 11
_SPM = 1  # llama.h: LLAMA_VOCAB_TYPE_SPM


class Tokenizer:
    """Tokenises template text, where special tokens count, and content, where they must not.

    Content comes from users, tools and models; `<|im_end|>` in it stays text.
    """

    def __init__(self, model: LlamaModel) -> None:
        self._vocab = model.vocab
        self.n_vocab = model.n_vocab
        self.bos: int = C.llama_vocab_bos(self._vocab)
        self.eos: int = C.llama_vocab_eos(self._vocab)
        self.adds_bos: bool = C.llama_vocab_get_add_bos(self._vocab) and self.bos >= 0
        self.end_of_generation: tuple[int, ...] = tuple(
            token for token in range(self.n_vocab) if C.llama_vocab_is_eog(self._vocab, token)
        )
        # SentencePiece vocabularies may put a space before any text. Content follows other text, so it is
        # tokenised after a newline, whose own tokens are then removed.
        self._lead = "\n" if C.llama_vocab_type(self._vocab) == _SPM else ""
        self._lead_tokens = self._tokenize(self._lead, special=False)

    def template(self, text: str) -> list[int]:
        """Return the token ids of text that the chat template wrote; special tokens are recognised."""
        return self._tokenize(text, special=True)

    def content(self, text: str, *, special: bool = False) -> list[int]:
        """Return the token ids of text that follows other text.

        No special token is recognised in it, since it comes from outside, except with `special`, which is for
        text that continues an answer.
        """
        tokens = self._tokenize(self._lead + text, special=special)
        lead = len(self._lead_tokens)
        # A merge across the seam would change the newline's own tokens; then the text stands alone.
        return tokens[lead:] if tokens[:lead] == self._lead_tokens else self._tokenize(text, special=special)

    def document(self, text: str) -> list[int]:
        """Return the token ids of a text with nothing before it, as llama.cpp's own programs read one."""
        beginning = [self.bos] if self.adds_bos else []
        return beginning + self._tokenize(text, special=False)

    @cached_property
    def vocabulary(self) -> str:
        """A SHA-256 over all tokens. Distributions over different vocabularies cannot be compared."""
        digest = hashlib.sha256()
        for piece in map(self.piece, range(self.n_vocab)):
            digest.update(len(piece).to_bytes(4, "little") + piece)
        return digest.hexdigest()

    def piece(self, token: int) -> bytes:
        """Return the bytes of one token, empty for control tokens. They may be part of a UTF-8 character."""
        count = -64  # negative: how much room is needed
        while count < 0:
            buffer = ctypes.create_string_buffer(-count)
            count = C.llama_token_to_piece(self._vocab, token, buffer, len(buffer), 0, False)
        return buffer.raw[:count]

    def shown(self, token: int, marks: frozenset[int] = frozenset()) -> bytes:
        """Return the bytes that a generated token adds to an answer: nothing if it ends the answer.

        Special tokens are spelled out (grammars let few of them through), and so are those in `marks`.
        """
        if token in self.end_of_generation and token not in marks:
            return b""
        return self.piece(token) or (self.special_text(token).encode() if self.is_control(token) else b"")

    def ends_in(self, texts: Iterable[str]) -> frozenset[int]:
        """Return the tokens that end a generation and are spelled in one of these texts."""
        together = "\0".join(texts)
        return frozenset(end for end in self.end_of_generation if self.special_text(end) in together)

    @cached_property
    def specials(self) -> dict[str, int]:
        """The tokens that stand for something other than text, by their spelling."""
        controls = filter(self.is_control, range(self.n_vocab))
        return {text: token for token in controls if (text := self.special_text(token))}

    def is_control(self, token: int) -> bool:
        """Return whether a token stands for something other than text, by its type or its spelling.

        Some files declare their special tokens as user-defined; llguidance treats such tokens alike.
        """
        attributes = C.llama_vocab_get_attr(self._vocab, token)
        if attributes & C.LLAMA_TOKEN_ATTR_CONTROL:
            return True
        text = self.special_text(token)
        declared = bool(attributes & C.LLAMA_TOKEN_ATTR_USER_DEFINED)
        return declared and text.startswith("<") and text.endswith(">")

    def special_text(self, token: int) -> str:
        """Return a special token's spelling, as chat templates want `bos_token` and `eos_token`."""
        return C.llama_vocab_get_text(self._vocab, token).decode("utf-8", "replace") if token >= 0 else ""

    def _tokenize(self, text: str, *, special: bool) -> list[int]:
        """Tokenize a text, a long one in pieces because llama.cpp copies it for each special token in it."""
        is_long = len(text) > LONGEST_WHOLE
        tokens: list[int] = []
        for piece in _pieces(text, self._split_texts(special=special)) if is_long else (text,):
            data = piece.encode("utf-8", "replace")
            count = -len(data) - 8  # negative: how much room is needed
            while count < 0:
                buffer = (C.llama_token * -count)()
                count = C.llama_tokenize(self._vocab, data, len(data), buffer, len(buffer), False, special)
            tokens += buffer[:count]
        return tokens

    @lru_cache(maxsize=2)  # noqa: B019 - as long as the model
    def _split_texts(self, *, special: bool) -> dict[str, bool]:
        """Return the tokens at which llama.cpp splits a text before anything else, by their spelling.

        The value is True for those that do not absorb white space before them.
        """
        kinds = C.LLAMA_TOKEN_ATTR_USER_DEFINED
        if special:
            kinds |= C.LLAMA_TOKEN_ATTR_CONTROL | C.LLAMA_TOKEN_ATTR_UNKNOWN
        attributes = ((token, C.llama_vocab_get_attr(self._vocab, token)) for token in range(self.n_vocab))
        return {
            self.special_text(token): not attribute & C.LLAMA_TOKEN_ATTR_LSTRIP
            for token, attribute in attributes
            if attribute & kinds
        }


def _pieces(text: str, splits: Mapping[str, bool]) -> Iterator[str]:
    """Yield a text cut where special tokens begin, so that its pieces have the tokens of the whole.

    A text with no place for a cut stays whole.
    """
    begins = frozenset(token[:2] for token in splits)
    lengths = sorted(filter(None, set(map(len, splits))), reverse=True)

    def begun(place: int) -> str:
        """Return the special token that begins at a place; empty if none does."""
        if text[place : place + 2] not in begins and text[place] not in begins:
            return ""
        ends = (text[place : place + length] for length in lengths)
        return next((token for token in ends if token in splits), "")

    def is_cut(place: int) -> bool:
        if text[place].isspace() or not splits.get(begun(place)):
            return False
        return not any(len(begun(b)) > place - b for b in range(max(start, place - lengths[0]), place))

    start, place = 0, _PIECE
    while lengths and place < len(text):
        if is_cut(place):
            yield text[start:place]
            start, place = place, place + _PIECE
        else:
            place += 1
    yield text[start:]
