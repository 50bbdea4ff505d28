"""Text of any size, cut to what a reader can use, with a note of how much was left out."""

import json
from dataclasses import dataclass

from rig.calls import Json
from rig.displays.signs import ELLIPSIS
from rig.errors import counted

LIMIT = 4_000
"""Characters of one text that are shown where nobody asked for all of it. The store keeps all of it."""


@dataclass(frozen=True, slots=True)
class Clip:
    """The beginning of a text and how many characters follow it."""

    text: str
    omitted: int = 0

    @property
    def rest(self) -> str:
        """What is said about the characters left out; empty if there are none."""
        return more(self.omitted)

    @property
    def line(self) -> str:
        """All that is shown of it on one line, even of a text of several."""
        return str(self).replace("\n", "\\n")

    def __str__(self) -> str:
        return f"{self.text}{self.rest}"


def more(omitted: int) -> str:
    """The note on how many characters were left out."""
    return f" {ELLIPSIS} {counted(omitted, 'more character')}" if omitted else ""


def clip(text: str, limit: int = LIMIT) -> Clip:
    """`text` if it is no longer than `limit` characters, else its beginning."""
    return Clip(text) if len(text) <= limit else Clip(text[:limit], len(text) - limit)


def cut_json(value: Json, limit: int) -> tuple[Json, int]:
    """`value` with texts cut to `limit` characters and lists to as many items, and how many were cut."""
    if isinstance(value, str):
        return (value, 0) if len(value) <= limit else (str(clip(value, limit)), 1)
    if isinstance(value, dict):
        result: dict[str, Json] = {}
        cut = 0
        for number, (name, part) in enumerate(value.items()):
            key = name if len(name) <= limit else f"{number}: {clip(name, limit)}"
            result[key], often = cut_json(part, limit)
            cut += often + (key != name)
        return result, cut
    if isinstance(value, list | tuple):
        items = [cut_json(part, limit) for part in value[:limit]]
        return [part for part, _ in items], sum(cut for _, cut in items) + (len(value) > limit)
    return value, 0


def clip_json(value: Json, limit: int = LIMIT) -> Clip:
    """`value` as one line of JSON, clipped."""
    try:
        return clip(json.dumps(value, ensure_ascii=False), limit)
    except (RecursionError, TypeError, ValueError):
        return Clip("(cannot be shown as JSON)")
