"""Where the words to search for are written."""

from textual import events
from textual.widgets import Input

from tui.widgets.messages import SearchChanged


class SearchBar(Input):
    """One line that appears when it is opened. Enter keeps the words, escape forgets them."""

    def __init__(self, placeholder: str = "search this transcript", *, id: str | None = None) -> None:
        super().__init__(id=id, placeholder=placeholder, compact=True, select_on_focus=True)
        self.cursor_blink = False
        self.display = False

    def open(self) -> None:
        """Appear and take the keys."""
        self.display = True
        self.focus()

    def close(self) -> None:
        """Give the keys back and disappear."""
        self.blur()
        self.display = False

    def on_input_changed(self, event: Input.Changed) -> None:
        if self.display:
            self.post_message(SearchChanged(event.value))

    def on_key(self, event: events.Key) -> None:
        if not self.display:
            # Written before the bar was gone; it is meant for the screen.
            event.stop()
            event.prevent_default()
            self.app.simulate_key(event.key)
        elif event.key in ("enter", "escape"):
            event.stop()
            event.prevent_default()
            self.close()
            self.post_message(SearchChanged(self.value if event.key == "enter" else "", done=True))
