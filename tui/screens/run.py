"""The run as it happens: conversations, the transcript of one of them, its ground truth, the numbers."""

import os
import time
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen

from rig.events import ArmFinished, Event, Notice, Where
from tui.inert import inert
from tui.keys import Section, bindings_of
from tui.leave import Leave
from tui.messages import ConversationPicked, Rearranged
from tui.pace import Pace
from tui.screens.base import RigScreen
from tui.screens.quit import QuitScreen
from tui.state import Recalled, Status
from tui.watching import Watching
from tui.widgets.conversation_list import ConversationList
from tui.widgets.expectations import Expectations
from tui.widgets.header import Header
from tui.widgets.keybar import KeyBar
from tui.widgets.meters import Meters
from tui.widgets.title import Title
from tui.widgets.transcript import TranscriptView

LINGER_S = 1.0
"""How long the last state stays in sight when a run that was being followed ends."""

NOTICE_S = 8.0


class RunScreen(RigScreen[None]):
    """Shows a run under watch. It follows what happens until the reader picks a conversation."""

    SUBJECT = "A run as it happens"
    KEYS: ClassVar[tuple[Section, ...]] = (
        Section(
            "Run",
            (
                Binding("q", "leave", "quit", tooltip="quit (asks while the run is going)"),
                Binding("p", "pause", "pause", tooltip="pause after the current turn"),
                Binding("p", "resume", "go on", tooltip="go on, when paused"),
            ),
        ),
        Section(
            "Conversations",
            (
                Binding("f", "follow", "follow", tooltip="follow what happens, or stay where you read"),
                Binding("n", "next_failure", "failure", tooltip="read the next failure"),
                Binding("down,j", "move(1)", "next", show=False, tooltip="read the next conversation"),
                Binding("up,k", "move(-1)", "previous", show=False, tooltip="read the previous conversation"),
                Binding("g", "move(-1000000)", "first", show=False, tooltip="read the first conversation"),
                Binding("G", "move(1000000)", "last", show=False, tooltip="read the last conversation"),
            ),
        ),
        Section(
            "Transcript",
            (
                Binding(
                    "pagedown,space", "scroll(1)", "scroll", show=False, tooltip="scroll the transcript down"
                ),
                Binding(
                    "pageup,b", "scroll(-1)", "scroll back", show=False, tooltip="scroll the transcript up"
                ),
                Binding("home", "scroll_to(0)", "top", show=False, tooltip="scroll to the beginning"),
                Binding("end", "scroll_to(1)", "end", show=False, tooltip="scroll to the end"),
            ),
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(KEYS)

    def __init__(self, watching: Watching) -> None:
        super().__init__()
        self.watching = watching
        self.state = watching.state
        self.following = True
        self.reading: Where | None = None
        self._pace = Pace(os.environ)
        self._spent_s = time.thread_time()
        self._possible: tuple[object, ...] = ()
        self._ended = False

    def compose(self) -> ComposeResult:
        yield Header(id="header")
        with Horizontal(id="body"):
            yield ConversationList(id="conversations")
            with Vertical(id="reading"):
                yield Title(id="title")
                yield TranscriptView(id="transcript")
            yield Expectations(id="expectations")
        yield Meters(id="meters")
        yield KeyBar()

    def on_mount(self) -> None:
        self._tick()

    def _tick(self) -> None:
        self.catch_up()
        # Painting happens after this callback, so what is measured is the time from tick to tick.
        spent_s = time.thread_time()
        cost_s, self._spent_s = spent_s - self._spent_s, spent_s
        self.set_timer(self._pace.next_s(cost_s), self._tick)

    def catch_up(self) -> None:
        """Take in what happened since the last time, and show it."""
        self._announce(self.watching.catch_up())
        if self.watching.over and not self._ended:
            self._ended = True
            self._run_ended()
        self.show_state()

    def show_state(self) -> None:
        """Bring every widget up to date; each paints only what changed."""
        if not (self.is_current or isinstance(self.app.screen, ModalScreen)):
            return
        state, watching = self.state, self.watching
        if self.following and state.current is not None:
            self.reading = state.current
        conversation = state.conversations.get(self.reading) if self.reading else None
        arm = self.reading.arm if self.reading else 0
        self.query_one(Header).show_run(state, arm, watching.condition)
        self.query_one(ConversationList).show_run(state, self.reading)
        self.query_one(Title).show_conversation(conversation, self.following)
        self.query_one(TranscriptView).show_conversation(conversation, state.run)
        self.query_one(Expectations).show_conversation(conversation)
        known = state.arm(arm) if state.arms else None
        self.query_one(Meters).show_arm(known, watching.elapsed_s, watching.remaining_s)
        possible = (watching.paused, watching.can_be_steered, state.failures > 0)
        if possible != self._possible:
            self._possible = possible
            self.refresh_bindings()

    def on_screen_resume(self) -> None:
        self.show_state()

    def read(self, where: Where | None) -> None:
        """Stop following and read a conversation."""
        if where is not None:
            self.following = False
            self.reading = where
            self.show_state()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "pause":
            return self.watching.can_be_steered and not self.watching.paused
        if action == "resume":
            return self.watching.can_be_steered and self.watching.paused
        if action == "next_failure" and not self.state.failures:
            return None
        return True

    def action_pause(self) -> None:
        if self.watching.control is not None:
            self.watching.control.pause()
            self.show_state()

    def action_resume(self) -> None:
        if self.watching.control is not None:
            self.watching.control.resume()
            self.show_state()

    def action_follow(self) -> None:
        self.following = not self.following
        self.show_state()
        if self.following:
            self.query_one(TranscriptView).jump_to_end()

    def action_move(self, steps: int) -> None:
        self.read(self.query_one(ConversationList).neighbour(steps))

    def action_next_failure(self) -> None:
        failures = (
            where
            for where, conversation in self.state.conversations.items()
            if conversation.status in (Status.FAILED, Status.ERROR)
        )
        self.read(self.query_one(ConversationList).next_with(failures))

    def action_scroll(self, pages: int) -> None:
        transcript = self.query_one(TranscriptView)
        transcript.jump_to(max(transcript.scroll_offset.y + pages * (transcript.size.height - 2), 0))

    def action_scroll_to(self, end: int) -> None:
        transcript = self.query_one(TranscriptView)
        if end:
            transcript.jump_to_end()
        else:
            transcript.jump_to(0)

    def on_conversation_picked(self, message: ConversationPicked) -> None:
        self.read(message.where)

    def on_rearranged(self, message: Rearranged) -> None:
        self.show_state()

    def leave(self) -> None:
        if not self.minds_quitting():
            super().leave()

    def minds_quitting(self) -> bool:
        """While the run goes on in this process: ask what is to become of it. Asked twice, it stops."""
        if not self.watching.ours or self.watching.over:
            return False
        if isinstance(self.app.screen, QuitScreen):
            self.app.screen.dismiss(Leave.STOP.value)
        else:
            self.app.push_screen(QuitScreen(), self._quit)
        return True

    def _quit(self, leave: str | None) -> None:
        if leave == Leave.STOP.value and self.watching.control is not None:
            self.watching.control.stop()
            self.show_state()
        elif leave == Leave.DETACH.value:
            self.app.exit(Leave.DETACH)

    def _announce(self, events: list[Event | Recalled]) -> None:
        for event in events:
            match event:
                case Notice():
                    self.notify(inert(event.text), timeout=NOTICE_S, markup=False)
                case ArmFinished(failure=str() as failure):
                    self.notify(inert(failure), severity="error", timeout=NOTICE_S, markup=False)
                case _:
                    pass

    def _run_ended(self) -> None:
        if isinstance(self.app.screen, QuitScreen):
            self.app.screen.dismiss(None)
        if self.watching.ours:
            self.set_timer(0.01 if self.watching.broke_off else LINGER_S, self._exit_unless_reading)

    def _exit_unless_reading(self) -> None:
        """End with the run, unless somebody is still reading; they leave when they like."""
        if self.watching.broke_off or (self.following and self.is_current):
            self.app.exit()
