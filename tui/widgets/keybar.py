"""The bottom line: what is possible now, each with its key. A click does it."""

from textual import events

from tui.text.lines import Line, Span, Tint, width_of
from tui.widgets.keys import display
from tui.widgets.lines import Lines

_GAP = "  "
_LAST = "?"
"""The key that is shown at the end of the line, however narrow it is."""


class KeyBar(Lines):
    """One line of the screen's bindings, in their order; what does not fit is left to help and palette."""

    def __init__(self, *, id: str | None = "keys") -> None:
        super().__init__(id=id)
        self._places: list[tuple[int, int, str]] = []

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.show_keys())

    def on_resize(self, event: events.Resize) -> None:
        self.show_keys()

    def show_keys(self) -> None:
        """Bring the line up to date with what is possible."""
        if not self.size.width:
            return
        bindings = {
            display(active.binding).split(" ")[0]: active
            for active in self.screen.active_bindings.values()
            if active.binding.show
        }
        last = bindings.pop(_LAST, None)
        items = [
            (key, active.binding.description, active.binding.key.split(",")[0], active.enabled)
            for key, active in bindings.items()
        ]
        end = [] if last is None else [(_LAST, last.binding.description, last.binding.key, True)]
        room = self.size.width - 1 - sum(_cells(*item[:2]) for item in end)
        kept = []
        for item in items:
            room -= _cells(*item[:2])
            if room < 0:
                break
            kept.append(item)
        self._places, line = [], [(" ", Tint.PLAIN)]
        for key, says, pressed, enabled in [*kept, *end]:
            start = width_of(line)
            line += _item(key, says, enabled)
            self._places.append((start, width_of(line), pressed))
        self.show([tuple(line)])

    def on_click(self, event: events.Click) -> None:
        for start, end, key in self._places:
            if start <= event.x < end:
                self.app.simulate_key(key)


def _cells(key: str, says: str) -> int:
    return width_of(_item(key, says, enabled=True))


def _item(key: str, says: str, enabled: bool) -> Line:
    tint = Tint.CALL if enabled else Tint.MUTED
    word: Span = (f" {says}{_GAP}", Tint.MUTED)
    return ((key, tint), word)
