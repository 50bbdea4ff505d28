"""What a model may write, as a form of answers says it to the grammar."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from rig.calls import JsonObject


@dataclass(frozen=True, slots=True)
class Raw:
    """Any text, up to and including `until`, at which it ends."""

    until: str


@dataclass(frozen=True, slots=True)
class Maybe:
    """Parts that can be left out together."""

    parts: "Pattern"


Part: TypeAlias = str | JsonObject | Raw | Maybe
"""Of a call's text: itself, a JSON value of this schema, raw text, or what can be left out."""
Pattern: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """What a model may write. With a `schema` that is JSON which satisfies it, and nothing else.

    Otherwise it is `prefix`, one of `calls`, after every `separator` another one, and `suffix`. Without a
    separator there is one call at most. Where there is a `trigger`, words may come before it and the calls
    follow on it; and there may be words alone, with no trigger in them.
    `marks` are the special tokens that may stand in words, `stops` those that end an answer beside the
    model's own where there is no grammar; like those of the calls they are spelled out in its text.
    """

    schema: JsonObject | None = None
    calls: tuple[Pattern, ...] = ()
    trigger: str = ""
    prefix: str = ""
    separator: str = ""
    suffix: str = ""
    marks: frozenset[str] = frozenset()
    stops: frozenset[str] = frozenset()

    @property
    def markers(self) -> Iterator[str]:
        """Every piece of text that calls are written with, whatever is called."""
        yield from (self.trigger, self.prefix, self.separator, self.suffix)
        for pattern in self.calls:
            yield from _markers(pattern)


def _markers(pattern: Pattern) -> Iterator[str]:
    for part in pattern:
        match part:
            case str():
                yield part
            case Raw(until):
                yield until
            case Maybe(parts):
                yield from _markers(parts)
