"""The outline of a conversation at its left: turns and steps, with a cursor."""

from collections.abc import Sequence

from textual import events

from tui.inert import inert_line
from tui.lines import Line, Span, Tint, spread
from tui.messages import RowPicked
from tui.outline import Row
from tui.widgets.lines import Lines


class Outline(Lines):
    """A line for each row; the one at the cursor is kept in sight."""

    def show_rows(self, rows: Sequence[Row], cursor: int) -> None:
        """Bring the outline up to date."""
        if not self.size.width:
            return
        self.show([_line(row, number == cursor, self.size.width) for number, row in enumerate(rows)])
        top, height = self.scroll_offset.y, self.size.height
        if not top <= cursor < top + height:
            self.jump_to(max(cursor - height // 2, 0))

    def on_click(self, event: events.Click) -> None:
        number = event.y + self.scroll_offset.y
        if number < len(self.lines):
            self.post_message(RowPicked(number))


def _line(row: Row, is_chosen: bool, width: int) -> Line:
    bar: Span = ("|" if is_chosen else " ", Tint.RUNNING)
    indent = "  " if row.step is not None else ""
    tint = Tint.STRONG if is_chosen else Tint.PLAIN if row.step is not None else Tint.TITLE
    left: list[Span] = [bar, (indent, Tint.PLAIN), row.sign, (" ", Tint.PLAIN), (inert_line(row.text), tint)]
    return spread(left, [(f"{row.note} ", Tint.MUTED)], width)
