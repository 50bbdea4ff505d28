"""Texts that repeat themselves: the same words again and again, without anything between.

A text is read as tokens: words, signs, and the numbers of list items, which count as equal. A token that
equals the one some tokens before it continues a run of that period; a run that is long enough is a loop. How
long depends on what is repeated, since lists, tables, code and songs repeat short things harmlessly.
"""

import re
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

REPEATS = 3
"""The repeats at which a loop is seen: what is repeated stands there once more."""

_TOKEN = re.compile(
    r"""
    (?P<space> (?:\s|\\n)+ )                        # \n is a new line in an answer that is JSON
    | (?P<item> (?:(?<=\n)|(?<=\\n)|\A)\d{1,4}[.)] )  # the number of a list item
    | [぀-ヿ㐀-鿿가-힯]                                # a sign that can be a word of its own
    | [^\W_]{1,16}
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_WIDE = re.compile(r"[぀-ヿ㐀-鿿가-힯]")
_CODE = re.compile(r"[<>{}=;|]")
_LONGEST = 300
"""Tokens of the longest text whose repeats are seen."""
_SENTENCE = 24
"""Letters from which a text is as long as a line that nobody repeats three times without a reason."""
_BLOCK = 40
"""Letters from which this goes for code and markup as well."""
_SHOWN = 60


def _recent() -> deque[int]:
    return deque(maxlen=_LONGEST)


class Needed(NamedTuple):
    """How much there has to be: how often a line stands there, and a short line of code; the letters in all
    repeats of a shorter text; the characters if there are no letters, or one letter only; and of white space.
    """

    lines: int
    code: int
    letters: int
    signs: int
    space: int


WHOLE = Needed(REPEATS + 1, 2 * (REPEATS + 1), 240, 600, 240)
"""In an answer that came to its end, or may still do so."""
CUT = Needed(REPEATS + 1, 2 * REPEATS, 100, 72, 60)
"""At the end of an answer that was cut off: those who list something harmless seldom run into a limit."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """What stands in a text how many times in a row."""

    text: str
    times: int

    @property
    def words(self) -> str:
        """The finding, in words."""
        if not self.text.strip():
            return "white space without an end"
        text = " ".join(self.text.split())
        excerpt = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
        return f"the same text {self.times:,} times: {excerpt}"


@dataclass(slots=True)
class RepeatReader:
    """Reads a text as it grows. `found` is the last loop in it; None before there is one."""

    needed: Needed = WHOLE
    found: Repeat | None = None
    _text: str = ""
    _read: int = 0
    _tokens: list[str] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _places: defaultdict[str, deque[int]] = field(default_factory=lambda: defaultdict(_recent))
    _runs: dict[int, int] = field(default_factory=dict)

    def add(self, text: str) -> Repeat | None:
        """Add text. Return the loop that the text ends in, if it does."""
        self._text += text
        return self._go_on(is_whole=False)

    def end(self, needed: Needed) -> Repeat | None:
        """Return the loop that the whole text ends in, if it does; less may be needed than before."""
        self.needed = needed
        # The last token may be the beginning of one.
        before = self._current()
        return self._go_on(is_whole=True) or before

    def _go_on(self, *, is_whole: bool) -> Repeat | None:
        repeat = None
        while match := _TOKEN.match(self._text, self._read):
            # The last token may go on.
            if match.end() == len(self._text) and not is_whole:
                break
            self._read = match.end()
            if match["space"]:
                repeat = self._space(match[0])
                continue
            self._take("#." if match["item"] else match[0], match.start())
            repeat = self._current()
        spaces = len(self._text) - self._read
        if spaces >= self.needed.space and not self._text[self._read :].strip():
            repeat = self._space(self._text[self._read :])
        return repeat

    def _space(self, space: str) -> Repeat | None:
        if len(space) < self.needed.space:
            return self._current() if self._runs else None
        self.found = Repeat(" ", len(space))
        return self.found

    def _take(self, token: str, start: int) -> None:
        place = len(self._tokens)
        runs = {}
        for before in self._places[token]:
            if (period := place - before) <= _LONGEST:
                runs[period] = self._runs.get(period, 0) + 1
        self._runs = runs
        self._places[token].append(place)
        self._tokens.append(token)
        self._starts.append(start)

    def _current(self) -> Repeat | None:
        """Return the loop that the text ends in, with the shortest text that is repeated."""
        for period in sorted(self._runs):
            times = self._runs[period] // period + 1
            if times < self.needed.lines or self._is_shorter(period):
                continue
            if times >= _times_needed(self._tokens[-period:], self.needed):
                first = self._starts[len(self._tokens) - period * times]
                second = self._starts[len(self._tokens) - period * (times - 1)]
                self.found = Repeat(self._text[first:second], times)
                return self.found
        return None

    def _is_shorter(self, period: int) -> bool:
        """Return whether what is repeated is itself a shorter text that is repeated."""
        return any(
            period % other == 0 and self._runs.get(other, 0) >= self._runs[period]
            for other in range(1, period // 2 + 1)
        )


def _times_needed(unit: Sequence[str], needed: Needed) -> int:
    """Return how often a text has to stand there to be a loop."""
    words = [token for token in unit if token.isalpha() or (token.isalnum() and not token.isdigit())]
    letters = sum(3 * len(word) if _WIDE.match(word) else len(word) for word in words)
    if len(set("".join(words))) < 2:
        return max(needed.lines, ceil(needed.signs / sum(map(len, unit))))
    if letters < _SENTENCE:
        return max(needed.code, ceil(needed.letters / letters))
    is_code = letters < _BLOCK and any(map(_CODE.match, unit))
    return needed.code if is_code else needed.lines


def repeat_in(text: str, *, is_cut: bool = False) -> Repeat | None:
    """Return a loop in a text, the last if there are several. One that was cut off has to end in it."""
    reader = RepeatReader()
    reader.add(text)
    at_end = reader.end(CUT if is_cut else WHOLE)
    return at_end if is_cut else reader.found
