"""The conversations of a run, each with its status, and a cursor on the one being read."""

from collections.abc import Iterable
from typing import NamedTuple

from textual import events
from textual.strip import Strip

from rig.events import Where
from tui.glyphs import glyph
from tui.inert import inert_line
from tui.lines import BLANK, Line, Span, Tint, fit, spread
from tui.messages import ConversationPicked
from tui.state import RunState, Status
from tui.widgets.lines import Lines


class _Look(NamedTuple):
    width: int
    name: str
    status: Status | None = None
    chosen: bool = False
    alarm: bool = False
    progress: str = ""


class ConversationList(Lines):
    """One line per conversation, under a heading for each arm when there are several."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: list[Where | int] = []
        self._places: dict[Where, int] = {}
        self._looks: list[_Look | None] = []
        self._state = RunState()
        self.cursor: Where | None = None

    def show_run(self, state: RunState, cursor: Where | None) -> None:
        """Bring the list up to date, with the cursor on `cursor` and in sight when it moved."""
        if len(self._places) != len(state.conversations):
            self._arrange(state)
        moved = cursor != self.cursor
        self.cursor = cursor
        self._state = state
        top = self.scroll_offset.y
        for place in range(top, min(top + self.size.height, len(self._rows))):
            self._lay_out(place)
        if moved and cursor in self._places:
            self._bring_into_sight(self._places[cursor])

    def render_line(self, y: int) -> Strip:
        # A row that was out of sight is as old as its last sight.
        place = y + self.scroll_offset.y
        if place < len(self._rows):
            self._lay_out(place)
        return super().render_line(y)

    def neighbour(self, steps: int) -> Where | None:
        """The conversation `steps` below the cursor (above when negative), as far as the list goes."""
        wheres = list(self._places)
        if not wheres:
            return None
        place = wheres.index(self.cursor) if self.cursor in self._places else -1 if steps > 0 else 0
        return wheres[min(max(place + steps, 0), len(wheres) - 1)]

    def next_with(self, wanted: Iterable[Where]) -> Where | None:
        """The first of `wanted` below the cursor, going round at the end."""
        wanted = set(wanted)
        wheres = list(self._places)
        start = wheres.index(self.cursor) + 1 if self.cursor in self._places else 0
        return next((where for where in [*wheres[start:], *wheres[:start]] if where in wanted), None)

    def _arrange(self, state: RunState) -> None:
        self._rows = []
        arm = None
        for where in state.conversations:
            if where.arm != arm and len(state.arms) > 1:
                self._rows.append(where.arm)
            arm = where.arm
            self._rows.append(where)
        self._places = {row: place for place, row in enumerate(self._rows) if isinstance(row, Where)}
        self._looks = [None] * len(self._rows)
        self.show([BLANK] * len(self._rows))

    def _lay_out(self, place: int) -> None:
        look = self._look(self._rows[place], self._state)
        if look != self._looks[place]:
            self._looks[place] = look
            self.show_line(place, _line(look))

    def _look(self, row: Where | int, state: RunState) -> _Look:
        """All that a row's look depends on; a row is laid out again only when this changes."""
        width = self.size.width
        if isinstance(row, int):
            return _Look(width, name=state.arm(row).info.name)
        conversation = state.conversations[row]
        repeat = f" #{row.repeat + 1}" if state.repeats > 1 else ""
        running = conversation.status is Status.RUNNING and conversation.turns
        return _Look(
            width,
            name=f"{row.conversation}{repeat}",
            status=conversation.status,
            chosen=row == self.cursor,
            alarm=conversation.incorrect_actions > 0,
            progress=f"{conversation.turns_done}/{conversation.turns}" if running else "",
        )

    def _bring_into_sight(self, place: int) -> None:
        top, height = self.scroll_offset.y, self.size.height
        if not top <= place < top + height:
            self.jump_to(max(place - height // 2, 0))

    def on_click(self, event: events.Click) -> None:
        place = event.y + self.scroll_offset.y
        row = self._rows[place] if place < len(self._rows) else None
        if isinstance(row, Where):
            self.post_message(ConversationPicked(row))


def _line(look: _Look) -> Line:
    name = inert_line(look.name)
    if look.status is None:
        return fit([(f" {name}", Tint.TITLE)], look.width)
    sign, tint = glyph(look.status)
    dull = look.status is Status.WAITING and not look.chosen
    left: list[Span] = [
        ("|" if look.chosen else " ", Tint.RUNNING),
        (f"{sign} ", tint),
        (name, Tint.STRONG if look.chosen else Tint.MUTED if dull else Tint.PLAIN),
    ]
    right: list[Span] = [("!!", Tint.ALARM)] if look.alarm else [(look.progress, Tint.RUNNING)]
    return spread(left, [*right, (" ", Tint.PLAIN)], look.width)
