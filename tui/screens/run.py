"""The run as it happens: conversations, the transcript of one of them, its ground truth, the numbers."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Footer

from rig.events import Where
from tui.messages import ConversationPicked, Rearranged
from tui.state import RunState, Status
from tui.widgets.conversation_list import ConversationList
from tui.widgets.expectations import Expectations
from tui.widgets.header import Header
from tui.widgets.meters import Meters
from tui.widgets.title import Title
from tui.widgets.transcript import TranscriptView


class RunScreen(Screen[None]):
    """Shows a `RunState`. It follows what happens until the reader picks a conversation."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "app.leave", "quit", tooltip="quit (asks while the run is going)"),
        Binding("p", "app.pause", "pause", tooltip="pause after the current turn"),
        Binding("p", "app.resume", "go on", tooltip="go on, when paused"),
        Binding("f", "follow", "follow", tooltip="follow what happens, or stay where you read"),
        Binding("n", "next_failure", "failure", tooltip="read the next failure"),
        Binding("down,j", "move(1)", "next", show=False, tooltip="read the next conversation"),
        Binding("up,k", "move(-1)", "previous", show=False, tooltip="read the previous conversation"),
        Binding("g", "move(-1000000)", "first", show=False, tooltip="read the first conversation"),
        Binding("G", "move(1000000)", "last", show=False, tooltip="read the last conversation"),
        Binding("pagedown,space", "scroll(1)", "scroll", show=False, tooltip="scroll the transcript down"),
        Binding("pageup,b", "scroll(-1)", "scroll back", show=False, tooltip="scroll the transcript up"),
        Binding("home", "scroll_to(0)", "top", show=False, tooltip="scroll to the beginning"),
        Binding("end", "scroll_to(1)", "end", show=False, tooltip="scroll to the end"),
        Binding("t", "app.next_theme", "theme", tooltip="change the theme (dark, light, terminal)"),
        Binding("question_mark", "help", "help", key_display="?", tooltip="this help"),
    ]

    def __init__(self, state: RunState) -> None:
        super().__init__()
        self.state = state
        self.following = True
        self.reading: Where | None = None
        self.condition = ""
        self.elapsed_s = 0.0
        self.eta_s: float | None = None

    def compose(self) -> ComposeResult:
        yield Header(id="header")
        with Horizontal(id="body"):
            yield ConversationList(id="conversations")
            with Vertical(id="reading"):
                yield Title(id="title")
                yield TranscriptView(id="transcript")
            yield Expectations(id="expectations")
        yield Meters(id="meters")
        yield Footer(compact=True, show_command_palette=False)

    def show_state(self) -> None:
        """Bring every widget up to date; each paints only what changed."""
        state = self.state
        if self.following and state.current is not None:
            self.reading = state.current
        conversation = state.conversations.get(self.reading) if self.reading else None
        arm = self.reading.arm if self.reading else 0
        self.query_one(Header).show_run(state, arm, self.condition)
        self.query_one(ConversationList).show_run(state, self.reading)
        self.query_one(Title).show_conversation(conversation, self.following)
        self.query_one(TranscriptView).show_conversation(conversation, state.run)
        self.query_one(Expectations).show_conversation(conversation)
        known = state.arm(arm) if state.arms else None
        self.query_one(Meters).show_arm(known, self.elapsed_s, self.eta_s)

    def read(self, where: Where | None) -> None:
        """Stop following and read a conversation."""
        if where is not None:
            self.following = False
            self.reading = where
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

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "next_failure" and not self.state.failures:
            return None
        return True

    def action_help(self) -> None:
        from tui.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(b for b in self.BINDINGS if isinstance(b, Binding)))

    def on_conversation_picked(self, message: ConversationPicked) -> None:
        self.read(message.where)

    def on_rearranged(self, message: Rearranged) -> None:
        self.show_state()
