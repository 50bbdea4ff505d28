"""The application over stored runs: `rig watch`."""

from collections.abc import Callable

from rig.errors import RigError
from rig.replay import Player
from tui.app import RigApp
from tui.leave import Leave, Resume
from tui.live.replay import Replay
from tui.screens.base import RigScreen
from tui.screens.watch import WatchScreen
from tui.terminal import guarded, has_terminal


def watch(player: Player) -> Resume | None:
    """Show what a player tells until it is left; a run that is to be gone on with, if one was chosen.

    Raises RigError where there is no terminal, or no store.
    """
    replay = Replay(player)
    left = show(WatchScreen(replay), player.stop)
    if isinstance(left, Resume):
        return left
    if replay.failure is not None:
        raise replay.failure
    return None


def show(first: RigScreen[None], stop: Callable[[], None]) -> Leave | Resume | None:
    """Run the application with this screen first; what it was left with. Raises what it failed with."""
    if not has_terminal():
        raise RigError("the live view needs a terminal for stdin and stderr; --display plain does without")
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
