"""Moving around in a run and steering it: choosing a conversation, a place in it, pausing and stopping."""

from functools import partial
from pathlib import Path

from rig.core.budget import parse_json
from rig.core.events import Where
from rig.show import signs
from rig.show.steps import Called
from rig.show.texts import read_so_far
from tui.live.layout import BlockLayout, Draft, block, plain
from tui.live.live_run import LiveRun
from tui.live.state import ConversationState
from tui.screens.base import DETACH, STOP, Alternative, AskScreen, PagedScreen, QuitScreen, WriteScreen
from tui.screens.conversation import TEXT_WIDTH, indented, stored_json, write_file
from tui.stored.record import read_place, read_record, read_state
from tui.text.lines import inert, inert_line
from tui.widgets.lines import Lines, RowPicked
from tui.widgets.lists import Board, ConversationPicked
from tui.widgets.transcript import Scrolled, SideBySide, TranscriptView, turns_of

VIEWS = ("-list", "-grid", "-bare")
"""The screen's classes for the ways to show conversations. The screen begins with the first."""

_SIDES = "-sides"

MOST_STORED = 8
"""The most conversations read from the store that are kept."""

_NOT_BEGUN = {signs.WAITING: "not started yet", signs.SKIPPED: "skipped; resuming the run plays it"}


