"""The bottom line: what is possible now, each with its key. A click does it."""

from textual import events
from textual.binding import ActiveBinding

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
        end = [(_LAST, bindings.pop(_LAST))] if _LAST in bindings else []
        room = self.size.width - 1 - sum(width_of(_item(*item)) for item in end)
        line: list[Span] = [(" ", Tint.PLAIN)]
        self._places = []
        for key, active in (*bindings.items(), *end):
            item = _item(key, active)
            is_last = key == _LAST
            room -= 0 if is_last else width_of(item)
            if room >= 0 or is_last:
                self._places.append(
                    (width_of(line), width_of([*line, *item]), active.binding.key.split(",")[0])
                )
                line += item
        self.show([tuple(line)])

    def on_click(self, event: events.Click) -> None:
        for start, end, key in self._places:
            if start <= event.x < end:
                self.app.simulate_key(key)


def _item(key: str, active: ActiveBinding) -> Line:
    tint = Tint.CALL if active.enabled else Tint.MUTED
    return ((key, tint), (f" {active.binding.description}{_GAP}", Tint.MUTED))
