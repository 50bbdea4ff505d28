"""What the screens of rig share: keys, ways to leave, a page to search, and questions with a few answers."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from textual import events
from textual.app import ComposeResult, SuspendNotSupported
from textual.containers import Vertical
from textual.message import Message
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import get_current_worker

from rig.core.errors import RigError
from rig.show.signs import Glyph
from tui.screens.editor import command, edit
from tui.text.lines import BLANK, Line, Span, Tint, fit, inert, spread
from tui.widgets.keys import Section, bindings_of
from tui.widgets.lines import Lines, Page, Rearranged, SearchBar, SearchChanged


@dataclass
class RunsOpened(Message):
    """A message that the reader wants to see all runs of a store; `may_resume` lets them resume one."""

    store: Path
    may_resume: bool


T = TypeVar("T")


class Guide(Lines):
    """The text of a tour, on its own screen and on those that it leads to."""

    def __init__(self, told: Callable[[], Iterable[Line]]) -> None:
        super().__init__(id="guide")
        self._told = told

    def on_resize(self, event: events.Resize) -> None:
        self.tell()

    def tell(self) -> None:
        """Update the lines."""
        if self.size.width:
            self.show([BLANK, *(fit(line, self.size.width) for line in self._told()), BLANK])


class RigScreen(Screen[ScreenResultType]):
    """A screen of the application.

    A subclass lists its keys in `KEYS` and refuses in `check_action` what makes no sense at the moment; the
    bindings, help, the bar at the bottom, the command palette and the documentation follow from these.
    `SUBJECT` says in a few words what it shows, and `SIGNS` are its glyphs with their meanings.
    """

    AUTO_FOCUS = ""
    SUBJECT: ClassVar[str] = ""
    KEYS: ClassVar[tuple[Section, ...]] = ()
    SIGNS: ClassVar[tuple[tuple[Glyph, str], ...]] = ()
    LISTS_RUNS: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        if "KEYS" in vars(cls):
            cls.BINDINGS = bindings_of(cls.KEYS)
        super().__init_subclass__(**options)

    def on_mount(self) -> None:
        guide = getattr(self.app, "guide", None)
        if guide is not None and not self.query("#guide"):
            self.mount(Guide(guide), before=self.query("KeyBar").first())

    @property
    def is_shown(self) -> bool:
        """Whether it is on top, or below a question, and has its widgets: timers and jobs can come later."""
        is_there = self.is_attached and self.app.is_running and self in self.app.screen_stack
        return (
            is_there and bool(self.children) and (self.is_current or isinstance(self.app.screen, ModalScreen))
        )

    def show_state(self) -> None:
        """Update every widget."""
        raise NotImplementedError

    def on_rearranged(self, message: Rearranged) -> None:
        self.show_state()

    def show_header(self, left: Sequence[Span], right: Sequence[Span] = ()) -> None:
        """Update the line at the top."""
        header = self.query_one("#header", Lines)
        header.show([spread([(" rig ", Tint.BRAND), *left], right, header.size.width)])

    def in_background(
        self,
        job: Callable[[], T],
        then: Callable[[T], object],
        failed: Callable[[str], object] | None = None,
        *,
        group: str = "default",
    ) -> None:
        """Run a job in a thread and pass its result to `then`, or the text of its RigError to `failed`.

        Without `failed`, the text is shown. In a group other than "default", only the last job counts.
        """

        def work() -> None:
            try:
                answer = partial(then, job())
            except RigError as error:
                answer = partial(failed or self.say_fault, str(error))
            if not get_current_worker().is_cancelled:
                self.app.call_from_thread(answer)

        self.run_worker(work, thread=True, group=group, exclusive=group != "default")

    def edit(self, place: Callable[[], tuple[Path, int]]) -> None:
        """Open a file at a line in the user's editor. `place` looks for it in the background."""

        def open_it(words: list[str]) -> None:
            try:
                with self.app.suspend():
                    edit(words)
            except (RigError, SuspendNotSupported) as error:
                self.say_fault(str(error))

        self.in_background(lambda: command(os.environ, *place()), open_it, group="edit")

    def say_fault(self, fault: str) -> None:
        """Show what could not be done, and why."""
        self.notify(inert(fault), severity="error", timeout=10, markup=False)

    def leave(self) -> None:
        """Go back to the screen below, or end the application if there is none."""
        if len(self.app.screen_stack) > 1:
            self.app.pop_screen()
        else:
            self.app.exit()

    def minds_quitting(self) -> bool:
        """Return whether the screen keeps the application from ending now; if so, it asks the user itself."""
        return False

    def action_leave(self) -> None:
        self.leave()


