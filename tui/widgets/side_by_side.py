"""One turn of a conversation in several arms, side by side."""

from collections.abc import Sequence
from typing import NamedTuple

from rig.displays.signs import MODEL
from rig.displays.steps import TurnHeading
from rig.errors import counted
from tui.live.blocks import BlockLayout, block
from tui.live.glyphs import cell
from tui.live.state import ConversationState
from tui.live.transcript import Draft, Entry
from tui.text.lines import BLANK, Line, Span, Tint, columns_in_sight, fit, inert_line, side_by_side
from tui.widgets.lines import Lines


class Side(NamedTuple):
    """A column: the arm's name, what it made of the conversation, and a word where there is no transcript."""

    name: str
    conversation: ConversationState | None
    instead: str


class SideBySide(Lines):
    """A column for each arm, as many as fit, with that of the reader among them."""

    def show_turn(self, sides: Sequence[Side], arm: int, number: int) -> None:
        """Bring the columns up to date with turn `number` (from 1), reading the arm at `arm`."""
        if self.size.width:
            visible, room = columns_in_sight(len(sides), arm, self.size.width)
            columns = [_column(sides[place], place, number, room, place == arm) for place in visible]
            self.show(side_by_side(columns, room))


def turns_of(conversation: ConversationState | None) -> int:
    """How many turns there are to see."""
    return sum(isinstance(entry, TurnHeading) for entry in _entries(conversation))


def _entries(conversation: ConversationState | None) -> list[Entry]:
    return conversation.transcript.entries if conversation and conversation.transcript else []


def _column(side: Side, arm: int, number: int, width: int, is_read: bool) -> list[Line]:
    sign: Span = cell(side.conversation) if side.conversation else (" ", Tint.PLAIN)
    name: Span = (inert_line(side.name), Tint.STRONG if is_read else Tint.PLAIN)
    head = [fit([(f" {arm + 1} ", Tint.MUTED), name, (" ", Tint.PLAIN), sign], width), BLANK]
    form = BlockLayout(width, side.conversation.turns if side.conversation else 0)
    lines: list[Line] = []
    inside = False
    for entry in _entries(side.conversation):
        if isinstance(entry, TurnHeading):
            inside = entry.number == number
        elif inside and isinstance(entry, Draft):
            # How far a prediction is that is being made; its text is in the transcript.
            writing = (f"writing, {counted(entry.tokens, 'token')}", Tint.MUTED)
            lines.append(fit([(f" {MODEL.sign} ", Tint.RUNNING), writing], width))
        elif inside:
            lines += block(entry, form)
    return head + (lines or [fit([(f" {side.instead}", Tint.MUTED)], width)])
