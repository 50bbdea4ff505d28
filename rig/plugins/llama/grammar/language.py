"""What a model may write: the language that an answer format gives the grammar, and what enforces it.

Arguments are written as JSON, as Python, in a family's own spelling, or each in a tag.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from rig.core.calls import Json, JsonObject
from rig.plugins.llama.core.assessment import Kind

BETWEEN_ITEMS = ", "
BETWEEN_KEY_AND_VALUE = ": "
"""Python's own JSON separators: the form in which earlier answers are shown, and no whitespace loops."""

BARE_KEY = re.compile(r"[^\s:,{}\[\]\"']{1,200}(?: {1,4}[^\s:,{}\[\]\"']{1,200}){0,40}")
"""A name without quotes: spaces are inside it alone, and it has nothing that sets names apart from values."""
CDATA = "<![CDATA[", "]]>"
UNSAFE = "<&\n"
"""Characters for which a string is put into a CDATA section, where a template does so."""


class Span(NamedTuple):
    """A piece of an answer's text and what its tokens decide; None for pieces that are not assessed."""

    text: str
    kind: Kind | None


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a value is written. With a `quote`, strings stand between two of them as they are, else as in JSON.

    With `bare_keys`, names in objects have no quotes unless they need them. `words` stand for true, false and
    null. With `ascii`, JSON strings escape all other characters. With `python`, values are written as Python
    shows them. With `indent`, JSON is laid out over lines, `margin` spaces further in than the calls.
    """

    quote: str = ""
    bare_keys: bool = False
    words: tuple[str, str, str] = ("true", "false", "null")
    between_items: str = ", "
    between_key_and_value: str = ": "
    ascii: bool = False
    python: bool = False
    indent: int = 0
    margin: int = 0

    def write(self, value: Json) -> str:
        """Return a JSON value as text."""
        if self.python:
            return repr(value)
        if self.indent:
            laid_out = json.dumps(value, ensure_ascii=self.ascii, indent=self.indent)
            return laid_out.replace("\n", "\n" + " " * self.margin)
        match value:
            case None | bool():
                return self.words[(True, False, None).index(value)]
            case str() if self.quote:
                return f"{self.quote}{value}{self.quote}"
            case dict():
                keys = {name: self.key(name) for name in value}
                colon = self.between_key_and_value
                texts = (f"{keys[name]}{colon}{self.write(member)}" for name, member in value.items())
                return f"{{{self.between_items.join(texts)}}}"
            case list() | tuple():
                return f"[{self.between_items.join(map(self.write, value))}]"
        return self._json(value)

    def key(self, name: str) -> str:
        """Return a name in an object as text."""
        if self.python:
            return repr(name)
        return name if self.bare_keys and BARE_KEY.fullmatch(name) else self._json(name)

    def _json(self, value: Json) -> str:
        return json.dumps(value, ensure_ascii=self.ascii)

    def parts(self, arguments: Json) -> Iterator[Span]:
        """Yield the arguments of a call piece by piece."""
        if self.indent:
            yield Span(self.write(arguments), "value")
        elif not arguments or not isinstance(arguments, dict):
            yield Span(self.write(arguments), "parameter")
        else:
            before = "{"
            for name, value in arguments.items():
                yield Span(before + self.write({name: 0})[1:-2], "parameter")
                yield Span(self.write(value), "value")
                before = self.between_items
            yield Span("}", "parameter")

    @property
    def is_json(self) -> bool:
        """Whether it is JSON, with any separators."""
        return not (self.quote or self.bare_keys or self.python) and self.words == JSON.words


JSON = Spelling()
COMPACT = Spelling(between_items=",", between_key_and_value=":")
PYTHON = Spelling(words=("True", "False", "None"), python=True)


KIND = "\ue0f6"
"""Stands for the type of a value in what precedes it."""
KINDS = ("number", "boolean", "null", "object", "array")


def kind_of(value: Json) -> str:
    """Return the type of a value that is no string, as JSON names it."""
    match value:
        case bool():
            return "boolean"
        case None:
            return "null"
        case dict():
            return "object"
        case list():
            return "array"
    return "number"


@dataclass(frozen=True, slots=True)
class Tags:
    """Arguments one by one: each name after `before_key`, and its value between `open` and `close`.

    Strings stand as they are between `text_open` and `text_close`, all other values in the `spelling` between
    `other_open`, which can hold the type of the value (`KIND`), and `other_close`. `join` comes between two
    arguments; `empty` stands for none.
    """

    before_key: str
    text_open: str
    text_close: str
    other_open: str
    other_close: str
    join: str = ""
    empty: str = ""
    spelling: Spelling = JSON
    words: tuple[str, str, str] = ("true", "false", "null")
    """The words for true, false and null where one of them is the whole value."""
    quoted: bool = False
    """Whether strings are written as in JSON, with their quotes."""
    wrapped: bool = False
    """Whether strings that could be mistaken for tags stand in a CDATA section, as in XML."""

    def write(self, arguments: JsonObject) -> str:
        """Return the arguments as text."""
        return "".join(text for text, _ in self.parts(arguments))

    def parts(self, arguments: JsonObject) -> Iterator[Span]:
        """Yield the arguments of a call piece by piece."""
        join = ""
        for name, value in arguments.items():
            text, closed = self.value(value), self.other_close
            opened = self.other_open.replace(KIND, kind_of(value))
            if isinstance(value, str) and not self.quoted:
                is_unsafe = self.wrapped and any(character in value for character in UNSAFE)
                text = value.join(CDATA) if is_unsafe else value
                opened, closed = self.text_open, self.text_close
            yield Span(f"{join}{self.before_key}{name}{opened}", "parameter")
            yield Span(text, "value")
            yield Span(closed, "parameter")
            join = self.join
        if not arguments:
            yield Span(self.empty, "parameter")

    def value(self, value: Json) -> str:
        """Return the text of a value that is not a bare string."""
        if value is None or isinstance(value, bool):
            return self.words[(True, False, None).index(value)]
        return self.spelling.write(value)


@dataclass(frozen=True, slots=True)
class NestedTags:
    """Arguments as elements that are named after them, with a `mark` before every tag.

    Objects are elements within elements, lists are elements named `item`, and null is left out.
    """

    mark: str

    def write(self, value: Json) -> str:
        """Return a value as text."""
        match value:
            case None:
                return ""
            case str():
                return value
            case dict():
                members = ((name, member) for name, member in value.items() if member is not None)
                return "".join(self._element(name, member) for name, member in members)
            case list():
                return "".join(self._element("item", item) for item in value)
        return json.dumps(value)

    def _element(self, name: str, value: Json) -> str:
        return f"{self.opened(name)}{self.write(value)}{self.closed(name)}"

    def opened(self, name: str) -> str:
        """Return the tag that opens an element."""
        return f"{self.mark}<{name}>"

    def closed(self, name: str) -> str:
        """Return the tag that closes an element."""
        return f"{self.mark}</{name}>"

    def parts(self, arguments: JsonObject) -> Iterator[Span]:
        """Yield the arguments of a call piece by piece."""
        for name, value in arguments.items():
            if value is not None:
                yield Span(self.opened(name), "parameter")
                yield Span(self.write(value), "value")
                yield Span(self.closed(name), "parameter")


@dataclass(frozen=True, slots=True)
class Raw:
    """Any text that ends with the first `until`, which is part of it."""

    until: str


@dataclass(frozen=True, slots=True)
class RegexText:
    """Text that matches a regular expression, such as an id, and cannot run on into what follows it."""

    regex: str


Style: TypeAlias = Spelling | Tags | NestedTags
"""How the arguments of a call are written."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call's arguments: an object that satisfies a narrowed schema, written in a style."""

    schema: JsonObject
    style: "Style"