STOP, DETACH = "stop", "detach"
"""What happens to the run: it stops and can be resumed, or it continues with plain progress."""


@dataclass(frozen=True, slots=True)
class Resume:
    """The id of a stored run to resume once the terminal is restored."""

    run: str


class PagedScreen(RigScreen[ScreenResultType]):
    """A screen that has a `Page` with the id `page` and a `SearchBar`."""

    @property
    def page(self) -> Page:
        """The widget with the page."""
        return self.query_one("#page", Page)

    @property
    def scrolled(self) -> Lines:
        """The widget that the keys scroll."""
        return self.page

    def moved(self) -> None:
        """React to the reader's having moved in the page."""
        self.show_state()

    def action_scroll(self, pages: int) -> None:
        self.scrolled.scroll_pages(pages)
        self.moved()

    def action_scroll_to(self, end: int) -> None:
        if end:
            self.scrolled.jump_to_end()
        else:
            self.scrolled.jump_to(0)
        self.moved()

    def action_search(self) -> None:
        self.page.searched_from = self.page.scroll_offset.y
        self.query_one(SearchBar).open()

    def action_match(self, step: int) -> None:
        self.page.go_to_match(step)
        self.moved()

    def action_end_search(self) -> None:
        self.query_one(SearchBar).value = ""
        self.page.search_for("")
        self.show_state()

    def action_back(self) -> None:
        """End the search, or leave if there is none."""
        if self.page.term:
            self.action_end_search()
        else:
            self.leave()

    def on_search_changed(self, message: SearchChanged) -> None:
        self.page.search_for(message.term)
        self.show_state()
        if message.term:
            self.page.go_to_match(0)
            self.moved()


class Alternative(NamedTuple):
    """A possible answer: its key, its text, and its value."""

    key: str
    says: str
    value: str


class AskScreen(ModalScreen[str | None]):
    """A question, which is dismissed with the value of the chosen answer, or with None if it is cancelled.

    The last line is always `esc  cancel`. Texts are shown without interpreting any markup in them.
    """

    def __init__(self, question: str, *answers: Alternative) -> None:
        super().__init__()
        self.question = question
        self.answers = answers
        for answer in answers:
            self._bindings.bind(answer.key, f"dismiss({answer.value!r})", answer.says)
        for key in {"escape", "c", "q"} - {answer.key for answer in answers}:
            self._bindings.bind(key, "dismiss(None)", "cancel")

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(inert(self.question), markup=False, id="question")
            yield OptionList(
                *(Option(f"{answer.key:<4} {inert(answer.says)}", answer.value) for answer in self.answers),
                Option("esc  cancel", ""),
                markup=False,
                compact=True,
            )

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id or None)


class QuitScreen(AskScreen):
    """The question of what happens to the run, dismissed with `STOP`, `DETACH`, or None to stay."""

    def __init__(self) -> None:
        stop = Alternative("s", "stop, and keep what there is (resumable)", STOP)
        detach = Alternative("w", "keep it running without the view", DETACH)
        super().__init__("The run is still going.", stop, detach)


class WriteScreen(AskScreen):
    """The question of what to write, dismissed with the file's extension or None. `what` names the text."""

    def __init__(self, what: str) -> None:
        super().__init__(
            "Write to the folder that rig was started in:",
            Alternative("j", "this conversation as JSON, all that is stored of it", "json"),
            Alternative("t", f"this {what} as text", "txt"),
            Alternative("p", "this screen as a picture (SVG)", "svg"),
        )
