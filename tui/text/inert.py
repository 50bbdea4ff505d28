"""Text from models, users and files made harmless for a screen: nothing in it moves the cursor or hides.

Markup is not a concern here: the view paints segments and never parses markup.
"""

import unicodedata

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


class _Escapes(dict[int, str]):
    """A translation table that decides about each character once."""

    def __missing__(self, code: int) -> str:
        text = _escape(code) if _hides(code) else chr(code)
        self[code] = text
        return text


def _hides(code: int) -> bool:
    # Variation selectors are marks, but terminals disagree on the width of what they select.
    selector = 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF
    return selector or unicodedata.category(chr(code)) in _HIDDEN


def _escape(code: int) -> str:
    common = {0x09: "\\t", 0x0D: "\\r", 0x1B: "\\e"}.get(code)
    if common:
        return common
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


_ESCAPES = _Escapes({0x0A: "\n"})


def inert(text: str) -> str:
    r"""`text` with control, format and unassigned characters as visible escapes; only `\n` stays itself.

    Joiners and variation selectors are escaped as well, so that the width rig computes is the width the
    terminal uses.
    """
    return text if text.isascii() and text.isprintable() else text.translate(_ESCAPES)


def inert_line(text: str) -> str:
    r"""`inert` for places that hold a single line: a line break becomes a visible `\n` too."""
    return inert(text).replace("\n", "\\n")
