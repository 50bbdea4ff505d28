"""The application: it drains the feed into the state, at a pace that leaves the run its time."""

import os
import time
from collections.abc import Callable
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen

from rig.control import Control
from rig.events import ArmFinished, Event, Notice, RunStarted, TurnStarted
from tui.feed import Feed
from tui.inert import inert
from tui.leave import Leave
from tui.pace import Pace, remaining_s
from tui.screens.quit import QuitScreen
from tui.screens.run import RunScreen
from tui.state import Recalled, RunState
from tui.themes import THEMES, default_theme, next_theme

LINGER_S = 1.0
"""How long the last state stays in sight when a run that was being followed ends."""

NOTICE_S = 8.0


class RigApp(App[Leave]):
    """Watches one run. It returns the way it was left while the run was going, or None after its end."""

    TITLE = "rig"
    CSS_PATH = "rig.tcss"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [  # noqa: RUF012 - as Textual declares it
        (0, "-narrow"),
        (60, "-normal"),
        (116, "-wide"),
        (160, "-vast"),
    ]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "leave", "quit", show=False, priority=True),
    ]

    def __init__(self, feed: Feed, control: Control, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.animation_level = "none"
        self.run_state = RunState()
        self.run_screen = RunScreen(self.run_state)
        self.fault: Exception | None = None
        self._feed = feed
        self._control = control
        self._now = clock
        self._began = clock()
        self._first_turn: float | None = None
        self._ended: float | None = None
        self._turns_before = 0
        self._pace = Pace(os.environ)
        self._spent_s = time.thread_time()
        self._possible: tuple[object, ...] = ()
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = default_theme(os.environ)

    def get_default_screen(self) -> Screen[None]:
        return self.run_screen

    def _handle_exception(self, error: Exception) -> None:
        self.fault = error
        super()._handle_exception(error)

    def _print_error_renderables(self) -> None:
        """Nothing: whoever runs the app is told of the `fault` and says it in fewer words."""
        self._exit_renderables.clear()

    def on_ready(self) -> None:
        self._tick()

    def catch_up(self) -> None:
        """Take in what happened since the last time, and show it."""
        events = self._feed.drain()
        self._note(events)
        self.run_state.apply_all(events)
        if self._feed.over and self._ended is None:
            self._run_ended()
        self.show_state()

    def show_state(self) -> None:
        """Show the state as it is, and the keys that make sense now."""
        screen, state = self.run_screen, self.run_state
        now = self._now()
        screen.condition = self._condition()
        screen.elapsed_s = (now if self._ended is None else self._ended) - self._began
        screen.eta_s = None if self._first_turn is None else self._remaining_s(now - self._first_turn)
        screen.show_state()
        possible = (self._control.is_paused, self._ended is None, state.failures > 0)
        if possible != self._possible:
            self._possible = possible
            screen.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "pause":
            return self._ended is None and not self._control.is_paused
        if action == "resume":
            return self._ended is None and self._control.is_paused
        return True

    def action_pause(self) -> None:
        self._control.pause()
        self.show_state()

    def action_resume(self) -> None:
        self._control.resume()
        self.show_state()

    def action_next_theme(self) -> None:
        self.theme = next_theme(self.theme)

    def action_leave(self) -> None:
        if self._ended is not None:
            self.exit()
        elif isinstance(self.screen, QuitScreen):
            self.screen.dismiss(Leave.STOP)
        else:
            self.push_screen(QuitScreen(), self._leave)

    def _leave(self, leave: Leave | None) -> None:
        if leave is Leave.STOP:
            self._control.stop()
            self.show_state()
        elif leave is Leave.DETACH:
            self.exit(leave)

    def _tick(self) -> None:
        self.catch_up()
        # Painting happens after this callback, so what is measured is the time from tick to tick.
        spent_s = time.thread_time()
        cost_s, self._spent_s = spent_s - self._spent_s, spent_s
        self.set_timer(self._pace.next_s(cost_s), self._tick)

    def _note(self, events: list[Event | Recalled]) -> None:
        """Take from the events what is not of the run but of watching it: times, and what to announce."""
        for event in events:
            match event:
                case RunStarted():
                    self._turns_before = event.finished_turns
                case TurnStarted() if self._first_turn is None:
                    self._first_turn = self._now()
                case Notice():
                    self.notify(inert(event.text), timeout=NOTICE_S, markup=False)
                case ArmFinished(failure=str() as failure):
                    self.notify(inert(failure), severity="error", timeout=NOTICE_S, markup=False)
                case _:
                    pass

    def _remaining_s(self, elapsed_s: float) -> float | None:
        if self._ended is not None:
            return None
        state, before = self.run_state, self._turns_before
        return remaining_s(state.turns_done - before, state.turns_total - before, elapsed_s)

    def _condition(self) -> str:
        state = self.run_state
        if self._ended is not None:
            return "interrupted" if state.interrupted or not state.finished else "finished"
        if self._control.is_stopped:
            return "stopping"
        if self._control.is_paused:
            return "paused"
        return "loading the model" if any(arm.loading for arm in state.arms) else ""

    def _run_ended(self) -> None:
        self._ended = self._now()
        stopped = self._control.is_stopped or not self.run_state.finished
        if isinstance(self.screen, QuitScreen):
            self.screen.dismiss(None)
        self.set_timer(0.01 if stopped else LINGER_S, self._exit_unless_reading)

    def _exit_unless_reading(self) -> None:
        """End with the run, unless somebody is still reading; they leave when they like."""
        reading = not self.run_screen.following or self.screen is not self.run_screen
        if self._control.is_stopped or not self.run_state.finished or not reading:
            self.exit()
