"""What every screen of rig has: its keys in sections, and the ways to leave."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, TypeVar

from textual.screen import Screen, ScreenResultType

from rig.displays.signs import Glyph
from rig.errors import RigError
from tui.text.lines import Span, Tint, inert, spread
from tui.widgets.keys import Section, bindings_of
from tui.widgets.lines import Lines
from tui.widgets.messages import Rearranged

T = TypeVar("T")


class RigScreen(Screen[ScreenResultType]):
    """A screen of the application.

    A subclass names its keys as `KEYS` and refuses in `check_action` what makes no sense at the moment; the
    bindings, help, the bar at the bottom, the command palette and the documentation follow. `SUBJECT` is
    what it shows, in a few words, `SIGNS` are its glyphs and what they mean.
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

    def show_state(self) -> None:
        """Bring every widget up to date."""
        raise NotImplementedError

    def on_rearranged(self, message: Rearranged) -> None:
        self.show_state()

    def show_header(self, left: Sequence[Span], right: Sequence[Span] = ()) -> None:
        """Bring the line at the top up to date."""
        header = self.query_one("#header", Lines)
        header.show([spread([(" rig ", Tint.BRAND), *left], right, header.size.width)])

    def in_background(
        self, job: Callable[[], T], then: Callable[[T | str], object], group: str = "default"
    ) -> None:
        """Do a job in a thread; `then` gets its result, or the words of the RigError it raised.

        Of a group, the last job alone counts.
        """

        def work() -> None:
            result: T | str
            try:
                result = job()
            except RigError as error:
                result = str(error)
            self.app.call_from_thread(then, result)

        self.run_worker(work, thread=True, group=group, exclusive=group != "default")

    def say_fault(self, fault: str) -> None:
        """Say what could not be done."""
        self.notify(inert(fault), severity="error", timeout=10, markup=False)

    def leave(self) -> None:
        """Go back to the screen below; from the last one, end the application."""
        if len(self.app.screen_stack) > 1:
            self.app.pop_screen()
        else:
            self.app.exit()

    def minds_quitting(self) -> bool:
        """Whether the application must not end just now; a screen that minds does something about it."""
        return False

    def action_leave(self) -> None:
        self.leave()


class Leave(Enum):
    """What happens to the run."""

    STOP = "stop"
    """It stops and keeps what it has; it can be resumed."""
    DETACH = "detach"
    """It goes on with plain progress."""


@dataclass(frozen=True, slots=True)
class Resume:
    """The stored run of this id is to be gone on with once the terminal is given back."""

    run: str
