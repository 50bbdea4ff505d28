"""Finding words in lines that are wrapped: a match may go on in the line below."""

import re
from collections.abc import Sequence

from tui.text.lines import Line, Tint, mark


class TextSearch:
    """Words that are looked for in lines, and the match that the reader is at."""

    def __init__(self) -> None:
        self.term = ""
        self._here = 0
        self._marks: dict[int, list[tuple[int, int, int]]] = {}
        """By line, the numbers of matches, with where the characters begin and end that belong to them."""
        self._lines: list[int] = []
        """The line in which each match begins."""

    def update(self, lines: Sequence[Line], margin: int) -> None:
        """Look again, in these lines, without regard to case; what is in the margin is not searched.

        A line break stands for a space or for nothing, as wrapping drops spaces.
        """
        self._marks = {}
        first: dict[int, int] = {}
        texts = ["".join(text for text, _ in line)[margin:] for line in lines] if self.term else []
        starts = [0]
        for text in texts:
            starts.append(starts[-1] + len(text) + 1)
        words = re.findall(r" +|[^ ]", self.term)
        parts = [r"[ \n]+" if word.isspace() else re.escape(word) for word in words]
        matches = re.finditer(r"\n?".join(parts), "\n".join(texts), re.IGNORECASE) if texts else ()
        line = 0
        for number, match in enumerate(matches):
            while starts[line + 1] <= match.start():
                line += 1
            last = line
            while last < len(texts) and starts[last] < match.end():
                start = max(match.start() - starts[last], 0)
                end = min(match.end() - starts[last], len(texts[last]))
                if start < end:
                    self._marks.setdefault(last, []).append((number, start + margin, end + margin))
                    first.setdefault(number, last)
                last += 1
        self._lines = list(first.values())
        self._here = min(self._here, max(len(self._lines) - 1, 0))

    def start(self, line: int) -> None:
        """Be at the first match from this line on, going round at the end."""
        self._here = next((number for number, place in enumerate(self._lines) if place >= line), 0)

    def step(self, step: int) -> None:
        """Be at the next match, or at the one before, going round at the end."""
        self._here = (self._here + step) % max(len(self._lines), 1)

    @property
    def line(self) -> int | None:
        """The line of the match that the reader is at."""
        return self._lines[self._here] if self._lines else None

    @property
    def count(self) -> str:
        """How often it was found, for people; empty when nothing is searched."""
        if not self.term:
            return ""
        return f"{self._here + 1} of {len(self._lines)}" if self._lines else "not found"

    def look_of(self, number: int, line: Line) -> Line:
        """A line with its matches marked."""
        for match, start, end in self._marks.get(number, ()):
            line = mark(line, start, end, Tint.FOUND_HERE if match == self._here else Tint.FOUND)
        return line
