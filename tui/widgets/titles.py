"""The lines above: of the run, of its conversations, and of the transcript."""

from bisect import bisect_right
from collections.abc import Sequence

from textual import events

from rig.displays.signs import DOT
from rig.displays.texts import rate
from tui.live.board import Board, Filter
from tui.live.glyphs import sign_of
from tui.live.state import ConversationState, RunState
from tui.text.bars import progress
from tui.text.lines import Line, Span, Tint, inert_line, spread, width_of
from tui.widgets.lines import Lines


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

    async def on_click(self) -> None:
        await self.run_action("screen.filter")


BAR = 20


class RunHeader(Lines):
    """One line; the bar counts turns, the number beside it conversations."""

    def show_run(self, state: RunState, condition: str) -> None:
        """Bring the line up to date. `condition` is a word for what the run is doing, or empty."""
        if not self.is_new(condition, state.run, state.changes, state.turns_done, len(state.arms)):
            return
        left: list[Span] = [(" rig ", Tint.BRAND), ("  ", Tint.PLAIN)]
        if state.arms:
            several = f"{len(state.arms)} arms"
            name = inert_line(state.arms[0].info.name) if len(state.arms) == 1 else several
            left.append((name, Tint.STRONG))
        left += [(f"   run {inert_line(state.run)}", Tint.MUTED)] if state.run else []
        left += [(f"   {condition}", Tint.RUNNING)] if condition else []
        self.show([spread(left, _progress(state, self.size.width), self.size.width)])


def _progress(state: RunState, width: int) -> Line:
    conversations = state.conversations.values()
    if not conversations:
        return ()
    over, total = sum(conversation.status.over for conversation in conversations), len(conversations)
    is_known = all(conversation.turns for conversation in conversations)
    parts = (state.turns_done, state.turns_total) if is_known else (over, total)
    bar = progress(*parts, BAR if width >= 100 else BAR // 2)
    return (*bar, (f" {over:>{len(str(total))}}/{total} ", Tint.STRONG))


class Tabs(Lines):
    """The view that is shown stands out by brackets as well as by colour."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._ends: list[int] = []

    def show_views(self, names: Sequence[str], chosen: int) -> None:
        """Bring the line up to date. Names are cut to their first letters where there is little room."""
        if not self.size.width:
            return
        for longest in (20, 5, 3, 0):
            line: list[Span] = []
            self._ends = []
            for number, name in enumerate(names):
                word = f"{number + 1} {name[:longest]}".rstrip()
                is_chosen = number == chosen
                line.append((f"[{word}]", Tint.STRONG) if is_chosen else (f" {word} ", Tint.MUTED))
                self._ends.append(width_of(line))
            if width_of(line) <= self.size.width:
                break
        self.show([tuple(line)])

    async def on_click(self, event: events.Click) -> None:
        if event.x < max(self._ends, default=0):
            await self.run_action(f"screen.view({bisect_right(self._ends, event.x)})")
