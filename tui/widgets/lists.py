"""Lists to choose from: the conversations of a run, as rows or as a grid of glyphs, and the stored runs.

A board decides which conversations are listed, and in which order.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

from textual import events
from textual.message import Message
from textual.strip import Strip

from rig.core.events import Where
from rig.core.metrics import Declaration
from rig.show import signs
from rig.show.signs import DOT
from rig.show.table import short_names
from rig.show.texts import headline, out_of
from rig.store import StoredRun
from tui.live.state import ConversationState, RunState
from tui.text.lines import BLANK, Line, Span, Tint, fit, inert_line, pad, spread
from tui.widgets.lines import Lines, RowPicked


@dataclass
class ConversationPicked(Message):
    """A message that the reader moved to a conversation."""

    where: Where


class Filter(StrEnum):
    """Which conversations are listed. With several arms, it is enough if one of them fits."""

    ALL = "all"
    FAILED = "failed"
    INCORRECT = "incorrect"
    DIFFERING = "differing"


class BoardRow(NamedTuple):
    """A conversation in all arms, in one of its repeats."""

    conversation: str
    repeat: int

    def at(self, arm: int) -> Where:
        """Return the conversation of this row in one arm."""
        return Where(arm, self.conversation, self.repeat)


class Board:
    """The rows of a run that are listed. They are arranged again only if the run or a choice changed."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self.filter = Filter.ALL
        self.differing_first = True
        self._arranged: tuple[object, ...] = ()
        self._rows: list[BoardRow] = []
        self._places: dict[BoardRow, int] = {}
        self.differing: frozenset[BoardRow] = frozenset()
        self.total = 0
        self.ending = ""
        """The common ending of all names, which the list leaves out: `easy` of `login-easy`."""

    @property
    def rows(self) -> list[BoardRow]:
        """The rows that pass the filter; with `differing_first`, those whose arms differ come first."""
        state = self._state
        version = (state.changes, len(state.conversations), self.filter, self.differing_first)
        if version != self._arranged:
            self._arranged = version
            self._arrange()
        return self._rows

    def short(self, row: BoardRow) -> str:
        """Return the name of a row without the common ending."""
        return row.conversation.removesuffix(f"-{self.ending}") if self.ending else row.conversation

    def next_filter(self) -> None:
        """Change to the next filter that makes sense for this run, after the last to the first."""
        filters = [choice for choice in Filter if choice is not Filter.DIFFERING or len(self._state.arms) > 1]
        self.filter = filters[(filters.index(self.filter) + 1) % len(filters)]

    def place(self, where: Where | None) -> int | None:
        """Return the row of a conversation, None if it is not listed."""
        _ = self.rows
        return None if where is None else self._places.get(BoardRow(where.conversation, where.repeat))

    def cells(self, row: BoardRow) -> list[ConversationState]:
        """Return the row's conversation in each arm that has it."""
        cells = (self._state.conversations.get(row.at(arm)) for arm in range(max(len(self._state.arms), 1)))
        return [cell for cell in cells if cell is not None]

    def moved(self, where: Where | None, steps: int) -> Where | None:
        """Return the conversation `steps` rows below (above if negative), at most the last or the first."""
        rows = self.rows
        if not rows:
            return None
        place = self.place(where)
        if place is None:
            place = -1 if steps > 0 else 0
        return rows[min(max(place + steps, 0), len(rows) - 1)].at(where.arm if where else 0)

    def next_failure(self, where: Where | None, step: int) -> Where | None:
        """Return the next failed conversation, row by row and arm by arm, wrapping around at the end."""
        failed = [cell.where for row in self.rows for cell in self.cells(row) if cell.failed]
        here = self._order(where)
        if step > 0:
            ahead = [place for place in failed if self._order(place) > here]
        else:
            ahead = [place for place in reversed(failed) if self._order(place) < here]
        around = failed[:1] if step > 0 else failed[-1:]
        return next(iter([*ahead, *around]), None)

    def _order(self, where: Where | None) -> tuple[int, int]:
        """Return a key that sorts by row and arm; what is not listed comes first."""
        place = self.place(where)
        return (-1, 0) if where is None or place is None else (place, where.arm)

    def _arrange(self) -> None:
        everywhere = (BoardRow(where.conversation, where.repeat) for where in self._state.conversations)
        rows = list(dict.fromkeys(everywhere))
        self.total = len(rows)
        parts = [row.conversation.rpartition("-") for row in rows]
        endings = {ending for beginning, _, ending in parts if beginning}
        is_common = len(rows) > 1 and len(endings) == 1 and all(dash for _, dash, _ in parts)
        self.ending = endings.pop() if is_common else ""
        self.differing = frozenset(row for row in rows if differ(self.cells(row), self._state.declaration))
        kept = [row for row in rows if self._passes(row)]
        if self.differing_first:
            kept.sort(key=lambda row: row not in self.differing)
        self._rows = kept
        self._places = {row: place for place, row in enumerate(kept)}

    def _passes(self, row: BoardRow) -> bool:
        match self.filter:
            case Filter.ALL:
                return True
            case Filter.FAILED:
                return any(cell.failed for cell in self.cells(row))
            case Filter.INCORRECT:
                return any(cell.incorrect_actions for cell in self.cells(row))
            case Filter.DIFFERING:
                return row in self.differing


