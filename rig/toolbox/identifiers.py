"""Pseudo-random ids and tokens, the same in every world.

All draws of one kind are alike, so a kind's ids form one fixed sequence and a tool's generator is a position
in it: an integer that a world can store and restore.
"""

from collections.abc import Callable
from random import Random

_SEED = 489
"""ToolTalk's."""


class Identifiers:
    """An endless sequence of ids of one kind, computed once and indexed from 0."""

    def __init__(self, draw: Callable[[Random], str], seed: int = _SEED) -> None:
        self._draw = draw
        self._random = Random(seed)
        self._drawn: list[str] = []

    def __getitem__(self, position: int) -> str:
        while len(self._drawn) <= position:
            self._drawn.append(self._draw(self._random))
        return self._drawn[position]


def hexadecimal(*widths: int) -> Identifiers:
    """Ids of hexadecimal groups of these lengths, joined by dashes and drawn from left to right."""

    def draw(random: Random) -> str:
        return "-".join(f"{random.randint(0, 16**width - 1):0{width}x}" for width in widths)

    return Identifiers(draw)
