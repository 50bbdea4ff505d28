"""The keys of a screen, generated from its bindings, and what the glyphs mean."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.keys import Section, keys_of


class HelpScreen(ModalScreen[None]):
    """Lists sections of keys, whatever of them is possible at the moment."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "dismiss", "close")]

    def __init__(
        self, subject: str, sections: Sequence[Section], signs: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__()
        self._signs = tuple(signs)
        self._subject = subject
        self._sections = tuple(sections)

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog"):
            yield Static(self.text, markup=False)

    @property
    def text(self) -> Text:
        """All of it."""
        text = Text(f"{self._subject}\n", style="bold")
        for section in self._sections:
            text.append(f"\n{section.title}\n", style="bold")
            for key in keys_of(section):
                _append(text, key.keys, key.does)
        if self._signs:
            text.append("\nSigns\n", style="bold")
        for sign, meaning in self._signs:
            _append(text, sign, meaning)
        text.right_crop()
        return text


def _append(text: Text, key: str, meaning: str) -> None:
    text.append(f"  {key:<14}", style="bold")
    text.append(f"{meaning}\n", style="not bold")
