"""The application over stored runs: `rig watch` and `rig runs --tui`, and the tour of `rig demo`."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from textual import events

from rig.core.errors import RigError
from rig.plugins.replay.player import Player
from rig.show.signs import OPEN, RUNNING, SUCCESS
from rig.store import Runs
from tui.app import RigApp
from tui.display import guarded, has_terminal
from tui.live.live_run import Replay
from tui.screens.base import Guide, Resume, RigScreen
from tui.screens.run import WatchScreen
from tui.screens.runs import RunsScreen
from tui.text.lines import Line, Span, Tint


class Stop(NamedTuple):
    """A step of the tour: a key as it is shown and as the application calls it, and what it is for."""

    key: str
    pressed: str
    says: str
    then: str = ""


STEPS = (
    Stop("p", "p", "This is a replay of a recorded run. Pause it.", "The replay waits. Nothing is lost."),
    Stop("x", "x", "Read the first conversation that failed.", "The verdict is below each call."),
    Stop("tab", "tab", "Go to its first call.", "A call, what came back, and whether it was right."),
    Stop("r", "r", "Show all of that call, not only its start.", "Press r again to show less."),
    Stop("e", "e", "Show or hide what was expected.", "A wide terminal shows it from the start."),
    Stop("j", "j", "Read the next conversation; k goes back.", "The list on the left shows where you are."),
    Stop("enter", "enter", "Open this conversation, step by step.", "q brings you back here."),
    Stop("/", "slash", "Search the transcript; finish with enter.", "n goes to the next match."),
    Stop("f", "f", "Follow the run again.", "The view moves along with the run."),
    Stop("p", "p", "Let the run continue.", "Progress is at the top, rates at the bottom."),
    Stop("+", "plus", "Replay twice as fast; - halves the speed.", "Only a replay can do that."),
    Stop("C", "C", "See the result so far on one screen.", "It appears by itself at the end."),
    Stop("?", "question_mark", "List all keys of a screen.", "Every screen has this key."),
)


class TourScreen(WatchScreen, inherit_bindings=False):
    """The run screen with a guide above the numbers. All keys work; the guide waits for the one it names."""

    SUBJECT = "A tour of the live view"
    KEYS = WatchScreen.KEYS

    def __init__(self, replay: Replay) -> None:
        super().__init__(replay)
        self.is_kept = False
        self.step = 0
        self.above_meters = [Guide(self._guide)]

    def on_mount(self) -> None:
        # Every screen that the reader opens shows how to continue the tour.
        self.app.guide = self._elsewhere  # type: ignore[attr-defined]

    def show_state(self) -> None:
        super().show_state()
        if self.is_shown:
            self.query_one(Guide).tell()

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and self.step < len(STEPS):
            is_meant = event.key == STEPS[self.step].pressed and self.is_current
            self.step += is_meant and self.focused is None
        await super().on_event(event)
        if isinstance(event, events.Key) and self.is_current:
            self.show_state()

    def _elsewhere(self) -> Sequence[Line]:
        progress, *_ = self._guide()
        back: Line = (
            (" Press ", Tint.STRONG),
            (" q ", Tint.BRAND),
            ("  to go back to the tour.", Tint.STRONG),
        )
        return [progress, back]

    def _guide(self) -> Iterable[Line]:
        done: Span = (str(SUCCESS.glyph) * self.step, Tint.SUCCESS)
        rest = len(STEPS) - self.step
        left: Span = (str(RUNNING.glyph) * bool(rest) + str(OPEN.glyph) * (rest - 1), Tint.MUTED)
        before = STEPS[self.step - 1].then if self.step else "Thirteen keys, about a minute."
        yield ((" ", Tint.PLAIN), done, left, ("   ", Tint.PLAIN), (before, Tint.MUTED))
        if not rest:
            end = "That is all. q quits; rig run MODEL shows your own run like this."
            yield ((" ", Tint.PLAIN), (end, Tint.STRONG))
            return
        if self.focused is not None:
            # A key goes into the line of the search until that ends, the tour's next one, too.
            end = "  Type a word to search for, and end with enter."
            yield ((" Press ", Tint.STRONG), (" enter ", Tint.BRAND), (end, Tint.STRONG))
            return
        step = STEPS[self.step]
        key: Span = (f" {step.key} ", Tint.BRAND)
        yield ((" Press ", Tint.STRONG), key, (f"  {step.says}", Tint.STRONG))


def watch(player: Player, *, is_kept: bool = True, is_tour: bool = False) -> Resume | None:
    """Show the run of a player, or a tour of it, until the user leaves; return the run to resume, if any.

    A run that is not kept is gone afterwards. Raises RigError if there is no terminal, or no store.
    """
    replay = Replay(player)
    screen = TourScreen(replay) if is_tour else WatchScreen(replay)
    screen.is_kept = is_kept
    left = show(screen, player.stop)
    if isinstance(left, Resume):
        return left
    if replay.failure is not None:
        raise replay.failure
    return None


def show(first: RigScreen[None], stop: Callable[[], None]) -> str | Resume | None:
    """Run the application with this first screen, and return its result. Raises the error that ended it."""
    if not has_terminal():
        raise RigError(
            "this screen needs a terminal for stdin and stderr; `rig run FILE`, `rig runs` and `rig watch"
            " --display plain` need none"
        )
    app = RigApp(first)
    asked = False

    def end() -> bool:
        nonlocal asked
        before, asked = asked, True
        stop()
        app.exit()
        return before

    with guarded(end):
        left = app.run()
    if app.fault is not None:
        raise app.fault
    return left


def browse(store: Path) -> Resume | None:
    """Show the stored runs until the user leaves, and return a run to resume if one was chosen.

    Raises RigError if there is no terminal, or no store.
    """
    with Runs.open(store):
        # If the store cannot be read, the error appears before there is a screen.
        pass
    left = show(RunsScreen(store), lambda: None)
    return left if isinstance(left, Resume) else None
