"""The application over stored runs: `rig watch` and `rig runs --tui`."""

from collections.abc import Callable
from pathlib import Path

from rig.errors import RigError
from rig.replay.player import Player
from rig.store import Runs
from tui.app import RigApp
from tui.live.replay import Replay
from tui.screens.base import Leave, Resume, RigScreen
from tui.screens.runs import RunsScreen
from tui.screens.watch import WatchScreen
from tui.terminal import guarded, has_terminal
from tui.tour import TourScreen


def watch(player: Player, *, is_kept: bool = True, is_tour: bool = False) -> Resume | None:
    """Show what a player tells, or a tour of it, until it is left; a run to go on with if one was chosen.

    One that is not kept is gone then. Raises RigError if there is no terminal, or no store.
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


def show(first: RigScreen[None], stop: Callable[[], None]) -> Leave | Resume | None:
    """Run the application with this screen first; what it was left with. Raises what it failed with."""
    if not has_terminal():
        raise RigError("the live view needs a terminal for stdin and stderr; use --display plain")
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
    """Let somebody choose among the stored runs, until they leave.

    A run that is to be gone on with is returned. Raises RigError if there is no terminal, or no store.
    """
    with Runs.open(store):
        # A store that cannot be read is said in a line, before there is a screen.
        pass
    left = show(RunsScreen(store), lambda: None)
    return left if isinstance(left, Resume) else None
