"""One line of views to choose from, each with the digit that chooses it. A click does, too."""

from collections.abc import Sequence

from textual import events

from tui.text.lines import Line, Span, Tint, width_of
from tui.widgets.lines import Lines
from tui.widgets.messages import ViewPicked


class Tabs(Lines):
    """The view that is shown stands out by brackets as well as by colour."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._places: list[tuple[int, int]] = []

    def show_views(self, names: Sequence[str], chosen: int) -> None:
        """Bring the line up to date. Names are cut to their first letters where there is little room."""
        if not self.size.width:
            return
        for longest in (20, 5, 3, 0):
            line = self._lay_out([name[:longest] for name in names], chosen)
            if width_of(line) <= self.size.width:
                break
        self.show([line])

    def _lay_out(self, names: Sequence[str], chosen: int) -> Line:
        line: list[Span] = []
        self._places = []
        for number, name in enumerate(names):
            start = width_of(line)
            digit = f"{number + 1} {name}".rstrip()
            if number == chosen:
                line.append((f"[{digit}]", Tint.STRONG))
            else:
                line.append((f" {digit} ", Tint.MUTED))
            self._places.append((start, width_of(line)))
        return tuple(line)

    def on_click(self, event: events.Click) -> None:
        for number, (start, end) in enumerate(self._places):
            if start <= event.x < end:
                self.post_message(ViewPicked(number))
