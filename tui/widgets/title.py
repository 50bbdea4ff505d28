"""The line above the transcript: which conversation, what is searched, whether the view follows the run."""

from tui.live.glyphs import glyph
from tui.live.state import ConversationState
from tui.text.inert import inert_line
from tui.text.lines import Span, Tint, spread
from tui.widgets.lines import Lines


class Title(Lines):
    """One line."""

    def show_conversation(
        self, conversation: ConversationState | None, following: bool, *, note: str = "", found: str = ""
    ) -> None:
        """Bring the line up to date. `note` stands beside the name, `found` is what a search says."""
        left: list[Span] = [(" ", Tint.PLAIN)]
        if conversation is not None:
            sign, tint = glyph(conversation.status)
            left += [
                (inert_line(conversation.where.conversation), Tint.STRONG),
                (f" #{conversation.where.repeat + 1}" if conversation.where.repeat else "", Tint.STRONG),
                (f"  {sign} {conversation.status.value}", tint),
                (f"  {inert_line(note)}" if note else "", Tint.MUTED),
            ]
        right: list[Span] = [(f"{found}  ", Tint.FOUND_HERE)] if found else []
        right.append(("following ", Tint.RUNNING) if following else ("reading ", Tint.MUTED))
        self.show([spread(left, right, self.size.width)])
