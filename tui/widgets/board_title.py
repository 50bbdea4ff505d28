"""The line above the conversations: what of them is listed, and which column is which arm."""

from tui.live.board import Board, Filter
from tui.live.state import RunState
from tui.messages import FilterPicked
from tui.text.lines import Span, Tint, spread
from tui.widgets.lines import Lines


class BoardTitle(Lines):
    """One line. A click changes the filter."""

    def show_board(self, board: Board, state: RunState, columns: range) -> None:
        """Bring the line up to date; `columns` are the arms that have one."""
        if not self.size.width:
            return
        rows = board.rows
        count = f"{len(rows)} of {board.total}" if board.filter is not Filter.ALL else str(board.total)
        tint = Tint.TITLE if board.filter is Filter.ALL else Tint.RUNNING
        left: list[Span] = [(f" {board.filter} ", tint), (count, Tint.MUTED)]
        right: list[Span] = []
        if len(state.arms) > 1:
            right = [(f" {(arm + 1) % 10}", Tint.MUTED) for arm in columns]
        self.show([spread(left, [*right, (" ", Tint.PLAIN)], self.size.width)])

    def on_click(self) -> None:
        self.post_message(FilterPicked())
