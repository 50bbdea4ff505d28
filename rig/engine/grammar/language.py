"""What a model may write, as an answer format tells the grammar."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from rig.calls import JsonObject
from rig.engine.core.settings import ToolChoice
from rig.engine.grammar.spelling import JSON, Spelling, Tags


@dataclass(frozen=True, slots=True)
class Raw:
    """Any text, up to and including `until`, at which it ends."""

    until: str


@dataclass(frozen=True, slots=True)
class Matching:
    """Text of a regular expression, such as an id, that cannot go on into what comes after it."""

    regex: str


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call's arguments: an object of this narrowed schema, written in this way."""

    schema: JsonObject
    style: Spelling | Tags


@dataclass(frozen=True, slots=True)
class Maybe:
    """Parts that can be left out together."""

    parts: "Pattern"


Part: TypeAlias = str | JsonObject | Raw | Maybe | Matching | Arguments
"""Of a call's text: itself, a JSON value of this schema, raw text, what can be left out, and so on."""
Pattern: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Thoughts:
    """What a model thinks before it answers, between two marks. `is_open`: the prompt ends within it."""

    open: str
    close: str
    is_open: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """What a model may write. With a `schema` that is JSON which satisfies it, and nothing else.

    Otherwise it is `prefix`, one of `calls`, after every `separator` another one, and `suffix`. Without a
    separator there is one call at most. Where there is a `trigger`, words may come before it and the calls
    follow on it; and there may be words alone, with no trigger in them. With a `lead` the first trigger
    stands in the prompt already: calls come at once, and words only behind the lead.
    `replies` are calls that stand for a reply; there are none where calls are required.
    Calls can be `required`, where `call_lead` comes before the trigger, or there can be `none`. `thoughts`
    come before anything else.
    `marks` are the special tokens that may stand in words, `stops` those that end an answer beside the
    model's own where there is no grammar; like those of the calls they are spelled out in its text.
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
    choice: ToolChoice = "auto"
    thoughts: Thoughts | None = None
    marks: frozenset[str] = frozenset()
    stops: frozenset[str] = frozenset()

    @property
    def markers(self) -> Iterator[str]:
        """Every piece of text that calls are written with, for any call."""
        yield from (self.trigger, self.lead, self.call_lead)
        for pattern in (*map(as_pattern, (self.prefix, self.separator, self.suffix)), *self.calls):
            yield from _markers(pattern)
        if self.thoughts:
            yield from (self.thoughts.open, self.thoughts.close)


def as_pattern(text: str | Pattern) -> Pattern:
    """A pattern; a text alone is one of its own."""
    return ((text,) if text else ()) if isinstance(text, str) else text


def spelling_of(language: Language) -> Spelling:
    """How values are spelled in the arguments of a language; all of them alike."""
    styles = (part.style for call in language.calls for part in call if isinstance(part, Arguments))
    style = next(styles, JSON)
    return style.spelling if isinstance(style, Tags) else style


def _markers(pattern: Pattern) -> Iterator[str]:
    for part in pattern:
        match part:
            case str():
                yield part
            case Raw(until):
                yield until
            case Maybe(parts):
                yield from _markers(parts)
            case Arguments(_, Tags() as tags):
                yield from (
                    tags.before_key,
                    tags.text_open,
                    tags.text_close,
                    tags.other_open,
                    tags.other_close,
                )
                yield from (tags.join, tags.empty, tags.spelling.quote)
            case Arguments(_, Spelling() as spelling):
                yield spelling.quote