class ReadingScreen(PagedScreen[None]):
    """A screen that follows the run until the reader moves, and then stays where they are."""

    def __init__(self, live_run: LiveRun) -> None:
        super().__init__()
        self.live_run = live_run
        self.reading: Where | None = None
        self.state = live_run.state
        self.board = Board(self.state)
        self.following = True
        self.turn: int | None = None
        """The turn that is shown side by side, None for the latest."""
        self._stored: dict[Where, ConversationState | str | None] = {}
        """The conversations read from the store, the latest last: None while reading, a text if it failed."""
        self.add_class(VIEWS[0])

    # What is read

    def shown(self, where: Where | None) -> tuple[ConversationState | None, str]:
        """Return a conversation from memory or the store, and the words to show if it has no transcript."""
        conversation = self.state.conversations.get(where) if where else None
        if where is None or conversation is None:
            if reading := next((arm.read for arm in self.state.arms if arm.read[1]), None):
                return None, f"reading what every prompt begins with: {read_so_far(*reading)}"
            turn = "next turn" if self.state.turns_done else "first turn"
            return None, f"waiting for the {turn if self.state.run else 'run to start'}"
        if conversation.transcript is not None or not conversation.dropped:
            return conversation, _NOT_BEGUN.get(conversation.status, "")
        if where not in self._stored:
            store, run = Path(self.state.store), self.state.run

            def keep(stored: ConversationState | str) -> None:
                self._stored[where] = stored
                for oldest in list(self._stored)[:-MOST_STORED]:
                    del self._stored[oldest]
                self.show_state()

            self.in_background(lambda: read_state(store, run, where), keep, keep)
        stored = self._stored[where] = self._stored.pop(where, None)
        if isinstance(stored, str):
            return conversation, inert(stored)
        return stored or conversation, "reading it from the store"

    def read(self, where: Where | None) -> None:
        """Stop following and read a conversation."""
        if where is not None:
            self.following = False
            if self.reading is None or where.conversation != self.reading.conversation:
                self.turn = None
            self.reading = where
            self.show_state()

    @property
    def side_by_side(self) -> bool:
        """Whether one turn is shown in every arm instead of a whole transcript."""
        return self.has_class(_SIDES)

    @property
    def page(self) -> TranscriptView:
        """The transcript in the middle."""
        return self.query_one(TranscriptView)

    @property
    def scrolled(self) -> Lines:
        return self.query_one(SideBySide) if self.side_by_side else self.page

    # Conversations

    def action_follow(self) -> None:
        self.following = not self.following
        self.turn = None
        self.show_state()
        if self.following:
            self.page.jump_to_end()

    def action_move(self, steps: int) -> None:
        self.read(self.board.moved(self.reading, steps))

    def action_arm(self, step: int) -> None:
        here = self.reading or self.board.moved(None, 1)
        if here is not None:
            arm = min(max(here.arm + step, 0), max(len(self.state.arms) - 1, 0))
            self.read(Where(arm, here.conversation, here.repeat))

    def action_failure(self, step: int) -> None:
        self.read(self.board.next_failure(self.reading, step))

    def action_filter(self) -> None:
        self.board.next_filter()
        self.show_state()

    def action_order(self) -> None:
        self.board.differing_first = not self.board.differing_first
        self.show_state()

    def action_view(self) -> None:
        now = next(place for place, view in enumerate(VIEWS) if self.has_class(view))
        self.remove_class(VIEWS[now]).add_class(VIEWS[(now + 1) % len(VIEWS)])
        self.show_state()

    def action_side_by_side(self) -> None:
        self.toggle_class(_SIDES)
        self.show_state()

    # Transcript

    def action_turn(self, step: int) -> None:
        if self.side_by_side:
            last = max((turns_of(self.shown(where)[0]) for where in self.sides()), default=1)
            self.turn = min(max((self.turn or last) + step, 1), max(last, 1))
            self.following = False
            self.show_state()
        else:
            self.page.next_turn(step)
            self.moved()

    def sides(self) -> list[Where]:
        """Return the conversation being read in every arm."""
        here, arms = self.reading, range(len(self.state.arms))
        return [Where(arm, here.conversation, here.repeat) for arm in arms] if here else []

    def action_call(self, step: int) -> None:
        self.page.next_call(step)
        self.moved()

    def action_full(self) -> None:
        self.page.toggle_full()
        self.show_state()

    def action_expected(self) -> None:
        self.toggle_class("-other-expected")
        self.show_state()

    def moved(self) -> None:
        """Stop following the run, unless the reader is at the end of the transcript."""
        if self.following and not self.page.at_end:
            self.following = False
        self.show_state()

    # Copying and writing

    def action_edit(self) -> None:
        """Open the file of the conversation at the turn of the chosen call, or of the last one in view."""
        where, call = self.reading, self.query_one(TranscriptView).call
        if where is not None:
            turn = call.place.turn if call else None
            self.edit(partial(read_place, Path(self.state.store), self.state.run, where, turn))

    def action_copy(self) -> None:
        where, call = self.reading, self.query_one(TranscriptView).call
        if where is None or call is None:
            return

        def stored() -> str | None:
            record = read_record(Path(self.state.store), self.state.run, where)
            here = (
                step.made.prediction.call
                for step in record.steps(call.place.turn)
                if step.place == call.place
            )
            full = next(here, None)
            return None if full is None else indented({"name": full.name, "arguments": full.arguments})

        def copy(text: str | None) -> None:
            if text is None:
                fault = "this call is too long to keep here; copy it when its turn is stored"
                self.notify(fault, severity="warning", markup=False)
            else:
                self.app.copy_to_clipboard(text)
                self.notify(inert_line(f"copied {call.name.text}, {len(text):,} characters"), markup=False)

        if (text := _call_json(call)) is not None:
            copy(text)
        else:
            self.in_background(stored, copy)

    def action_write(self) -> None:
        self.app.push_screen(WriteScreen("conversation"), self._write)

    def _write(self, ending: str | None) -> None:
        where, store, run = self.reading, Path(self.state.store), self.state.run
        if ending is None or where is None:
            return
        conversation = self.state.conversations.get(where)

        def text_of() -> str:
            if ending == "json":
                return stored_json(read_record(store, run, where).transcript)
            is_here = conversation is not None and conversation.transcript is not None
            return _as_text(conversation if conversation and is_here else read_state(store, run, where))

        def write(text: str) -> None:
            write_file(self, run, where, ending, text)

        if ending == "svg":
            write(self.app.export_screenshot())
        else:
            self.in_background(text_of, write)

    # What widgets report

    def on_conversation_picked(self, message: ConversationPicked) -> None:
        self.read(message.where)

    def on_row_picked(self, message: RowPicked) -> None:
        if self.reading is not None:
            self.read(Where(message.number, self.reading.conversation, self.reading.repeat))

    def on_scrolled(self, message: Scrolled) -> None:
        self.moved()

    # Steering

    def can_steer(self, action: str) -> bool:
        """Return whether one of the actions below makes sense now."""
        is_other = action in ("pause", "resume") and self.live_run.paused != (action == "resume")
        return not (is_other or self.live_run.over or self.live_run.control.is_stopped)

    def action_pause(self) -> None:
        self.live_run.control.pause()
        self.show_state()

    def action_resume(self) -> None:
        self.live_run.control.resume()
        self.show_state()

    def action_skip(self) -> None:
        """Skip the conversation being read, or undo that if it is not its turn yet."""
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
        stored = f"{state.turns_done} of {state.turns_total} turns are stored"
        question = f"Stop the run? {stored}; rig run --resume {state.run} continues from there."
        self.app.push_screen(AskScreen(question, Alternative("s", "stop and keep", "stop")), self._stop)

    def _stop(self, answer: str | None) -> None:
        if answer is not None:
            self.live_run.control.stop()
            self.show_state()

    def leave(self) -> None:
        if not self.minds_quitting():
            super().leave()

    def minds_quitting(self) -> bool:
        """Ask what happens to a run in this process; if that is being asked already, stop the run."""
        if not self.live_run.ours or self.live_run.over:
            return False
        if isinstance(self.app.screen, QuitScreen):
            self.app.screen.dismiss(STOP)
        else:
            self.app.push_screen(QuitScreen(), self._quit)
        return True

    def _quit(self, leave: str | None) -> None:
        if leave == DETACH:
            self.app.exit(DETACH)
        else:
            self._stop(leave)


def _call_json(call: Called) -> str | None:
    """Return the call as JSON, None if the view has only the beginning of it."""
    if call.name.omitted or call.arguments.omitted:
        return None
    try:
        return indented({"name": call.name.text, "arguments": parse_json(call.arguments.text)})
    except ValueError:
        return None


def _as_text(conversation: ConversationState) -> str:
    """Return a conversation as the view shows it, with all that the view keeps of calls and responses."""
    form = BlockLayout(TEXT_WIDTH, conversation.turns, full=True)
    entries = conversation.transcript.entries if conversation.transcript else []
    lines = [line for entry in entries if not isinstance(entry, Draft) for line in block(entry, form)]
    return f"{inert(conversation.where.conversation)}\n\n{plain(lines)}\n"
