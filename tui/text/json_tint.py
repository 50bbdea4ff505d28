"""Colours for JSON that is still being written: each character is looked at once."""

import re

from tui.text.lines import Span, Tint

_TOKEN = re.compile(
    r'(?P<string>")|(?P<word>[A-Za-z0-9+.\-]+)|(?P<colon>:)|(?P<open>[{\[,])|(?P<other>.)', re.DOTALL
)
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
            if self._string is not None:
                position = self._feed_string(text, position, spans)
            else:
                position = self._feed_token(text, position, spans)
        return spans

    def _feed_string(self, text: str, position: int, spans: list[Span]) -> int:
        assert self._string is not None
        if self._escaped:
            self._escaped = False
            spans.append((text[position], self._string))
            return position + 1
        part = _STRING_PART.match(text, position)
        if part:
            spans.append((part.group(), self._string))
            return part.end()
        spans.append((text[position], self._string))
        if text[position] == "\\":
            self._escaped = True
        else:
            self._string = None
        return position + 1

    def _feed_token(self, text: str, position: int, spans: list[Span]) -> int:
        token = _TOKEN.match(text, position)
        assert token is not None
        token_text = token.group()
        tint = Tint.MUTED
        if token.lastgroup == "string":
            tint = self._string = Tint.KEY if self._key_next else Tint.STRING
            self._key_next = False
        elif token.lastgroup == "word":
            tint = Tint.NUMBER
        elif token.lastgroup == "open":
            if token_text != ",":
                self._inside.append(token_text)
            self._key_next = bool(self._inside) and self._inside[-1] == "{"
        elif token.lastgroup == "colon":
            self._key_next = False
        elif token_text in "}]" and self._inside:
            self._inside.pop()
            self._key_next = False
        spans.append((token_text, tint))
        return token.end()


def tint_json(text: str) -> list[Span]:
    """Tinted spans of a complete text."""
    return JsonTint().feed(text)
