"""Pages to read and to leave again: a text, the result of a run, the keys of a screen."""

from collections.abc import Sequence
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from rig.displays.card import Card
from rig.displays.signs import Glyph
from tui.screens import keys
from tui.screens.base import PagedScreen
from tui.text.lines import BLANK, Line, Span, Tint, inert_line
from tui.widgets.keys import Key, KeyBar, Section, keys_of
from tui.widgets.lines import Lines, Rearranged
from tui.widgets.page import Page, SearchBar


class TextScreen(PagedScreen[None]):
    """Shows lines of text as they are, unwrapped, because what is in them may be tables."""

    SUBJECT = "A text"
    KEYS = keys.TEXT

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self.heading = title
        self.text = text
        self._left = 0

    def compose(self) -> ComposeResult:
        yield Lines(id="header")
        yield Page(id="page")
        yield SearchBar("search this text", id="search")
        yield KeyBar()

    def on_mount(self) -> None:
        self.show_state()

    def show_state(self) -> None:
        """Lay the text out."""
        right: list[Span] = [(f"{self.page.search.count} ", Tint.FOUND_HERE)] if self.page.search.term else []
        self.show_header([(f"  {inert_line(self.heading)}", Tint.STRONG)], right)
        self.page.show_page(self.lines_of(self.page.size.width))
        self.refresh_bindings()

    def lines_of(self, width: int) -> list[Line]:
        """What is shown in this many cells."""
        lines = [inert_line(line)[self._left :] for line in self.text.splitlines()]
        return [((f" {line}", Tint.PLAIN),) for line in lines]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "match" or any(page.search.term for page in self.query(Page))

    def action_line(self, lines: int) -> None:
        self.page.jump_to(max(self.page.scroll_offset.y + lines, 0))

    def action_shift(self, cells: int) -> None:
        longest = max((len(line) for line in self.text.splitlines()), default=0)
        self._left = min(max(self._left + cells, 0), max(longest - self.page.size.width + 2, 0))
        self.show_state()

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self.text)
        self.notify(f"copied {len(self.text):,} characters", markup=False)


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


class HelpScreen(ModalScreen[None]):
    """Lists the sections of keys that work at the moment."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "dismiss", "close")]

    def __init__(
        self, subject: str, sections: Sequence[Section], signs: Sequence[tuple[Glyph, str]] = ()
    ) -> None:
        super().__init__()
        self._signs = tuple(signs)
        self._subject = subject
        self._sections = tuple(sections)

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog"):
            yield Static(Text(self._subject, style="bold"), markup=False)
            for title, lines in self.parts:
                # The keys, and beside them what they do, however many lines that takes.
                table = Table.grid(padding=(0, 1, 0, 0))
                table.add_column(style="bold", no_wrap=True, min_width=15)
                table.add_column()
                for key in lines:
                    table.add_row(Text(f"  {key.keys}"), Text(key.does))
                yield Static(Text(f"\n{title}", style="bold"), markup=False)
                yield Static(table, markup=False)

    @property
    def parts(self) -> list[tuple[str, list[Key]]]:
        """What it lists, under titles."""
        rows = [Key(str(sign), does) for sign, does in self._signs]
        parts = [(section.title, keys_of(section)) for section in self._sections]
        return [*parts, ("Signs", rows)] if rows else parts
