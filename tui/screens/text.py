"""A long text to read: a comparison, for one."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tui.screens.paged import PagedScreen
from tui.text.inert import inert_line
from tui.text.lines import Span, Tint, spread
from tui.widgets.keybar import KeyBar
from tui.widgets.keys import Section, bindings_of
from tui.widgets.lines import Lines
from tui.widgets.messages import Rearranged
from tui.widgets.page import Page, SearchBar

_TEXT = Section(
    "Text",
    (
        Binding("q", "leave", "back", tooltip="back to where you came from"),
        Binding("escape", "back", "back", show=False, tooltip="end the search; without one, back"),
        Binding("down,j", "line(1)", "down", show=False, tooltip="a line down"),
        Binding("up,k", "line(-1)", "up", show=False, tooltip="a line up"),
        Binding("right,l", "shift(8)", "cut off", key_display="right l", tooltip="to what is cut off"),
        Binding("left,h", "shift(-8)", "left", show=False, tooltip="back to the left"),
        Binding("pagedown,space", "scroll(1)", "scroll", key_display="pgdn space", tooltip="scroll down"),
        Binding("pageup,b", "scroll(-1)", "scroll back", show=False, tooltip="scroll up"),
        Binding("home,g", "scroll_to(0)", "top", show=False, tooltip="to the beginning"),
        Binding("end,G", "scroll_to(1)", "end", show=False, tooltip="to the end"),
        Binding("slash", "search", "search", key_display="/", tooltip="search in it"),
        Binding("n", "match(1)", "next", tooltip="go to the next match"),
        Binding("N", "match(-1)", "before", show=False, tooltip="go to the match before"),
        Binding("c", "copy", "copy", tooltip="copy all of it"),
    ),
)


class TextScreen(PagedScreen[None]):
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
        yield Page(id="page")
        yield SearchBar("search this text", id="search")
        yield KeyBar()

    def on_mount(self) -> None:
        self.show_state()

    def show_state(self) -> None:
        """Lay the text out."""
        header = self.query_one("#header", Lines)
        left: list[Span] = [(" rig ", Tint.BRAND), (f"  {inert_line(self.heading)}", Tint.STRONG)]
        right: list[Span] = [(f"{self.page.search.count} ", Tint.FOUND_HERE)] if self.page.search.term else []
        header.show([spread(left, right, header.size.width)])
        lines = [inert_line(line)[self._left :] for line in self.text.splitlines()]
        self.page.show_page([((f" {line}", Tint.PLAIN),) for line in lines])
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "match" or any(page.search.term for page in self.query(Page))

    def on_rearranged(self, message: Rearranged) -> None:
        self.show_state()

    def action_line(self, lines: int) -> None:
        self.page.jump_to(max(self.page.scroll_offset.y + lines, 0))

    def action_shift(self, cells: int) -> None:
        longest = max((len(line) for line in self.text.splitlines()), default=0)
        self._left = min(max(self._left + cells, 0), max(longest - self.page.size.width + 2, 0))
        self.show_state()

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self.text)
        self.notify(f"copied {len(self.text):,} characters", markup=False)
