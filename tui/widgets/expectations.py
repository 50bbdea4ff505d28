"""The ground truth of the turn being shown, ticked off as calls match."""

from tui.flow import wrap
from tui.inert import inert_line
from tui.json_tint import tint_json
from tui.lines import BLANK, Line, Span, Tint
from tui.state import ConversationState, Expected
from tui.widgets.lines import Lines

_INDENT = 5
_LINES = 4


class Expectations(Lines):
    """The current turn of a conversation that runs, every turn of one that is over.

    `[+]` is matched, `[ ]` still open, `[x]` missed.
    """

    def show_conversation(self, conversation: ConversationState | None) -> None:
        """Bring the panel up to date."""
        turns = conversation.expected if conversation else []
        over = conversation is not None and conversation.status.over
        lines: list[Line] = [((f" expected in {'all turns' if over else 'this turn'}", Tint.TITLE),)]
        for number, turn in enumerate(turns, 1):
            if conversation is None or (number < len(turns) and not over):
                continue
            if over:
                lines += [BLANK, ((f" turn {number}", Tint.TITLE),)]
            for expected in turn:
                lines += [*([] if over else [BLANK]), *self._expected(expected, conversation)]
            if not turn:
                lines += [*([] if over else [BLANK]), ((" no call, only a reply", Tint.MUTED),)]
        self.show(lines)

    def _expected(self, expected: Expected, conversation: ConversationState) -> list[Line]:
        width = max(self.size.width - _INDENT - 1, 8)
        if expected.position in conversation.matched:
            sign: Span = (" [+] ", Tint.SUCCESS)
        elif conversation.status.over:
            sign = (" [x] ", Tint.FAILURE)
        else:
            sign = (" [ ] ", Tint.MUTED)
        lines: list[Line] = [(sign, (inert_line(expected.name.text), Tint.CALL))]
        for name, value in expected.arguments:
            spans = [(f"{inert_line(name.text)} ", Tint.KEY), *tint_json(inert_line(value.text))]
            lines += [
                ((" " * _INDENT, Tint.PLAIN), *line) for line in _shortened(spans, value.omitted, width)
            ]
        return lines


def _shortened(spans: list[Span], omitted: int, width: int) -> list[Line]:
    lines = wrap(spans, width)
    if len(lines) > _LINES or omitted:
        return [*lines[: _LINES - 1], (("..", Tint.MUTED),)]
    return lines
