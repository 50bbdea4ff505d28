"""Colours for JSON that is still being written: each character is looked at once."""

import re

from tui.text.lines import Span, Tint

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
