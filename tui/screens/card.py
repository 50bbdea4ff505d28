"""The end of a run, or the run so far, on one screen that stays until it is dismissed."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from rig.displays.card import Card
from tui.text.lines import BLANK, Line, Tint, inert_line
from tui.widgets.lines import Lines
from tui.widgets.messages import Rearranged

QUIT = "quit"
_MARGIN = 2
_WIDEST = 112


class CardScreen(ModalScreen[str | None]):
    """Dismissed with `QUIT` where the reader wants to leave altogether, else with None: they read on."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,C", "read", "read the run"),
        Binding("q", "leave", "leave"),
        Binding("down,j", "scroll(1)", "down"),
        Binding("up,k", "scroll(-1)", "up"),
    ]

    def __init__(self, card: Card) -> None:
        super().__init__()
        self.card = card

    def compose(self) -> ComposeResult:
        with Vertical(id="card-room"):
            yield Lines(id="card")

    def on_mount(self) -> None:
        self.on_rearranged(Rearranged())

    def on_rearranged(self, message: Rearranged) -> None:
        size = self.app.size
        width = max(min(size.width - 2 * (_MARGIN + 1), _WIDEST), 20)
        margin = (" " * _MARGIN, Tint.PLAIN)
        keys = (("enter", Tint.CALL), (" read the run   ", Tint.MUTED), ("q", Tint.CALL))
        lines: list[Line] = [
            (margin, *((inert_line(text), Tint(tint)) for text, tint in line))
            for line in self.card.lines(width)
        ]
        body = [BLANK, *lines, BLANK, (margin, *keys, (" leave", Tint.MUTED)), BLANK]
        room, card = self.query_one("#card-room"), self.query_one("#card", Lines)
        room.styles.width = width + 2 * _MARGIN
        room.styles.height = min(len(body), size.height)
        card.show(body)

    def action_scroll(self, lines: int) -> None:
        card = self.query_one("#card", Lines)
        card.jump_to(max(card.scroll_offset.y + lines, 0))

    def action_read(self) -> None:
        self.dismiss(None)

    def action_leave(self) -> None:
        self.dismiss(QUIT)
