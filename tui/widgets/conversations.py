"""The conversations of a run: a row for each with a glyph for each arm, or a grid of glyphs."""

from collections.abc import Sequence

from textual import events
from textual.strip import Strip

from rig.displays import signs
from rig.displays.texts import out_of
from rig.events import Where
from tui.live.board import Board, BoardRow
from tui.live.glyphs import cell, sign_of
from tui.live.state import RunState, Status
from tui.text.lines import BLANK, Line, Span, Tint, fit, inert_line, spread
from tui.widgets.lines import Lines
from tui.widgets.messages import ConversationPicked


class ConversationList(Lines):
    """With several arms, `≠` marks the rows in which they differ, and the cell being read is reversed."""

    def __init__(self, board: Board, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._board = board
        self._rows: list[BoardRow] = []
        self._repeats = 1
        self._arms = range(1)
        self.cursor: Where | None = None

    def show_run(self, state: RunState, cursor: Where | None) -> None:
        """Bring the list up to date, with the cursor on `cursor` and in sight when it moved."""
        rows, height = self._board.rows, self.size.height
        arms = len(state.arms)
        version = (self.size, state.changes, state.turns_done, arms, cursor, len(rows))
        if rows is self._rows and version == self.version:
            return
        self.version = version
        if rows != self._rows:
            self.show([BLANK] * len(rows))
        self._rows = rows
        moved = cursor != self.cursor
        self.cursor, self._repeats = cursor, state.repeats
        fitting = min(max((self.size.width - 14) // 2, 1), max(arms, 1))
        first = min(max((cursor.arm if cursor else 0) - fitting // 2, 0), max(arms - fitting, 0))
        self._arms = range(first, first + fitting)
        top = self.scroll_offset.y
        for number in range(top, min(top + height, len(rows))):
            self.show_line(number, self._line(rows[number]))
        place = self._board.place(cursor)
        if moved and place is not None and not top <= place < top + height:
            self.jump_to(max(place - height // 2, 0))

    def render_line(self, y: int) -> Strip:
        # A row that was out of sight is as old as its last sight.
        number = y + self.scroll_offset.y
        if number < len(self._rows):
            self.show_line(number, self._line(self._rows[number]))
        return super().render_line(y)

    @property
    def arms_in_sight(self) -> range:
        """The arms that there is room for beside the names, that of the cursor among them."""
        return self._arms

    def _line(self, row: BoardRow) -> Line:
        cells = self._board.cells(row)
        chosen = self.cursor is not None and self.cursor == row.at(self.cursor.arm)
        is_waiting = all(conversation.status is Status.WAITING for conversation in cells)
        repeat = f" #{row.repeat + 1}" if self._repeats > 1 else ""
        tint = Tint.STRONG if chosen else Tint.MUTED if is_waiting else Tint.PLAIN
        bar: Span = (str(signs.CURSOR) if chosen else " ", Tint.RUNNING)
        name: Span = (inert_line(f"{self._board.short(row)}{repeat}"), tint)
        looks = [cell(conversation) for conversation in cells[self._arms.start : self._arms.stop]]
        right: list[Span] = []
        if len(looks) < 2:
            left = [bar, *(span for look in looks for span in (look, (" ", Tint.PLAIN))), name]
            running = [one for one in cells if one.status is Status.RUNNING and one.turns]
            progress = "".join(out_of(one.turns_done, one.turns) for one in running) if len(cells) < 2 else ""
            is_alarm = any(one.incorrect_actions and sign_of(one) is not signs.INCORRECT for one in cells)
            right.append((signs.INCORRECT.sign, Tint.ALARM) if is_alarm else (progress, Tint.RUNNING))
        else:
            differs = len(cells) > 1 and row in self._board.differing
            left = [bar, (f"{signs.DIFFERS} " if differs else "  ", Tint.ERROR), name]
            for arm, (sign, look_tint) in zip(self._arms, looks, strict=False):
                is_read = chosen and self.cursor is not None and arm == self.cursor.arm
                right += [(" ", Tint.PLAIN), (sign, Tint.CHOSEN if is_read else look_tint)]
        return spread(left, [*right, (" ", Tint.PLAIN)], self.size.width)

    def on_click(self, event: events.Click) -> None:
        number = event.y + self.scroll_offset.y
        if number >= len(self._rows):
            return
        row = self._rows[number]
        arm = self.cursor.arm if self.cursor else 0
        if len(self._board.cells(row)) > 1:
            column = (event.x - (self.size.width - 2 * len(self._arms) - 1)) // 2
            arm = self._arms[column] if 0 <= column < len(self._arms) else arm
        self.post_message(ConversationPicked(row.at(arm)))


class ConversationGrid(Lines):
    """As many conversations at a glance as there is room for; the one being read is reversed."""

    def __init__(self, board: Board, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._board = board
        self._cells: dict[int, Sequence[Where]] = {}
        """By line."""

    def show_run(self, state: RunState, cursor: Where | None) -> None:
        """Bring the grid up to date, with the cursor in sight."""
        if not self.is_new(state.changes, cursor, self._board.filter, self._board.differing_first):
            return
        columns = max(self.size.width - 2, 1)
        lines: list[Line] = []
        self._cells = {}
        at = 0
        for number, arm in enumerate(state.arms):
            if len(state.arms) > 1:
                name = (inert_line(arm.info.name), Tint.TITLE)
                lines.append(fit([(f" {number + 1} ", Tint.MUTED), name], self.size.width))
            of_arm = [row.at(number) for row in self._board.rows]
            for start in range(0, len(of_arm), columns):
                part = self._cells[len(lines)] = of_arm[start : start + columns]
                at = len(lines) if cursor in part else at
                lines.append(((" ", Tint.PLAIN), *_joined(part, state, cursor)))
            lines.append(BLANK)
        self.show(lines)
        self.bring_into_sight(at, at)

    def on_click(self, event: events.Click) -> None:
        cells = self._cells.get(event.y + self.scroll_offset.y, ())
        if 0 < event.x <= len(cells):
            self.post_message(ConversationPicked(cells[event.x - 1]))


def _joined(part: Sequence[Where], state: RunState, cursor: Where | None) -> list[Span]:
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
