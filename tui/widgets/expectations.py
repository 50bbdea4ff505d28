"""The ground truth of the turn being shown, ticked off as calls match."""

from rig.displays import signs
from rig.displays.signs import Glyph
from tui.live.state import ConversationState, Expected
from tui.text.flow import wrap
from tui.text.inert import inert_line
from tui.text.json_tint import tint_json
from tui.text.lines import BLANK, Line, Span, Tint
from tui.widgets.lines import Lines

_BOXES = {
    signs.MADE: Glyph(" ✓ ", " [+] "),
    signs.MISSED: Glyph(" ✗ ", "  x  "),
    signs.LEFT_OUT: Glyph(" – ", "  -  "),
    signs.OPEN: Glyph(" ○ ", " [ ] "),
}
_LINES = 4


class Expectations(Lines):
    """The current turn of a conversation that runs, every turn of one that is over.

    In ASCII `[+]` is matched, `[ ]` still open, `x` missed: a cross in brackets would look like a tick.
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: tuple[object, ...] = ()

    def show_conversation(self, conversation: ConversationState | None) -> None:
        """Bring the panel up to date, with the first open call of a turn under way in sight."""
        if not self.size.width:
            return
        version = _state(conversation, self.size.width)
        if version == self._shown:
            return
        is_other = version[:2] != self._shown[:2]
        self._shown = version
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
            for expected in turn:
                lines += [] if over else [BLANK]
                is_matched = expected.position in matched
                if first_open is None and not is_matched:
                    first_open = len(lines)
                lines += self._expected(expected, is_matched, over)
            if not turn:
                lines += [*([] if over else [BLANK]), ((" no call, only a reply", Tint.MUTED),)]
        return lines, first_open

    def _expected(self, expected: Expected, is_matched: bool, over: bool) -> list[Line]:
        due = signs.due(made=is_matched, over=over, optional=expected.optional)
        sign: Span = (str(_BOXES[due]), Tint(due.tint))
        indent: Span = (" " * len(sign[0]), Tint.PLAIN)
        width = max(self.size.width - len(sign[0]) - 1, 8)
        missed: list[Span] = [(f" {due.word}", Tint(due.tint))] if due is signs.MISSED else []
        name, *rest = wrap([(inert_line(expected.name.text), Tint.CALL), *missed], width)
        lines: list[Line] = [(sign, *name), *((indent, *line) for line in rest)]
        for name_of, value in expected.arguments:
            spans = [(f"{inert_line(name_of.text)} ", Tint.KEY), *tint_json(inert_line(value.text))]
            lines += [(indent, *line) for line in _shortened(spans, value.omitted, width)]
        return lines


def _state(conversation: ConversationState | None, width: int) -> tuple[object, ...]:
    """All that the panel depends on, first what makes it another conversation."""
    if conversation is None:
        return None, width
    over = conversation.status.over
    return conversation.where, width, over, len(conversation.expected), tuple(conversation.holds.values())


def _shortened(spans: list[Span], omitted: int, width: int) -> list[Line]:
    lines = wrap(spans, width)
    if len(lines) > _LINES or omitted:
        return [*lines[: _LINES - 1], ((str(signs.ELLIPSIS), Tint.MUTED),)]
    return lines
