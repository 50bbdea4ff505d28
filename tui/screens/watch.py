"""A replayed run, or one in progress elsewhere: the run screen with the controls of a replay."""

from typing import ClassVar

from textual.binding import Binding, BindingType

from tui.live.replay import Replay, speed_text
from tui.screens.run import RunScreen
from tui.text.inert import inert
from tui.widgets.keys import Section, bindings_of

_REPLAY = Section(
    "Replay",
    (
        Binding("q", "leave", "leave", tooltip="leave; the run is not touched"),
        Binding("p", "pause", "pause", tooltip="pause here"),
        Binding("p", "resume", "go on", tooltip="go on, when paused"),
        Binding("plus,equals_sign", "faster", "faster", key_display="+", tooltip="twice as fast"),
        Binding("minus", "slower", "slower", key_display="-", tooltip="half as fast"),
        Binding("full_stop", "step", "step", key_display=".", tooltip="show the next turn whole and pause"),
        Binding("s", "seek", "play this", tooltip="play the conversation you read, from its beginning"),
        Binding("S", "seek_start", "from the start", show=False, tooltip="play the run from its beginning"),
    ),
)


class WatchScreen(RunScreen, inherit_bindings=False):
    """Shows what a player tells of a run. Leaving ends the telling, never the run."""

    SUBJECT = "A run watched again, or from elsewhere"
    KEYS: ClassVar[tuple[Section, ...]] = (_REPLAY, *RunScreen.KEYS[1:])
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(KEYS)

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
        self.player.faster()
        self._say_speed()

    def action_slower(self) -> None:
        self.player.slower()
        self._say_speed()

    def action_step(self) -> None:
        self.player.step()
        self.show_state()

    def action_seek(self) -> None:
        self.player.seek(self.reading)
        self._follow()

    def action_seek_start(self) -> None:
        self.player.seek(None)
        self._follow()

    def _follow(self) -> None:
        self.player.resume()
        self.following = True
        self.show_state()

    def _say_speed(self) -> None:
        self.notify(speed_text(self.player.speed), timeout=1, markup=False)
        self.show_state()
