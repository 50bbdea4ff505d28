"""A stored run in view: a player in its own thread replays it."""

import math
import threading
import time
from collections.abc import Callable

from rig.displays.progress import Remaining
from rig.errors import RigError
from rig.events import Event, RunStarted
from rig.replay.player import Player
from tui.live.feed import EventQueue
from tui.live.live_run import LiveRun
from tui.live.state import StoredBefore


class Replay(LiveRun):
    """Watches what a player tells. The times are those of the run, wherever in it the player is."""

    def __init__(self, player: Player, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(EventQueue(), player, ours=False, clock=clock)
        self.player = player
        self.failure: Exception | None = None
        """Why nothing more can be told: the store cannot be read, or a bug."""
        # A daemon: nothing has to be put in order when the process ends.
        self._thread = threading.Thread(target=self._play, name="replay", daemon=True)

    def start(self) -> None:
        """Begin to play."""
        self._thread.start()

    def stop(self) -> None:
        """End playing, and wait for it."""
        self.player.stop()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    @property
    def elapsed_s(self) -> float:
        return self.player.position_s

    @property
    def through(self) -> bool:
        return self.player.is_over and not self.player.is_stopped

    @property
    def was_told(self) -> bool:
        return self.player.has_played

    @property
    def remaining(self) -> Remaining | None:
        seconds = self.player.remaining_s
        return None if seconds is None else Remaining.exactly(seconds)

    @property
    def condition(self) -> str:
        player = self.player
        if self.failure is not None:
            return "cannot be read"
        if player.is_over:
            return "finished" if player.stored.state == "finished" else "interrupted"
        if player.is_paused:
            return "paused"
        if player.is_live and player.is_running:
            return "live"
        return f"replay {speed_text(player.speed)}"

    def _play(self) -> None:
        try:
            self.player.play(self._emit)
        except Exception as error:
            self.failure = error
        finally:
            self.feed.close()

    def _emit(self, event: Event) -> None:
        self.feed.emit(event)
        if isinstance(event, RunStarted) and self.player.earlier:
            self.feed.emit(StoredBefore(tuple(self.player.earlier), arms=self.player.stored.arms))

    @property
    def failure_text(self) -> str:
        """The failure in one line, empty if there is none."""
        if self.failure is None:
            return ""
        is_known = isinstance(self.failure, RigError)
        return str(self.failure) if is_known else f"{type(self.failure).__name__}: {self.failure}"


def speed_text(speed: float) -> str:
    """A speed for people: `4x`, `0.5x`, `max`."""
    return "max" if math.isinf(speed) else f"{speed:.3g}x"
