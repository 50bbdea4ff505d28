"""A replayed run, or one in progress elsewhere: the run screen with the controls of a replay."""

from collections.abc import Callable

from rig.events import Where
from tui.live.live_run import Replay, speed_text
from tui.screens import keys
from tui.screens.run import RunScreen
from tui.text.lines import inert


class WatchScreen(RunScreen, inherit_bindings=False):
    """Shows what a player tells of a run. Leaving ends the telling, never the run."""

    SUBJECT = "A run watched again, or from elsewhere"
    KEYS = (keys.REPLAY, *RunScreen.KEYS[1:])

    def __init__(self, replay: Replay) -> None:
        super().__init__(replay)
        self.replay = replay
        self.player = replay.player
        self._said_failure = False

    def on_mount(self) -> None:
        self.replay.start()

    def on_unmount(self) -> None:
        self.replay.stop()

    def catch_up(self) -> None:
        super().catch_up()
        if self.replay.failure is not None and not self._said_failure:
            self._said_failure = True
            self.notify(inert(self.replay.failure_text), severity="error", timeout=60, markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("pause", "resume"):
            return not self.player.is_over and self.player.is_paused == (action == "resume")
        if action == "step":
            return not self.player.is_over
        if action == "seek":
            return self.reading is not None
        return super().check_action(action, parameters)

    def leave(self) -> None:
        self.player.stop()
        super().leave()

    def action_faster(self) -> None:
        self._change_speed(self.player.faster)

    def action_slower(self) -> None:
        self._change_speed(self.player.slower)

    def action_step(self) -> None:
        self.player.step()
        self.show_state()

    def action_seek(self) -> None:
        self._seek(self.reading)

    def action_seek_start(self) -> None:
        self._seek(None)

    def _seek(self, where: Where | None) -> None:
        self.player.seek(where)
        self.player.resume()
        self.following = True
        self.show_state()

    def _change_speed(self, change: Callable[[], None]) -> None:
        change()
        self.notify(speed_text(self.player.speed), timeout=1, markup=False)
        self.show_state()
