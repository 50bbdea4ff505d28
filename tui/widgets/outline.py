"""The outline of a conversation at its left: turns and steps, with a cursor."""

from collections.abc import Sequence

from textual import events

from rig.displays.signs import CURSOR
from tui.stored.outline import OutlineRow
from tui.text.lines import Line, Span, Tint, inert_line, spread
from tui.widgets.lines import Lines
from tui.widgets.messages import RowPicked


class Outline(Lines):
    """A line for each row; the one at the cursor comes in sight when the cursor moves."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._cursor = -1

    def show_rows(self, rows: Sequence[OutlineRow], cursor: int) -> None:
        """Bring the outline up to date."""
        if not self.size.width:
            return
        is_other = self.is_new(rows)
        self.show([_line(row, number == cursor, self.size.width) for number, row in enumerate(rows)])
        if is_other or cursor != self._cursor:
            self._cursor = cursor
            self.bring_into_sight(max(cursor - 1, 0), min(cursor + 1, len(rows) - 1))

    def on_click(self, event: events.Click) -> None:
        number = event.y + self.scroll_offset.y
        if number < len(self.lines):
            self.post_message(RowPicked(number))


def _line(row: OutlineRow, is_chosen: bool, width: int) -> Line:
    bar: Span = (str(CURSOR) if is_chosen else " ", Tint.RUNNING)
    indent = "  " if row.step is not None else ""
    tint = Tint.STRONG if is_chosen else Tint.PLAIN if row.step is not None else Tint.TITLE
    sign: Span = (row.sign.sign, Tint(row.sign.tint))
    left: list[Span] = [bar, (indent, Tint.PLAIN), sign, (" ", Tint.PLAIN), (inert_line(row.text), tint)]
    return spread(left, [(f"{row.note} ", Tint.MUTED)], width)
