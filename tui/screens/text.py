"""A long text to read: a comparison, for one."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tui.inert import inert_line
from tui.keys import Section, bindings_of
from tui.lines import Span, Tint, spread
from tui.messages import Rearranged
from tui.screens.base import RigScreen
from tui.widgets.keybar import KeyBar
from tui.widgets.lines import Lines

_TEXT = Section(
    "Text",
    (
        Binding("q,escape", "leave", "back", key_display="q esc", tooltip="back to where you came from"),
        Binding("down,j", "scroll(1)", "down", show=False, tooltip="a line down"),
        Binding("up,k", "scroll(-1)", "up", show=False, tooltip="a line up"),
        Binding("right,l", "shift(8)", "cut off", key_display="right l", tooltip="to what is cut off"),
        Binding("left,h", "shift(-8)", "left", show=False, tooltip="back to the left"),
        Binding("pagedown,space", "page(1)", "scroll", key_display="pgdn space", tooltip="scroll down"),
        Binding("pageup,b", "page(-1)", "scroll back", show=False, tooltip="scroll up"),
        Binding("home,g", "scroll_to(0)", "top", show=False, tooltip="to the beginning"),
        Binding("end,G", "scroll_to(1)", "end", show=False, tooltip="to the end"),
        Binding("c", "copy", "copy", tooltip="copy all of it"),
    ),
)


class TextScreen(RigScreen[None]):
    """Shows lines of text as they are, unwrapped, because what is in them may be tables."""

    SUBJECT = "A text"
    KEYS: ClassVar[tuple[Section, ...]] = (_TEXT,)
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(KEYS)

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self.heading = title
        self.text = text
        self._left = 0

    def compose(self) -> ComposeResult:
        yield Lines(id="header")
        yield Lines(id="page")
        yield KeyBar()

    @property
    def page(self) -> Lines:
        """The widget with the text."""
        return self.query_one("#page", Lines)

    def on_mount(self) -> None:
        self.show_state()

    def show_state(self) -> None:
        """Lay the text out."""
        header = self.query_one("#header", Lines)
        left: list[Span] = [(" rig ", Tint.BRAND), (f"  {inert_line(self.heading)}", Tint.STRONG)]
        header.show([spread(left, [], header.size.width)])
        lines = [inert_line(line)[self._left :] for line in self.text.splitlines()]
        self.page.show([((f" {line}", Tint.PLAIN),) for line in lines])

    def on_rearranged(self, message: Rearranged) -> None:
        self.show_state()

    def action_scroll(self, lines: int) -> None:
        self.page.jump_to(max(self.page.scroll_offset.y + lines, 0))

    def action_page(self, pages: int) -> None:
        self.action_scroll(pages * max(self.page.size.height - 2, 1))

    def action_scroll_to(self, end: int) -> None:
        if end:
            self.page.jump_to_end()
        else:
            self.page.jump_to(0)

    def action_shift(self, cells: int) -> None:
        longest = max((len(line) for line in self.text.splitlines()), default=0)
        self._left = min(max(self._left + cells, 0), max(longest - self.page.size.width + 2, 0))
        self.show_state()

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self.text)
        self.notify(f"copied {len(self.text):,} characters", markup=False)
