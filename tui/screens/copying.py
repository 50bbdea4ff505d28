"""Take something from a screen: a call to the clipboard, a conversation or a picture to a file."""

from pathlib import Path
from typing import Any

from rig.events import Where
from tui.live.conversation_cache import read
from tui.live.state import RunState
from tui.screens.ask import WriteScreen
from tui.screens.base import RigScreen
from tui.stored.copies import as_text, call_json, file_name, stored_call_json, stored_json, write_new
from tui.stored.record import read_record
from tui.text.lines import inert_line
from tui.widgets.transcript import TranscriptView


def write_file(screen: RigScreen[Any], run: str, where: Where, ending: str, text: str) -> None:
    """Write what is read on a screen to a new file, and say where it is, or why it is not."""
    try:
        path = write_new(Path.cwd(), file_name(run, where, ending), text)
    except OSError as error:
        screen.notify(inert_line(f"cannot write: {error}"), severity="error", markup=False)
    else:
        screen.notify(inert_line(f"wrote {path.name}"), markup=False)


class CopyActions(RigScreen[None]):
    """Copying and writing what is read on a screen that shows a transcript."""

    state: RunState
    reading: Where | None

    def action_copy(self) -> None:
        where, call = self.reading, self.query_one(TranscriptView).call
        if where is None or call is None:
            return

        def stored() -> tuple[str | None]:
            transcript = read_record(Path(self.state.store), self.state.run, where).transcript
            return (stored_call_json(transcript, call.turn, call.step),)

        def copy(result: tuple[str | None] | str) -> None:
            if isinstance(result, str):
                self.notify(inert_line(result), severity="error", markup=False)
            elif result[0] is None:
                text = "this call is too long to keep here; copy it when its turn is stored"
                self.notify(text, severity="warning", markup=False)
            else:
                self.app.copy_to_clipboard(result[0])
                text = f"copied {call.name.text}, {len(result[0]):,} characters"
                self.notify(inert_line(text), markup=False)

        if (text := call_json(call)) is not None:
            copy((text,))
        else:
            self.in_background(stored, copy)

    def action_write(self) -> None:
        self.app.push_screen(WriteScreen("conversation"), self._write)

    def _write(self, ending: str | None) -> None:
        where, store, run = self.reading, Path(self.state.store), self.state.run
        if ending is None or where is None:
            return
        conversation = self.state.conversations.get(where)

        def text_of() -> tuple[str]:
            if ending == "json":
                return (stored_json(read_record(store, run, where).transcript),)
            is_here = conversation is not None and conversation.transcript is not None
            return (as_text(conversation if conversation and is_here else read(store, run, where)),)

        def write(result: tuple[str] | str) -> None:
            if isinstance(result, str):
                self.notify(inert_line(result), severity="error", markup=False)
            else:
                write_file(self, run, where, ending, result[0])

        if ending == "svg":
            write((self.app.export_screenshot(),))
        else:
            self.in_background(text_of, write)