@dataclass(frozen=True, slots=True)
class Maybe:
    """Parts that can only be left out together."""

    parts: "Pattern"


Part: TypeAlias = str | JsonObject | Raw | Maybe | RegexText | Arguments
"""A part of a call's text: fixed text, a JSON value of a schema, raw text, an optional part, and so on."""
Pattern: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Thoughts:
    """What a model thinks before it answers, between two marks. `is_open`: the prompt ends between them."""

    open: str
    close: str
    is_open: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """What a model may write. With a `schema` it is JSON that satisfies the schema, and nothing else.

    Otherwise it is `prefix`, one of `calls`, another one after every `separator`, and `suffix`. Without a
    separator there is one call at most. With a `trigger`, words may come before it and the calls follow it;
    there may also be words alone, without a trigger in them. With a `lead`, the prompt contains the first
    trigger already: calls come at once, and words only after the lead. `replies` are calls that stand for a
    reply; they are left out where calls are required. Calls can be `required`, with `call_lead` before the
    trigger, or there can be `none`. `thoughts` come before anything else. `marks` are the special tokens that
    words may contain, or texts of several; like those of calls, they are spelled out in the text. `leaks` are
    the schemas of tools by name: where words begin a call of one of them as JSON, its arguments are held to
    the schema.
    """

    schema: JsonObject | None = None
    calls: tuple[Pattern, ...] = ()
    replies: tuple[Pattern, ...] = ()
    trigger: str = ""
    prefix: str | Pattern = ""
    separator: str | Pattern = ""
    suffix: str | Pattern = ""
    lead: str = ""
    call_lead: str = ""
    choice: str = "auto"
    thoughts: Thoughts | None = None
    marks: frozenset[str] = frozenset()
    leaks: Mapping[str, JsonObject] = field(default_factory=dict)

    @property
    def markers(self) -> Iterator[str]:
        """Every piece of text that any call is written with."""
        yield from (self.trigger, self.lead, self.call_lead)
        for pattern in (*map(as_pattern, (self.prefix, self.separator, self.suffix)), *self.calls):
            yield from _markers(pattern)
        if self.thoughts:
            yield from (self.thoughts.open, self.thoughts.close)


