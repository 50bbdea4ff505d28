"""How a status looks: an ASCII glyph, so that it survives every terminal and is read without colour."""

from tui.live.state import ConversationState, Status
from tui.text.lines import Span, Tint

GLYPHS = {
    Status.WAITING: (".", Tint.MUTED),
    Status.RUNNING: (">", Tint.RUNNING),
    Status.SUCCESS: ("+", Tint.SUCCESS),
    Status.FAILED: ("x", Tint.FAILURE),
    Status.ERROR: ("!", Tint.ERROR),
    Status.SKIPPED: ("-", Tint.MUTED),
}

INCORRECT = "X"
"""A conversation that failed with an incorrect action."""


SIGNS = (
    *((sign, status.value) for status, (sign, _) in GLYPHS.items()),
    (f"{INCORRECT} !!", "took an incorrect action"),
)
"""What the signs of conversations mean, for help and documentation."""


def glyph(status: Status) -> Span:
    """The glyph of a status with its tint."""
    return GLYPHS[status]


def cell(conversation: ConversationState) -> Span:
    """The glyph of a conversation, in the colours of an alarm once it took an incorrect action."""
    sign, tint = GLYPHS[conversation.status]
    if not conversation.incorrect_actions:
        return sign, tint
    return (INCORRECT if conversation.failed else sign), Tint.ALARM
