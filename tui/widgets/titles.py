"""The lines above: of the run, of its conversations, and of the transcript."""

from collections.abc import Sequence

from textual import events

from rig.displays.numbers import rate
from rig.displays.signs import DOT
from tui.live.board import Board, Filter
from tui.live.glyphs import sign_of
from tui.live.state import ConversationState, RunState
from tui.text.bars import progress
from tui.text.inert import inert_line
from tui.text.lines import Line, Span, Tint, spread, width_of
from tui.widgets.lines import Lines
from tui.widgets.messages import FilterPicked, ViewPicked


class Title(Lines):
    """One line."""

    def show_conversation(
        self,
        conversation: ConversationState | None,
        following: bool,
        *,
        note: str = "",
        hits: str = "",
        pace: float | None = None,
    ) -> None:
        """Bring the line up to date. `note` stands beside the name, `hits` is what a search says.

        `pace` are the tokens a second of what is being written.
        """
        left: list[Span] = [(" ", Tint.PLAIN)]
        if conversation is not None:
            sign = sign_of(conversation)
            left += [
                (inert_line(conversation.where.conversation), Tint.STRONG),
                (f" #{conversation.where.repeat + 1}" if conversation.where.repeat else "", Tint.STRONG),
                ("  ", Tint.PLAIN),
                (sign.label, Tint(sign.tint)),
                (f"  {inert_line(note)}" if note else "", Tint.MUTED),
            ]
        right: list[Span] = [(f"{hits}  ", Tint.FOUND_HERE)] if hits else []
        if pace is not None:
            right += [(f"{rate(pace):>4}", Tint.STRONG), (" tok/s   ", Tint.MUTED)]
        right.append(("following ", Tint.RUNNING) if following else ("reading ", Tint.MUTED))
        self.show([spread(left, right, self.size.width)])


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
        if board.ending and board.filter is Filter.ALL:
            left.append((f" {DOT} {inert_line(board.ending)}", Tint.MUTED))
        right: list[Span] = []
        if len(state.arms) > 1:
            right = [(f" {(arm + 1) % 10}", Tint.MUTED) for arm in columns]
        self.show([spread(left, [*right, (" ", Tint.PLAIN)], self.size.width)])

    def on_click(self) -> None:
        self.post_message(FilterPicked())


BAR = 20


class Header(Lines):
    """One line; the bar counts turns, the number beside it conversations."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: tuple[object, ...] = ()

    def show_run(self, state: RunState, condition: str) -> None:
        """Bring the line up to date. `condition` is a word for what the run is doing, or empty."""
        version = (self.size.width, condition, state.run, state.changes, state.turns_done, len(state.arms))
        if version == self._shown:
            return
        self._shown = version
        left: list[Span] = [(" rig ", Tint.BRAND), ("  ", Tint.PLAIN)]
        if len(state.arms) == 1:
            left.append((inert_line(state.arms[0].info.name), Tint.STRONG))
        elif state.arms:
            left.append((f"{len(state.arms)} arms", Tint.STRONG))
        if state.run:
            left.append((f"   run {inert_line(state.run)}", Tint.MUTED))
        if condition:
            left.append((f"   {condition}", Tint.RUNNING))
        self.show([spread(left, _progress(state, self.size.width), self.size.width)])


def _progress(state: RunState, width: int) -> Line:
    if not state.conversations:
        return ()
    over = sum(conversation.status.over for conversation in state.conversations.values())
    is_known = all(conversation.turns for conversation in state.conversations.values())
    parts = (state.turns_done, state.turns_total) if is_known else (over, len(state.conversations))
    size = BAR if width >= 100 else BAR // 2
    total = str(len(state.conversations))
    return (
        *progress(*parts, size),
        (f" {over:>{len(total)}}/{total} ", Tint.STRONG),
    )


class Tabs(Lines):
    """The view that is shown stands out by brackets as well as by colour."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._places: list[tuple[int, int]] = []

    def show_views(self, names: Sequence[str], chosen: int) -> None:
        """Bring the line up to date. Names are cut to their first letters where there is little room."""
        if not self.size.width:
            return
        for longest in (20, 5, 3, 0):
            line = self._lay_out([name[:longest] for name in names], chosen)
            if width_of(line) <= self.size.width:
                break
        self.show([line])

    def _lay_out(self, names: Sequence[str], chosen: int) -> Line:
        line: list[Span] = []
        self._places = []
        for number, name in enumerate(names):
            start = width_of(line)
            digit = f"{number + 1} {name}".rstrip()
            if number == chosen:
                line.append((f"[{digit}]", Tint.STRONG))
            else:
                line.append((f" {digit} ", Tint.MUTED))
            self._places.append((start, width_of(line)))
        return tuple(line)

    def on_click(self, event: events.Click) -> None:
        for number, (start, end) in enumerate(self._places):
            if start <= event.x < end:
                self.post_message(ViewPicked(number))
