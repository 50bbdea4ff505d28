"""A turn, or the whole conversation, in every arm side by side."""

from collections.abc import Sequence

from rig.events import Where
from tui.stored.outline import sign_of
from tui.stored.record import Record
from tui.stored.story import write_conversation, write_step
from tui.text.lines import Line, Span, Tint, columns_in_sight, fit, inert_line, side_by_side
from tui.text.page_writer import PageWriter


def write_arms(page: PageWriter, records: Sequence[Record], here: Where, turn: int | None) -> None:
    """Columns for as many arms as fit, that of the reader among them."""
    if turn is not None:
        turns = records[0].turns
        page.title(f"turn {turns.index(turn) + 1} of {len(turns)}")
    place = next((number for number, record in enumerate(records) if record.where == here), 0)
    visible, room = columns_in_sight(len(records), place, page.width)
    columns = [_column(records[n], turn, room, full=page.full, is_read=n == place) for n in visible]
    page.lines += side_by_side(columns, room)
    if len(visible) < len(records):
        page.gap()
        page.note(f"{len(visible)} of {len(records)} arms fit here; move to another to see it")


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
