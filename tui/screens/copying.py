"""Take something from a screen: a call to the clipboard, a conversation or a picture to a file."""

from pathlib import Path

from rig.displays.steps import Called
from rig.errors import RigError
from rig.events import Where
from tui.live.conversation_cache import read
from tui.live.state import ConversationState, RunState
from tui.screens.ask import WriteScreen
from tui.screens.base import RigScreen
from tui.stored.copies import (
    as_text,
    call_json,
    file_name,
    stored_call_json,
    stored_json,
    transcript_of,
    write_new,
)
from tui.text.inert import inert_line
from tui.widgets.transcript import TranscriptView


class CopyActions(RigScreen[None]):
    """Copying and writing what is read on a screen that shows a transcript."""

    state: RunState
    reading: Where | None

    def action_copy(self) -> None:
        where, call = self.reading, self.query_one(TranscriptView).call
        if where is None or call is None:
            return
        text = call_json(call)
        if text is not None:
            self._copy(call, text)
        else:
            self.run_worker(lambda: self._copy_stored(where, call), thread=True)

    def _copy_stored(self, where: Where, call: Called) -> None:
        try:
            transcript = transcript_of(Path(self.state.store), self.state.run, where)
            text = stored_call_json(transcript, call.turn, call.step)
        except RigError as error:
            self.app.call_from_thread(self._say, str(error), "error")
            return
        if text is None:
            self.app.call_from_thread(
                self._say, "this call is too long to keep here; copy it when its turn is stored", "warning"
            )
        else:
            self.app.call_from_thread(self._copy, call, text)

    def _copy(self, call: Called, text: str) -> None:
        self.app.copy_to_clipboard(text)
        self._say(f"copied {call.name.text}, {len(text):,} characters", "information")

    def action_write(self) -> None:
        self.app.push_screen(WriteScreen("conversation"), self._write)

    def _write(self, ending: str | None) -> None:
        where = self.reading
        if ending is None or where is None:
            return
        if ending == "svg":
            self._write_text(where, ending, self.app.export_screenshot())
        else:
            conversation = self.state.conversations.get(where)
            self.run_worker(lambda: self._write_conversation(where, ending, conversation), thread=True)

    def _write_conversation(self, where: Where, ending: str, conversation: ConversationState | None) -> None:
        store, run = Path(self.state.store), self.state.run
        try:
            if ending == "json":
                text = stored_json(transcript_of(store, run, where))
            else:
                is_here = conversation is not None and conversation.transcript is not None
                text = as_text(
                    conversation if conversation is not None and is_here else read(store, run, where)
                )
        except RigError as error:
            self.app.call_from_thread(self._say, str(error), "error")
            return
        self.app.call_from_thread(self._write_text, where, ending, text)

    def _write_text(self, where: Where, ending: str, text: str) -> None:
        try:
            path = write_new(Path.cwd(), file_name(self.state.run, where, ending), text)
        except OSError as error:
            self._say(f"cannot write: {error}", "error")
        else:
            self._say(f"wrote {path.name}", "information")

    def _say(self, text: str, severity: str) -> None:
        if severity == "error":
            self.notify(inert_line(text), severity="error", markup=False)
        elif severity == "warning":
            self.notify(inert_line(text), severity="warning", markup=False)
        else:
            self.notify(inert_line(text), markup=False)
