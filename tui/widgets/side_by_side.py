"""One turn of a conversation in several arms, side by side."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from rig.displays.signs import MODEL, SIDE
from rig.displays.steps import TurnHeading
from rig.words import counted
from tui.live.blocks import Form, block
from tui.live.glyphs import cell
from tui.live.state import ConversationState
from tui.live.transcript import Draft, Entry
from tui.text.inert import inert_line
from tui.text.lines import BLANK, Line, Span, Tint, fit, width_of
from tui.widgets.lines import Lines

NARROWEST = 26
"""Cells a column needs. What does not fit is reached by moving to another arm."""


class Side(NamedTuple):
    """A column: the arm's name, what it made of the conversation, and a word where there is no transcript."""

    name: str
    conversation: ConversationState | None
    instead: str


class SideBySide(Lines):
    """A column for each arm, as many as fit, with that of the reader among them."""

    def show_turn(self, sides: Sequence[Side], arm: int, number: int) -> None:
        """Bring the columns up to date with turn `number` (from 1), reading the arm at `arm`."""
        width = self.size.width
        if not width:
            return
        fitting = max(min(width // NARROWEST, len(sides)), 1)
        first = min(max(arm - fitting // 2, 0), len(sides) - fitting)
        room = (width - (fitting - 1)) // fitting
        visible = range(first, first + fitting)
        columns = [
            _column(sides[number_of_arm], number_of_arm, number, room, number_of_arm == arm)
            for number_of_arm in visible
        ]
        lines = [_beside(row, room) for row in zip_longest(*columns, fillvalue=BLANK)]
        self.show(lines)


def turns_of(conversation: ConversationState | None) -> int:
    """How many turns there are to see."""
    return len(_headings(conversation))


def _headings(conversation: ConversationState | None) -> list[int]:
    entries = conversation.transcript.entries if conversation and conversation.transcript else []
    return [place for place, entry in enumerate(entries) if isinstance(entry, TurnHeading)]


def _turn(conversation: ConversationState | None, number: int) -> list[Entry]:
    """The entries of a turn, without its heading."""
    entries = conversation.transcript.entries if conversation and conversation.transcript else []
    lines: list[Entry] = []
    inside = False
    for entry in entries:
        if isinstance(entry, TurnHeading):
            inside = entry.number == number
        elif inside:
            lines.append(entry)
    return lines


def _column(side: Side, arm: int, number: int, width: int, is_read: bool) -> list[Line]:
    sign: Span = cell(side.conversation) if side.conversation else (" ", Tint.PLAIN)
    name: Span = (inert_line(side.name), Tint.STRONG if is_read else Tint.PLAIN)
    lines = [fit([(f" {arm + 1} ", Tint.MUTED), name, (" ", Tint.PLAIN), sign], width), BLANK]
    entries = _turn(side.conversation, number)
    if not entries:
        return [*lines, fit([(f" {side.instead}", Tint.MUTED)], width)]
    form = Form(width, side.conversation.turns if side.conversation else 0)
    for entry in entries:
        lines += _draft(entry, form) if isinstance(entry, Draft) else block(entry, form)
    return lines


def _draft(entry: Draft, form: Form) -> list[Line]:
    """A prediction being made: how far it is; its text is in the transcript."""
    return [
        fit(
            [(f" {MODEL.sign} ", Tint.RUNNING), (f"writing, {counted(entry.tokens, 'token')}", Tint.MUTED)],
            form.width,
        )
    ]


def _beside(row: Sequence[Line], room: int) -> Line:
    joined: list[Span] = []
    for number, line in enumerate(row):
        if number:
            joined.append((str(SIDE), Tint.TRACK))
        joined.extend(line)
        joined.append((" " * max(room - width_of(line), 0), Tint.PLAIN))
    return tuple(joined)