def as_pattern(text: str | Pattern) -> Pattern:
    """Return a pattern as it is, and a text as a pattern of this one part."""
    return ((text,) if text else ()) if isinstance(text, str) else text


def spelling_of(language: Language) -> Spelling:
    """Return how values are spelled in the arguments of a language, which is the same in all of them."""
    styles = (part.style for call in language.calls for part in call if isinstance(part, Arguments))
    return spelling_in(next(styles, JSON))


def spelling_in(style: Style) -> Spelling:
    """Return how values are spelled in arguments of a style."""
    match style:
        case Tags():
            return style.spelling
        case NestedTags():
            return JSON
    return style


def _markers(pattern: Pattern) -> Iterator[str]:
    for part in pattern:
        match part:
            case str(text) | Raw(text):
                yield text
            case Maybe(parts):
                yield from _markers(parts)
            case Arguments(_, Spelling() as spelling):
                yield spelling.quote
            case Arguments(_, NestedTags(mark)):
                yield mark
            case Arguments(_, Tags() as tags):
                yield from (tags.before_key, tags.text_open, tags.text_close, *tags.other_open.split(KIND))
                yield from (tags.other_close, tags.join, tags.empty, tags.spelling.quote)


if TYPE_CHECKING:  # answer formats can be listed without loading a model library
    from rig.plugins.llama.core.tokenizer import Tokenizer

Mask = npt.NDArray[np.bool_]
"""Which tokens may come next, shape (n_vocab,). The caller may change it."""


class ConstraintError(Exception):
    """The grammar engine failed: it cannot compile a grammar, or cannot go on from a state."""


class Constraint(Protocol):
    """The state of one generation. A method that fails raises ConstraintError, and so do all later calls."""

    def allowed(self) -> Mask:
        """Return which tokens may come next, including those that may end the generation."""

    def accept(self, token: int) -> None:
        """Continue with a token, which must be allowed."""

    def forced(self) -> list[int]:
        """Return the tokens that must come next, whatever the model would choose; this call accepts them."""

    @property
    def complete(self) -> bool:
        """Whether the text is complete and nothing can be added to it."""


class Grammar(Protocol):
    """Makes constraints for one model and its settings."""

    def start(self, language: Language) -> Constraint:
        """Return a new constraint to a language. Raises ConstraintError for one that it cannot enforce."""


class FreeConstraint:
    """One free generation. It has no control tokens except those that end it and the format's own marks.

    Once thoughts are open, a token that closes them does not end the generation.
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
    """Makes free constraints, which heed only the special tokens that a language is written with."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self._tokenizer = tokenizer
        pieces = map(tokenizer.piece, range(tokenizer.n_vocab))
        self._text = np.array([bool(piece) for piece in pieces], dtype=np.bool_)
        self._text[list(tokenizer.specials.values())] = False
        self._masks = lru_cache(maxsize=64)(self._mask)

    def start(self, language: Language) -> FreeConstraint:
        return FreeConstraint(*self._masks(language))

    def _mask(self, language: Language) -> tuple[Mask, frozenset[int], frozenset[int], frozenset[int]]:
        """Return the allowed tokens, those that end the answer, and those that open and close thoughts."""
        specials, thoughts = self._tokenizer.specials, language.thoughts

        def tokens_in(texts: str) -> frozenset[int]:
            return frozenset(token for text, token in specials.items() if text in texts)

        ends = frozenset(self._tokenizer.end_of_generation)
        marks = tokens_in("\0".join((*language.marks, *language.markers)))
        allowed = self._text.copy()
        allowed[list(ends | marks)] = True
        opening = tokens_in(thoughts.open if thoughts and not thoughts.is_open else "")
        return allowed, ends, opening, tokens_in(thoughts.close if thoughts else "")
