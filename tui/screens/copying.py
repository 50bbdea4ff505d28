"""Take something from a screen: a call to the clipboard, a conversation or a picture to a file."""

import json
import re
from pathlib import Path
from typing import Any

from rig.calls import JsonObject
from rig.displays.steps import Called
from rig.displays.transcript import transcript_json
from rig.events import Where
from rig.store import Transcript
from tui.live.layout import BlockLayout, Draft, block, plain
from tui.live.state import ConversationState, RunState
from tui.screens.base import PagedScreen, RigScreen, WriteScreen
from tui.stored.record import StepRecord, read_record, read_state
from tui.text.lines import inert, inert_line
from tui.widgets.transcript import TranscriptView

_WIDTH = 122
"""Cells of a conversation written as text."""


def _call_json(call: Called) -> str | None:
    """The call as JSON, None if the view has only the beginning of it."""
    if call.name.omitted or call.arguments.omitted:
        return None
    try:
        return _indented({"name": call.name.text, "arguments": json.loads(call.arguments.text)})
    except ValueError:
        return None


def _stored_call_json(transcript: Transcript, turn: int, step: int) -> str | None:
    """A call as JSON from the store, None while its turn is not stored."""
    played = transcript.turns.get(turn)
    call = played.steps[step].prediction.call if played and step < len(played.steps) else None
    return None if call is None else _indented({"name": call.name, "arguments": call.arguments})


def stored_json(transcript: Transcript) -> str:
    """All that is stored of a conversation, as `rig show RUN CONVERSATION --json` prints it for an arm."""
    return _indented(transcript_json(transcript))


def _as_text(conversation: ConversationState) -> str:
    """A conversation as the view shows it, with all that the view keeps of calls and responses."""
    form = BlockLayout(_WIDTH, conversation.turns, full=True)
    entries = conversation.transcript.entries if conversation.transcript else []
    lines = [line for entry in entries if not isinstance(entry, Draft) for line in block(entry, form)]
    return f"{inert(conversation.where.conversation)}\n\n{plain(lines)}\n"


def write_new(directory: Path, name: str, text: str) -> Path:
    """Write a new file of this name, or of this name with a number. Raises OSError."""
    stem, _, ending = name.rpartition(".")
    for number in range(1, 1000):
        path = directory / (name if number == 1 else f"{stem}-{number}.{ending}")
        try:
            with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"there are too many files named like {name}")


def _indented(value: JsonObject) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def step_json(step: StepRecord) -> str:
    """The call, with what came back and the verdict; the reply; or the error with the raw text."""
    prediction, executed, verdict = step.made.prediction, step.made.executed, step.made.verdict
    fields: JsonObject
    if prediction.call is not None:
        fields = {"name": prediction.call.name, "arguments": prediction.call.arguments}
        if executed is not None:
            fields |= {"response": executed.outcome.response, "exception": executed.outcome.exception}
        if verdict is not None:
            fields["verdict"] = verdict.as_json()
    elif prediction.reply is not None:
        fields = {"reply": prediction.reply}
    else:
        error, detail = str(prediction.error), prediction.error_detail
        fields = {"error": error, "detail": detail, "raw": prediction.raw}
    try:
        return _indented(fields)
    except RecursionError:
        return prediction.raw


def write_file(screen: RigScreen[Any], run: str, where: Where, ending: str, text: str) -> None:
    """Write what is read on a screen to a new file, and say where it is, or why it is not."""
    # Harmless for any names of run and conversation.
    stem = re.sub(r"[^\w.-]+", "_", f"rig-{run}-{where.conversation}")[:120]
    arm = f"-arm{where.arm + 1}" if where.arm else ""
    repeat = f"-{where.repeat + 1}" if where.repeat else ""
    try:
        path = write_new(Path.cwd(), f"{stem}{arm}{repeat}.{ending}", text)
    except OSError as error:
        screen.notify(inert_line(f"cannot write: {error}"), severity="error", markup=False)
    else:
        screen.notify(inert_line(f"wrote {path.name}"), markup=False)


class CopyActions(PagedScreen[None]):
    """Copying and writing what is read on a screen that shows a transcript."""

    state: RunState
    reading: Where | None

    def action_copy(self) -> None:
        where, call = self.reading, self.query_one(TranscriptView).call
        if where is None or call is None:
            return

        def stored() -> str | None:
            transcript = read_record(Path(self.state.store), self.state.run, where).transcript
            return _stored_call_json(transcript, call.turn, call.step)

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