def differ(cells: Iterable[ConversationState], declaration: Declaration) -> bool:
    """Return whether the arms that finished a conversation got different results.

    Results are the same if both the success and the declared text about the counts are.
    """
    scored = (cell.counts for cell in cells if cell.counts is not None)
    return len({(declaration.succeeded(counts), declaration.text(counts)) for counts in scored}) > 1


class ConversationList(Lines):
    """The conversations as rows. With several arms, `≠` marks differing rows; the cell read is reversed."""

    def __init__(self, board: Board, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._board = board
        self._rows: list[BoardRow] = []
        self._repeats = 1
        self.arms = range(1)
        """The arms that fit beside the names, including the one at the cursor."""
        self.cursor: Where | None = None

    def show_run(self, state: RunState, cursor: Where | None) -> None:
        """Update the list, with the cursor on `cursor`; if it moved, scroll to it."""
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
        self.arms = range(first, first + fitting)
        top = self.scroll_offset.y
        for number in range(top, min(top + height, len(rows))):
            self.show_line(number, self._line(rows[number]))
        place = self._board.place(cursor)
        if moved and place is not None and not top <= place < top + height:
            self.jump_to(max(place - height // 2, 0))

    def render_line(self, y: int) -> Strip:
        # A row that was out of sight may be outdated.
        number = y + self.scroll_offset.y
        if number < len(self._rows):
            self.show_line(number, self._line(self._rows[number]))
        return super().render_line(y)

    def _line(self, row: BoardRow) -> Line:
        cells = self._board.cells(row)
        chosen = self.cursor is not None and self.cursor == row.at(self.cursor.arm)
        is_waiting = all(conversation.status is signs.WAITING for conversation in cells)
        repeat = f" #{row.repeat + 1}" if self._repeats > 1 else ""
        tint = Tint.STRONG if chosen else Tint.MUTED if is_waiting else Tint.PLAIN
        bar: Span = (str(signs.CURSOR) if chosen else " ", Tint.RUNNING)
        name: Span = (inert_line(f"{self._board.short(row)}{repeat}"), tint)
        looks = [conversation.glyph for conversation in cells[self.arms.start : self.arms.stop]]
        right: list[Span] = []
        if len(looks) < 2:
            left = [bar, *(span for look in looks for span in (look, (" ", Tint.PLAIN))), name]
            running = [one for one in cells if one.status is signs.RUNNING and one.turns]
            progress = "".join(out_of(one.turns_done, one.turns) for one in running) if len(cells) < 2 else ""
            is_alarm = any(one.incorrect_actions and one.sign is not signs.INCORRECT for one in cells)
            right.append((str(signs.INCORRECT.glyph), Tint.ALARM) if is_alarm else (progress, Tint.RUNNING))
        else:
            differs = len(cells) > 1 and row in self._board.differing
            left = [bar, (f"{signs.DIFFERS} " if differs else "  ", Tint.ERROR), name]
            for arm, (sign, look_tint) in zip(self.arms, looks, strict=False):
                is_read = chosen and self.cursor is not None and arm == self.cursor.arm
                right += [(" ", Tint.PLAIN), (sign, Tint.CHOSEN if is_read else look_tint)]
        return spread(left, [*right, (" ", Tint.PLAIN)], self.size.width)

    def on_click(self, event: events.Click) -> None:
        number = self.line_at(event)
        if number >= len(self._rows):
            return
        row = self._rows[number]
        arm = self.cursor.arm if self.cursor else 0
        if len(self._board.cells(row)) > 1:
            column = (event.x - (self.size.width - 2 * len(self.arms) - 1)) // 2
            arm = self.arms[column] if 0 <= column < len(self.arms) else arm
        self.post_message(ConversationPicked(row.at(arm)))


class ConversationGrid(Lines):
    """A grid of glyphs with as many conversations as fit; the one being read is reversed."""

    def __init__(self, board: Board, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._board = board
        self._cells: dict[int, Sequence[Where]] = {}
        """The conversations of each line."""

    def show_run(self, state: RunState, cursor: Where | None) -> None:
        """Update the grid, with the cursor in sight."""
        if not self.is_new(state.changes, cursor, self._board.filter, self._board.differing_first):
            return
        columns = max(self.size.width - 2, 1)
        lines: list[Line] = []
        self._cells = {}
        at = 0
        for number, called in enumerate(short_names([arm.info.name for arm in state.arms])):
            if len(state.arms) > 1:
                name = (inert_line(called), Tint.TITLE)
                lines.append(fit([(f" {number + 1} ", Tint.MUTED), name], self.size.width))
            of_arm = [row.at(number) for row in self._board.rows]
            for start in range(0, len(of_arm), columns):
                part = self._cells[len(lines)] = of_arm[start : start + columns]
                at = len(lines) if cursor in part else at
                # Neighbours with the same tint are one span.
                glyphs = ((where, *state.conversation(where).glyph) for where in part)
                looks = ((sign, Tint.CHOSEN if where == cursor else tint) for where, sign, tint in glyphs)
                runs = groupby(looks, key=lambda look: look[1])
                joined = (("".join(sign for sign, _ in run), tint) for tint, run in runs)
                lines.append(((" ", Tint.PLAIN), *joined))
            lines.append(BLANK)
        self.show(lines)
        self.bring_into_sight(at, at)

    def on_click(self, event: events.Click) -> None:
        cells = self._cells.get(self.line_at(event), ())
        if 0 < event.x <= len(cells):
            self.post_message(ConversationPicked(cells[event.x - 1]))


class BoardTitle(Lines):
    """The line above the list, with the filter; a click changes the filter."""

    def show_board(self, board: Board, state: RunState, columns: range) -> None:
        """Update the line; `columns` are the arms that have a column."""
        if not self.size.width:
            return
        rows = board.rows
        count = f"{len(rows)} of {board.total}" if board.filter is not Filter.ALL else str(board.total)
        tint = Tint.TITLE if board.filter is Filter.ALL else Tint.RUNNING
        left: list[Span] = [(f" {board.filter} ", tint), (count, Tint.MUTED)]
        if board.ending and board.filter is Filter.ALL:
            left.append((f" {DOT} {inert_line(board.ending)}", Tint.MUTED))
        arms = columns if len(state.arms) > 1 else ()
        right: list[Span] = [(f" {(arm + 1) % 10}", Tint.MUTED) for arm in arms]
        self.show([spread(left, [*right, (" ", Tint.PLAIN)], self.size.width)])

    async def on_click(self) -> None:
        await self.run_action("screen.filter")


class StoredRunList:
    """The stored runs, newest first. The cursor stays with its run while others appear or vanish."""

    def __init__(self) -> None:
        self.runs: list[StoredRun] = []
        self.term = ""
        self.marked: list[str] = []
        """The ids of the marked runs, in the order in which they were marked."""
        self._id: str | None = None
        self.place = 0
        """The row of the cursor."""

    def take(self, runs: Sequence[StoredRun]) -> None:
        """Replace the runs; marks of runs that are gone are dropped."""
        self.runs = list(runs)
        ids = {run.id for run in runs}
        self.marked = [run_id for run_id in self.marked if run_id in ids]
        self._settle()

    def filter(self, term: str) -> None:
        """List only runs that have every word of `term` in their id, name, state, day, arms or settings."""
        self.term = term
        self._settle()

    @property
    def visible(self) -> list[StoredRun]:
        """The runs that pass the filter."""
        words = self.term.casefold().split()
        return [run for run in self.runs if not words or all(word in _haystack(run) for word in words)]

    @property
    def run(self) -> StoredRun | None:
        """The run at the cursor, None if no run is listed."""
        runs = self.visible
        return runs[self.place] if self.place < len(runs) else None

    def move(self, by: int) -> None:
        """Move the cursor by this many rows, at most to the first or the last."""
        self.move_to(self.place + by)

    def move_to(self, place: int) -> None:
        """Move the cursor to a row."""
        runs = self.visible
        self.place = min(max(place, 0), max(len(runs) - 1, 0))
        self._id = runs[self.place].id if runs else None

    def mark(self) -> None:
        """Mark or unmark the run at the cursor, and move to the next."""
        run = self.run
        if run is None:
            return
        if run.id in self.marked:
            self.marked.remove(run.id)
        else:
            self.marked.append(run.id)
        self.move(1)

    def _settle(self) -> None:
        runs = self.visible
        place = next((number for number, run in enumerate(runs) if run.id == self._id), self.place)
        self.move_to(place)


def _haystack(run: StoredRun) -> str:
    parts = [run.id, run.name or "", run.state, f"{run.created.astimezone():%Y-%m-%d}"]
    parts += [arm.name for arm in run.arms]
    parts += [f"{name}={value}" for name, value in run.settings.items()]
    return "\n".join(parts).casefold()


SIGNS = tuple((sign.glyph, sign.word) for sign in (*signs.RUN_STATES.values(), signs.MARKED))
"""The meanings of the signs, for help and documentation."""


class RunList(Lines):
    """A header and a row for each run that passes the filter. A second click on a row opens it."""

    _place = 0

    def show_runs(self, run_list: StoredRunList) -> None:
        """Update the list."""
        width, runs = self.size.width, run_list.visible
        if not width:
            return
        names = min(max([4, *(len(inert_line(run.name or "")) for run in runs)]), 16 if width < 100 else 28)
        header = f"    {'run':<7} {'name':<{names + 1}}{'started':<17}{'turns':>11}  success"
        lines = [fit([(header, Tint.MUTED)], width)]
        for number, run in enumerate(runs):
            is_marked = run.id in run_list.marked
            lines.append(_row(run, number == run_list.place, is_marked, names, width))
        if not runs:
            empty = "no run matches" if run_list.runs else "no run is stored yet; rig run makes one"
            lines.append(((f"   {empty}", Tint.MUTED),))
        self.show(lines)
        before, self._place = self._place, run_list.place
        if run_list.place != before:
            # The first run brings the header with it.
            self.bring_into_sight(run_list.place, min(run_list.place + 2, len(self.lines) - 1))

    def on_click(self, event: events.Click) -> None:
        number = self.line_at(event) - 1
        if 0 <= number < len(self.lines) - 1:
            self.post_message(RowPicked(number, opens=event.chain > 1))


def _row(run: StoredRun, is_chosen: bool, is_marked: bool, names: int, width: int) -> Line:
    bar: Span = (str(signs.CURSOR) if is_chosen else " ", Tint.RUNNING)
    mark: Span = (str(signs.MARKED.glyph) if is_marked else " ", Tint.CALL)
    tint = Tint.STRONG if is_chosen else Tint.PLAIN
    state = signs.RUN_STATES[run.state]
    line: list[Span] = [bar, mark, (str(state.glyph), Tint(state.tint)), (f" {inert_line(run.id):<7}", tint)]
    line += pad(fit([(inert_line(run.name or ""), tint)], names), names + 1)
    line.append((f"{run.created.astimezone():%Y-%m-%d %H:%M} ", Tint.MUTED))
    done = out_of(run.turns_done, run.turns).rjust(11)
    line.append((done, Tint.MUTED if run.state == "finished" else tint))
    for number, arm in enumerate(run.arms):
        rate = headline(run.declaration, arm.rated)
        line += [(", " if number else "  ", Tint.MUTED), (rate, Tint.NUMBER)]
        line.append((f" {inert_line(arm.name)}", tint))
    return fit(line, width)
