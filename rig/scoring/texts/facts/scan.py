"""Looking for facts word by word: what is there, and what has been read already."""

from collections.abc import Sequence
from typing import NamedTuple

from rig.scoring.texts.reading.words import Word

LONGEST_SHOWN = 40


class Span(NamedTuple):
    """Words that state a fact: as they were written, and from which index to before which."""

    shown: str
    start: int
    end: int


class Scan:
    """The words of a text, and the indices of those that state a fact that was found."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = words
        self.taken: set[int] = set()

    def text(self, at: int) -> str:
        """The word at an index, empty if there is none."""
        return self.words[at].text if 0 <= at < len(self.words) else ""

    def free(self, at: int) -> bool:
        return 0 <= at < len(self.words) and at not in self.taken

    def joined(self, at: int) -> bool:
        return 0 <= at < len(self.words) and self.words[at].joined

    def number(self, at: int, digits: int = 2) -> int | None:
        """The whole number of at most this many digits at an index."""
        text = self.text(at)
        return int(text) if text.isdecimal() and len(text) <= digits else None

    def take(self, start: int, end: int) -> Span:
        """Mark what lies from one index to before another as read, and say how it was written."""
        self.taken.update(range(start, end))
        parts = ("" if word.joined or not n else " " for n, word in enumerate(self.words[start:end]))
        shown = "".join(a + b.text for a, b in zip(parts, self.words[start:end], strict=True))
        return Span(shown[:LONGEST_SHOWN], start, end)
