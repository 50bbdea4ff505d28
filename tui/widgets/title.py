"""The line above the transcript: which conversation, and whether the view follows the run."""

from tui.glyphs import glyph
from tui.inert import inert_line
from tui.lines import Span, Tint, spread
from tui.state import ConversationState
from tui.widgets.lines import Lines


class Title(Lines):
    """One line."""

    def show_conversation(self, conversation: ConversationState | None, following: bool) -> None:
        """Bring the line up to date."""
        left: list[Span] = [(" ", Tint.PLAIN)]
        if conversation is not None:
            sign, tint = glyph(conversation.status)
            left += [
                (inert_line(conversation.where.conversation), Tint.STRONG),
                (f"  {sign} {conversation.status.value}", tint),
            ]
        mode: Span = ("following ", Tint.RUNNING) if following else ("reading ", Tint.MUTED)
        self.show([spread(left, [mode], self.size.width)])
