"""Text of any size cut down to what a screen can use, knowing how much was left out."""

import json
from dataclasses import dataclass

from rig.calls import Json

LIMIT = 4_000
"""Characters of one text that the view keeps. The store keeps all of it."""


@dataclass(frozen=True, slots=True)
class Clip:
    """The beginning of a text and how many characters follow it."""

    text: str
    omitted: int = 0


def clip(text: str, limit: int = LIMIT) -> Clip:
    """`text` if it is no longer than `limit` characters, else its beginning."""
    return Clip(text) if len(text) <= limit else Clip(text[:limit], len(text) - limit)


def clip_json(value: Json, limit: int = LIMIT) -> Clip:
    """`value` as one line of JSON, clipped."""
    try:
        return clip(json.dumps(value, ensure_ascii=False), limit)
    except (RecursionError, TypeError, ValueError):
        return Clip("(cannot be shown as JSON)")
