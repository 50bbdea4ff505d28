"""Which sign a conversation has, and in which colours."""

from rig.displays import signs
from rig.displays.signs import Sign
from tui.live.state import ConversationState
from tui.text.lines import Span, Tint

IN_ORDER = (
    *(signs.SUCCESS, signs.FAILED, signs.INCORRECT, signs.ERROR),
    *(signs.SKIPPED, signs.RUNNING, signs.WAITING),
)
"""All signs of conversations, what is over before what is not."""

SIGNS = tuple((sign.glyph, signs.SAID.get(sign, sign.word)) for sign in IN_ORDER)
"""What the signs of conversations mean, for help and documentation."""


def sign_of(conversation: ConversationState) -> Sign:
    """How a conversation stands; of what made it fail, what is worst."""
    incorrect = conversation.failed and conversation.incorrect_actions
    return signs.INCORRECT if incorrect else conversation.status.value


def cell(conversation: ConversationState) -> Span:
    """The sign of a conversation, in the colours of an alarm once it took an incorrect action."""
    sign = sign_of(conversation)
    return sign.sign, Tint.ALARM if conversation.incorrect_actions else Tint(sign.tint)
