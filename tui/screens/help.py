"""The keys, generated from the bindings, and what the glyphs mean."""

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.glyphs import GLYPHS


class HelpScreen(ModalScreen[None]):
    """Lists bindings: their tooltip where they have one, else their description."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "dismiss", "close")]

    def __init__(self, bindings: Iterable[Binding]) -> None:
        super().__init__()
        self._listed = tuple(bindings)

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog"):
            yield Static(self.text, markup=False)

    @property
    def text(self) -> Text:
        """All of it."""
        text = Text("Keys\n\n", style="bold")
        for binding in self._listed:
            keys = " ".join(self.app.get_key_display(Binding(key, "")) for key in binding.key.split(","))
            _append(text, binding.key_display or keys, binding.tooltip or binding.description)
        text.append("\nConversations\n\n", style="bold")
        for status, (sign, _) in GLYPHS.items():
            _append(text, sign, status.value)
        _append(text, "!!", "took an incorrect action")
        text.right_crop()
        return text


def _append(text: Text, key: str, meaning: str) -> None:
    text.append(f"  {key:<14}", style="bold")
    text.append(f"{meaning}\n", style="not bold")
