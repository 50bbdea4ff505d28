"""A constraint that follows words, and holds the arguments of a leaked call to the tool's schema.

Words are free, and a model may begin a call in them as JSON. llguidance cannot watch words for the names of
28 tools at once: the lexer of such a grammar outgrows its bounds. Here the words are watched as text, and
from the point where a call of a known tool has begun, a second constraint holds its arguments until their
object ends.
"""

import json
import re
from collections.abc import Callable

from rig.engine.core.tokenizer import Tokenizer
from rig.engine.grammar.language import Constraint, ConstraintError, Language, Mask
from rig.toolbox.schemas import without_keys

SPACE = r"[ \n\r\t]{1,40}"

_BEGUN = re.compile(
    r"\{\s{0,40}\"(?:name|tool|tool_name|function)\"\s{0,40}:\s{0,40}\"(?P<tool>[\w.-]{1,200})\"\s{0,40},\s{0,40}"
    r"\"(?:arguments|parameters)\"\s{0,40}:"
)
_LONGEST = 700
"""Characters of words that are searched again with each token: no beginning of a call is longer."""
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
"""Bounds of numbers are left to the check after decoding: llguidance leaves out some numbers between them."""


class LeakConstraint:
    """Follows `words`, and within them holds leaked arguments by constraints that `held` makes of schemas."""

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
        self._start = 0

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
            if b"}" in piece and self._end() is not None:
                self._arguments, self._begun = None, len(self._text)
        elif b":" in piece and self._trigger not in self._text and (begun := self._call()):
            schema = json.dumps(without_keys(self._leaks[begun["tool"]], _BOUNDS))
            self._arguments, self._begun = self._held(schema), len(self._text)
            rest = begun.string[begun.end() :]
            self._start = len(self._text) - len(rest.encode())
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

    def _end(self) -> int | None:
        """Return where the object of the held arguments ends, if it does."""
        try:
            return json.JSONDecoder().raw_decode(
                self._text[self._start :].decode("utf-8", "replace").lstrip()
            )[1]
        except ValueError:
            return None
