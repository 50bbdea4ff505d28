"""A long text to read: a comparison, for one."""

from textual.app import ComposeResult

from tui.screens import keys
from tui.screens.paged import PagedScreen
from tui.text.lines import Span, Tint, inert_line
from tui.widgets.keybar import KeyBar
from tui.widgets.lines import Lines
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
        lines = [inert_line(line)[self._left :] for line in self.text.splitlines()]
        self.page.show_page([((f" {line}", Tint.PLAIN),) for line in lines])
        self.refresh_bindings()

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
