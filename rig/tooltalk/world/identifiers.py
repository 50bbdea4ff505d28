"""The pseudo-random ids and tokens of ToolTalk, reproduced exactly.

Each tool draws from its own `random.Random(489)`. All draws of one kind are alike, so a kind's ids form one
fixed sequence and a tool's generator is a position in it: an integer that the world can store and restore.
"""

from collections.abc import Callable
from random import Random

_SEED = 489


class Identifiers:
    """An endless sequence of ids of one kind, computed once and indexed from 0."""

    def __init__(self, draw: Callable[[Random], str]) -> None:
        self._draw = draw
        self._random = Random(_SEED)
        self._drawn: list[str] = []

    def __getitem__(self, position: int) -> str:
        while len(self._drawn) <= position:
            self._drawn.append(self._draw(self._random))
        return self._drawn[position]


def _hexadecimal(*widths: int) -> Identifiers:
    """Ids of hexadecimal groups, each of so many digits, joined by dashes and drawn from left to right."""

    def draw(random: Random) -> str:
        return "-".join(f"{random.randint(0, 16**width - 1):0{width}x}" for width in widths)

    return Identifiers(draw)


SESSION_TOKENS = _hexadecimal(8, 4, 4)
ALARM_IDS = _hexadecimal(4, 4)
EVENT_IDS = _hexadecimal(8, 4)
REMINDER_IDS = _hexadecimal(2, 4)
EMAIL_IDS = _hexadecimal(2, 4, 8)
MESSAGE_IDS = _hexadecimal(8, 8)
VERIFICATION_CODES = Identifiers(lambda random: f"{random.randint(0, 999_999):06d}")
