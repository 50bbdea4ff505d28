"""What every screen of rig has: its keys in sections, and the ways to leave."""

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from textual.screen import Screen, ScreenResultType

from rig.displays.signs import Glyph
from tui.widgets.keys import Section


class RigScreen(Screen[ScreenResultType]):
    """A screen of the application.

    A subclass names its keys as `KEYS`, derives `BINDINGS` from them with `bindings_of`, and refuses in
    `check_action` what makes no sense at the moment; help, the bar at the bottom, the command palette and
    the documentation follow. `SUBJECT` is what it shows, in a few words, `SIGNS` are its glyphs and
    what they mean.
    """

    AUTO_FOCUS = ""
    SUBJECT: ClassVar[str] = ""
    KEYS: ClassVar[tuple[Section, ...]] = ()
    SIGNS: ClassVar[tuple[tuple[Glyph, str], ...]] = ()
    LISTS_RUNS: ClassVar[bool] = False

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
