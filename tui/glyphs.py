"""How a status looks: an ASCII glyph, so that it survives every terminal and is read without colour."""

from tui.lines import Span, Tint
from tui.state import Status

GLYPHS = {
    Status.WAITING: (".", Tint.MUTED),
    Status.RUNNING: (">", Tint.RUNNING),
    Status.SUCCESS: ("+", Tint.SUCCESS),
    Status.FAILED: ("x", Tint.FAILURE),
    Status.ERROR: ("!", Tint.ERROR),
}


def glyph(status: Status) -> Span:
    """The glyph of a status with its tint."""
    return GLYPHS[status]
