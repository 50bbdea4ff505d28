"""A turn, or the whole conversation, in every arm side by side."""

from collections.abc import Sequence
from itertools import zip_longest

from rig.displays.signs import SIDE
from rig.events import Where
from tui.stored.outline import sign_of
from tui.stored.record import Record
from tui.stored.story import write_conversation, write_step
from tui.text.inert import inert_line
from tui.text.lines import BLANK, Line, Span, Tint, fit, width_of
from tui.text.page_writer import PageWriter

NARROWEST = 26
"""Cells of a column. Arms that there is no room for are reached by moving to one of them."""


def write_arms(page: PageWriter, records: Sequence[Record], here: Where, turn: int | None) -> None:
    """Columns for as many arms as fit, that of the reader among them."""
    if turn is not None:
        turns = records[0].turns
        page.title(f"turn {turns.index(turn) + 1} of {len(turns)}")
    fitting = max(min(page.width // NARROWEST, len(records)), 1)
    place = next((number for number, record in enumerate(records) if record.where == here), 0)
    first = min(max(place - fitting // 2, 0), len(records) - fitting)
    room = (page.width - (fitting - 1)) // fitting
    columns = [
        _column(record, turn, room, full=page.full, is_read=record.where == here)
        for record in records[first : first + fitting]
    ]
    page.lines += [_beside(row, room) for row in zip_longest(*columns, fillvalue=BLANK)]
    if fitting < len(records):
        page.gap()
        page.note(f"{fitting} of {len(records)} arms fit here; move to another to see it")


def _column(record: Record, turn: int | None, width: int, *, full: bool, is_read: bool) -> list[Line]:
    page = PageWriter(width, full=full)
    name: Span = (inert_line(record.name_of(record.where)), Tint.STRONG if is_read else Tint.PLAIN)
    sign = sign_of(record)
    page.lines.append(fit([(f" {sign.sign} ", Tint(sign.tint)), name], width))
    if turn is None:
        write_conversation(page, record)
        return page.lines
    steps = record.steps(turn)
    if not steps:
        page.gap()
        page.note("not played yet")
    for step in steps:
        page.gap()
        write_step(page, step, None)
    return page.lines


def _beside(row: Sequence[Line], room: int) -> Line:
    joined: list[Span] = []
    for number, line in enumerate(row):
        if number:
            joined.append((str(SIDE), Tint.TRACK))
        joined.extend(line)
        joined.append((" " * max(room - width_of(line), 0), Tint.PLAIN))
    return tuple(joined)
