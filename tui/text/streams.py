"""Text that keeps coming, as tinted lines: wrapped, and coloured as JSON, each character looked at once."""

import re
from collections.abc import Iterable

from rich.cells import cell_len, get_character_cell_size

from tui.text.lines import Line, Span, Tint

_CHUNK = 64


class Flow:
    """Greedy word wrap to `width` cells, fed span by span.

    A line breaks after a space when that leaves it at least a third full, else wherever it must; a wide
    character is never split. Texts may contain line breaks.
    """

    def __init__(self, width: int) -> None:
        self.width = max(width, 2)
        self._done: list[Line] = []
        self._last: list[Span] = []
        self._cells = 0

    @property
    def lines(self) -> list[Line]:
        """All lines so far; an empty flow has one empty line."""
        return [*self._done, tuple(self._last)]

    def feed(self, spans: Iterable[Span]) -> None:
        """Append text."""
        for text, tint in spans:
            for number, part in enumerate(text.split("\n")):
                if number:
                    self._finish(self._last, [])
                for start in range(0, len(part), _CHUNK):
                    self._append(part[start : start + _CHUNK], tint)

    def _append(self, text: str, tint: Tint) -> None:
        if self._last and self._last[-1][1] is tint:
            self._last[-1] = (self._last[-1][0] + text, tint)
        else:
            self._last.append((text, tint))
        self._cells += cell_len(text)
        while self._cells > self.width:
            head, tail = _break(self._last, self.width)
            self._finish(head, tail)

    def _finish(self, line: list[Span], rest: list[Span]) -> None:
        self._done.append(tuple(line))
        self._last = rest
        self._cells = sum(cell_len(text) for text, _ in rest)


def _break(line: list[Span], width: int) -> tuple[list[Span], list[Span]]:
    """Split a line that is too long: what stays, and what goes to the next line."""
    cells = 0
    soft: tuple[int, int] | None = None
    hard = (len(line), 0)
    for number, (text, _) in enumerate(line):
        for index, character in enumerate(text):
            size = 1 if character < "\x7f" else get_character_cell_size(character)
            if cells + size > width:
                hard = (number, index)
                if character == " ":
                    soft = (number, index + 1)
                break
            cells += size
            if character == " " and cells > width // 3:
                soft = (number, index + 1)
        else:
            continue
        break
    number, index = soft or hard
    if number >= len(line):
        return line, []
    text, tint = line[number]
    head = [*line[:number], (text[:index].rstrip(" ") if soft else text[:index], tint)]
    tail = [(text[index:], tint), *line[number + 1 :]]
    return [span for span in head if span[0]], [span for span in tail if span[0]]


def wrap(spans: Iterable[Span], width: int) -> list[Line]:
    """The lines of a text that is already complete."""
    flow = Flow(width)
    flow.feed(spans)
    return flow.lines


_WORD = re.compile(r"[A-Za-z0-9+.\-]+")
_STRING_PART = re.compile(r'[^"\\]+')


class JsonTint:
    """Splits JSON into tinted spans, incrementally. Text that is not JSON comes back plain, never an error.

    A string is taken for a key right after `{` or `,` inside an object; everything else is a value.
    """

    def __init__(self) -> None:
        self._inside: list[str] = []
        self._string: Tint | None = None
        self._escaped = False
        self._key_next = False

    def feed(self, text: str) -> list[Span]:
        """Tinted spans of the next piece of text."""
        spans: list[Span] = []
        position = 0
        while position < len(text):
            in_string = self._string is not None
            span = self._string_part(text, position) if in_string else self._token(text, position)
            spans.append(span)
            position += len(span[0])
        return spans

    def _string_part(self, text: str, position: int) -> Span:
        tint = self._string or Tint.STRING
        part = None if self._escaped else _STRING_PART.match(text, position)
        if part:
            return part.group(), tint
        if not self._escaped and text[position] == '"':
            self._string = None
        self._escaped = not self._escaped and text[position] == "\\"
        return text[position], tint

    def _token(self, text: str, position: int) -> Span:
        if word := _WORD.match(text, position):
            return word.group(), Tint.NUMBER
        token = text[position]
        if token == '"':
            self._string = Tint.KEY if self._key_next else Tint.STRING
            self._key_next = False
            return token, self._string
        if token in "{[":
            self._inside.append(token)
        elif token in "}]" and self._inside:
            self._inside.pop()
        if token in "{[,":
            self._key_next = self._inside[-1:] == ["{"]
        elif token in ":}]":
            self._key_next = False
        return token, Tint.MUTED


def tint_json(text: str) -> list[Span]:
    """Tinted spans of a complete text."""
    return JsonTint().feed(text)
