"""The conversations of a run: a row for each with a glyph for each arm, or a grid of glyphs."""

from typing import NamedTuple

from textual import events
from textual.strip import Strip

from rig.displays import signs
from rig.displays.numbers import out_of
from rig.events import Where
from tui.live.board import Board, Row
from tui.live.glyphs import cell, sign_of
from tui.live.state import ConversationState, RunState, Status
from tui.text.inert import inert_line
from tui.text.lines import BLANK, Line, Span, Tint, fit, spread
from tui.widgets.lines import Lines
from tui.widgets.messages import ConversationPicked


class _Look(NamedTuple):
    """All that a row's look depends on; a row is laid out again only when this changes."""

    width: int
    name: str
    cells: tuple[Span, ...]
    chosen: int | None
    differs: bool
    waiting: bool
    alarm: bool
    progress: str


class ConversationList(Lines):
    """With several arms, `≠` marks the rows in which they differ, and the cell being read is reversed."""

    def __init__(self, board: Board, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._board = board
        self._rows: list[Row] = []
        self._looks: list[_Look | None] = []
        self._repeats = 1
        self._arms = range(1)
        self._shown: tuple[object, ...] = ()
        self.cursor: Where | None = None

    def show_run(self, state: RunState, cursor: Where | None) -> None:
        """Bring the list up to date, with the cursor on `cursor` and in sight when it moved."""
        rows = self._board.rows
        version = (self.size, state.changes, state.turns_done, len(state.arms), cursor, len(rows))
        if rows is self._rows and version == self._shown:
            return
        self._shown = version
        is_rearranged = rows != self._rows
        self._rows = rows
        if is_rearranged:
            self._looks = [None] * len(rows)
            self.show([BLANK] * len(rows))
        place = self._board.place(cursor)
        moved = cursor != self.cursor
        self.cursor, self._repeats = cursor, state.repeats
        self._arms = self._window(len(state.arms), cursor.arm if cursor else 0)
        top = self.scroll_offset.y
        for number in range(top, min(top + self.size.height, len(rows))):
            self._lay_out(number)
        if moved and place is not None and not top <= place < top + self.size.height:
            self.jump_to(max(place - self.size.height // 2, 0))

    def render_line(self, y: int) -> Strip:
        # A row that was out of sight is as old as its last sight.
        number = y + self.scroll_offset.y
        if number < len(self._rows):
            self._lay_out(number)
        return super().render_line(y)

    @property
    def arms_in_sight(self) -> range:
        """The arms that there is room for beside the names, that of the cursor among them."""
        return self._arms

    def _window(self, arms: int, arm: int) -> range:
        fitting = min(max((self.size.width - 14) // 2, 1), max(arms, 1))
        first = min(max(arm - fitting // 2, 0), max(arms - fitting, 0))
        return range(first, first + fitting)

    def _lay_out(self, number: int) -> None:
        look = self._look(self._rows[number])
        if look != self._looks[number]:
            self._looks[number] = look
            self.show_line(number, _line(look))

    def _look(self, row: Row) -> _Look:
        cells = self._board.cells(row)
        several = len(cells) > 1
        visible = cells[self._arms.start : self._arms.stop]
        at_row = self.cursor is not None and self.cursor == row.at(self.cursor.arm)
        running = [cell for cell in cells if cell.status is Status.RUNNING and cell.turns]
        repeat = f" #{row.repeat + 1}" if self._repeats > 1 else ""
        return _Look(
            self.size.width,
            f"{self._board.short(row)}{repeat}",
            tuple(cell(conversation) for conversation in visible),
            self.cursor.arm - self._arms.start if at_row and self.cursor else None,
            several and row in self._board.differing,
            all(cell.status is Status.WAITING for cell in cells),
            any(cell.incorrect_actions and sign_of(cell) is not signs.INCORRECT for cell in cells),
            "" if several else "".join(_progress(conversation) for conversation in running),
        )

    def on_click(self, event: events.Click) -> None:
        number = event.y + self.scroll_offset.y
        if number >= len(self._rows):
            return
        row = self._rows[number]
        cells = self._board.cells(row)
        arm = self.cursor.arm if self.cursor else 0
        if len(cells) > 1:
            column = (event.x - (self.size.width - 2 * len(self._arms) - 1)) // 2
            arm = self._arms[column] if 0 <= column < len(self._arms) else arm
        self.post_message(ConversationPicked(row.at(arm)))


def _progress(conversation: ConversationState) -> str:
    return out_of(conversation.turns_done, conversation.turns)


def _line(look: _Look) -> Line:
    chosen = look.chosen is not None
    name: Span = (
        inert_line(look.name),
        Tint.STRONG if chosen else Tint.MUTED if look.waiting else Tint.PLAIN,
    )
    bar: Span = (str(signs.CURSOR) if chosen else " ", Tint.RUNNING)
    if len(look.cells) < 2:
        right: list[Span] = (
            [(signs.INCORRECT.sign, Tint.ALARM)] if look.alarm else [(look.progress, Tint.RUNNING)]
        )
        spans: list[Span] = [span for cell in look.cells for span in (cell, (" ", Tint.PLAIN))]
        return spread([bar, *spans, name], [*right, (" ", Tint.PLAIN)], look.width)
    differs: Span = (f"{signs.DIFFERS} " if look.differs else "  ", Tint.ERROR)
    right = []
    for column, (sign, tint) in enumerate(look.cells):
        right += [(" ", Tint.PLAIN), (sign, Tint.CHOSEN if column == look.chosen else tint)]
    return spread([bar, differs, name], [*right, (" ", Tint.PLAIN)], look.width)


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
        version = (self.size.width, state.changes, cursor, self._board.filter, self._board.differing_first)
        if not self.size.width or version == self._shown:
            return
        self._shown = version
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
