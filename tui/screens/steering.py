"""Screens from which a run is steered: paused, stopped, skipped, left."""

from rig.events import Where
from tui.live.live_run import LiveRun
from tui.screens.ask import Alternative, AskScreen, QuitScreen
from tui.screens.base import Leave, RigScreen
from tui.text.lines import inert_line


class SteeringScreen(RigScreen[None]):
    """Steers the run under watch, as far as it can be, and asks before it is left going."""

    def __init__(self, live_run: LiveRun) -> None:
        super().__init__()
        self.live_run = live_run
        self.reading: Where | None = None

    def can_steer(self, action: str) -> bool:
        """Whether one of the actions below makes sense now."""
        is_other = action in ("pause", "resume") and self.live_run.paused != (action == "resume")
        return self.live_run.can_be_steered and not is_other

    def action_pause(self) -> None:
        self.live_run.control.pause()
        self.show_state()

    def action_resume(self) -> None:
        self.live_run.control.resume()
        self.show_state()

    def action_skip(self) -> None:
        """Leave a conversation out; a second time, before its turn has come, takes that back."""
        where, control = self.reading, self.live_run.control
        if where is None:
            return
        text = f"{where.conversation} is played after all"
        if not control.take_skip(where):
            control.skip(where)
            text = f"{where.conversation} is left for a later resume"
        self.notify(inert_line(text), timeout=3, markup=False)

    def action_stop(self) -> None:
        state = self.live_run.state
        question = (
            f"Stop the run? {state.turns_done} of {state.turns_total} turns are stored; "
            f"rig run --resume {state.run} continues from there."
        )
        self.app.push_screen(AskScreen(question, Alternative("s", "stop and keep", "stop")), self._stop)

    def _stop(self, answer: str | None) -> None:
        if answer is not None:
            self.live_run.control.stop()
            self.show_state()

    def leave(self) -> None:
        if not self.minds_quitting():
            super().leave()

    def minds_quitting(self) -> bool:
        """While the run goes on in this process: ask what is to become of it. Asked twice, it stops."""
        if not self.live_run.ours or self.live_run.over:
            return False
        if isinstance(self.app.screen, QuitScreen):
            self.app.screen.dismiss(Leave.STOP.value)
        else:
            self.app.push_screen(QuitScreen(), self._quit)
        return True

    def _quit(self, leave: str | None) -> None:
        if leave == Leave.DETACH.value:
            self.app.exit(Leave.DETACH)
        else:
            self._stop(leave)
