"""The keys of a screen, generated from its bindings, and what the glyphs mean."""

from collections.abc import Sequence
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from rig.displays.signs import Glyph
from tui.widgets.keys import Key, Section, keys_of


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
                yield Static(Text(f"\n{title}", style="bold"), markup=False)
                yield Static(_table(lines), markup=False)

    @property
    def parts(self) -> list[tuple[str, list[Key]]]:
        """What it lists, under titles."""
        parts = [(section.title, keys_of(section)) for section in self._sections]
        return (
            [*parts, ("Signs", [Key(str(sign), does) for sign, does in self._signs])]
            if self._signs
            else parts
        )

    @property
    def text(self) -> Text:
        """All of it, as text."""
        lines = [self._subject]
        for title, keys in self.parts:
            lines += ["", title, *(f"  {key.keys:<14}{key.does}" for key in keys)]
        return Text("\n".join(lines))


def _table(keys: Sequence[Key]) -> Table:
    """The keys, and beside them what they do, however many lines that takes."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(style="bold", no_wrap=True, min_width=15)
    table.add_column()
    for key in keys:
        table.add_row(Text(f"  {key.keys}"), Text(key.does))
    return table
