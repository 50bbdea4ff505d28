"""The ground truth of the turn being shown, ticked off as calls match."""

from rig.displays import signs
from rig.displays.signs import Glyph
from rig.displays.steps import Due
from tui.live.state import ConversationState
from tui.text.flow import wrap
from tui.text.json_tint import tint_json
from tui.text.lines import BLANK, Line, Span, Tint, inert_line, labelled
from tui.widgets.lines import Lines

_BOXES = {
    signs.MADE: Glyph(" ✓ ", " [+] "),
    signs.MISSED: Glyph(" ✗ ", "  x  "),
    signs.LEFT_OUT: Glyph(" – ", "  -  "),
    signs.OPEN: Glyph(" ○ ", " [ ] "),
}
_LINES = 4
_ARGUMENTS = 20


class Expectations(Lines):
    """The current turn of a conversation that runs, every turn of one that is over.

    In ASCII `[+]` is matched, `[ ]` still open, `x` missed: a cross in brackets would look like a tick.
    """

    def show_conversation(self, conversation: ConversationState | None) -> None:
        """Bring the panel up to date, with the first open call of a turn under way in sight."""
        of = conversation and (
            conversation.status.over,
            len(conversation.expected),
            tuple(conversation.holds.values()),
        )
        before = self.version
        if not self.is_new(conversation and conversation.where, of):
            return
        is_other = before[:2] != self.version[:2]
        lines, first_open = self._lines_of(conversation)
        self.show(lines)
        if conversation is None or conversation.status.over:
            if is_other:
                self.jump_to(0)
        elif first_open is not None:
            self.bring_into_sight(max(first_open - 2, 0), min(first_open + _LINES, len(lines) - 1))

    def _lines_of(self, conversation: ConversationState | None) -> tuple[list[Line], int | None]:
        """The lines, and where the first call that is still open begins."""
        turns = conversation.expected if conversation else []
        over = conversation is not None and conversation.status.over
        lines: list[Line] = [((f" expected in {'all turns' if over else 'this turn'}", Tint.TITLE),)]
        first_open = None
        matched = conversation.matched if conversation else set()
        for number, turn in enumerate(turns, 1):
            if conversation is None or (number < len(turns) and not over):
                continue
            if over:
                lines += [BLANK, ((f" turn {number}", Tint.TITLE),)]
            for due in turn:
                lines += [] if over else [BLANK]
                is_matched = due.place in matched
                if first_open is None and not is_matched:
                    first_open = len(lines)
                lines += self._due(due, is_matched, over)
            if not turn:
                lines += [*([] if over else [BLANK]), ((" no call, only a reply", Tint.MUTED),)]
        return lines, first_open

    def _due(self, due: Due, is_matched: bool, over: bool) -> list[Line]:
        sign = signs.due(made=is_matched, over=over, optional=due.is_optional)
        box: Span = (str(_BOXES[sign]), Tint(sign.tint))
        width = max(self.size.width - len(box[0]) - 1, 8)
        missed: list[Span] = [(f" {sign.word}", Tint(sign.tint))] if sign is signs.MISSED else []
        lines = wrap([(inert_line(due.call.name.text), Tint.CALL), *missed], width)
        for name, value in due.call.pairs[:_ARGUMENTS]:
            argument = wrap(
                [(f"{inert_line(name.text)} ", Tint.KEY), *tint_json(inert_line(value.text))], width
            )
            if len(argument) > _LINES or value.omitted:
                argument[_LINES - 1 :] = [((str(signs.ELLIPSIS), Tint.MUTED),)]
            lines += argument
        return labelled([box], len(box[0]), lines)
