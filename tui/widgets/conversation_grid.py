"""The conversations of a run as a grid: one glyph for each, arm by arm."""

from typing import NamedTuple

from textual import events

from rig.events import Where
from tui.live.board import Board
from tui.live.glyphs import cell
from tui.live.state import RunState
from tui.messages import ConversationPicked
from tui.text.inert import inert_line
from tui.text.lines import BLANK, Line, Span, Tint, fit
from tui.widgets.lines import Lines


class _Block(NamedTuple):
    """Where the cells of an arm begin, and which conversations they are."""

    first_line: int
    cells: list[Where]


class ConversationGrid(Lines):
    """As many conversations at a glance as there is room for; the one being read is reversed."""

    def __init__(self, board: Board, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._board = board
        self._blocks: list[_Block] = []
        self._shown: tuple[object, ...] = ()

    @property
    def _columns(self) -> int:
        return max(self.size.width - 2, 1)

    def show_run(self, state: RunState, cursor: Where | None) -> None:
        """Bring the grid up to date, with the cursor in sight."""
        shown = (self.size.width, state.changes, cursor, self._board.filter, self._board.differing_first)
        if not self.size.width or shown == self._shown:
            return
        self._shown = shown
        lines: list[Line] = []
        self._blocks = []
        at = 0
        rows = self._board.rows
        for number, arm in enumerate(state.arms):
            if len(state.arms) > 1:
                name = (inert_line(arm.info.name), Tint.TITLE)
                lines.append(fit([(f" {number + 1} ", Tint.MUTED), name], self.size.width))
            block = _Block(len(lines), [row.at(number) for row in rows])
            self._blocks.append(block)
            for start in range(0, len(rows), self._columns):
                part = block.cells[start : start + self._columns]
                if cursor in part:
                    at = len(lines)
                lines.append(((" ", Tint.PLAIN), *_cells(part, state, cursor)))
            lines.append(BLANK)
        self.show(lines)
        self.bring_into_sight(at, at)

    def on_click(self, event: events.Click) -> None:
        line, column = event.y + self.scroll_offset.y, event.x - 1
        for block in self._blocks:
            place = (line - block.first_line) * self._columns + column
            if line >= block.first_line and 0 <= column < self._columns and place < len(block.cells):
                self.post_message(ConversationPicked(block.cells[place]))
                return


def _cells(part: list[Where], state: RunState, cursor: Where | None) -> list[Span]:
    """The glyphs, neighbours of one look joined into one span."""
    spans: list[Span] = []
    for where in part:
        sign, tint = cell(state.conversation(where))
        tint = Tint.CHOSEN if where == cursor else tint
        if spans and spans[-1][1] is tint:
            spans[-1] = (spans[-1][0] + sign, tint)
        else:
            spans.append((sign, tint))
    return spans
