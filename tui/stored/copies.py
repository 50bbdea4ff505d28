"""What you can copy from a view: calls and whole conversations, as text and as JSON."""

import json
import re
from pathlib import Path

from rig.calls import JsonObject
from rig.displays.steps import Called
from rig.displays.transcript import transcript_json
from rig.events import Where
from rig.store import Transcript
from tui.live.blocks import BlockLayout, block, plain
from tui.live.state import ConversationState
from tui.live.transcript import Draft
from tui.stored.record import StepRecord
from tui.text.lines import inert

_WIDTH = 122
"""Cells of a conversation written as text."""


def call_json(call: Called) -> str | None:
    """The call as JSON, None if the view has only the beginning of it."""
    if call.name.omitted or call.arguments.omitted:
        return None
    try:
        return _indented({"name": call.name.text, "arguments": json.loads(call.arguments.text)})
    except ValueError:
        return None


def stored_call_json(transcript: Transcript, turn: int, step: int) -> str | None:
    """A call as JSON from the store, None while its turn is not stored."""
    played = transcript.turns.get(turn)
    call = played.steps[step].prediction.call if played and step < len(played.steps) else None
    return None if call is None else _indented({"name": call.name, "arguments": call.arguments})


def stored_json(transcript: Transcript) -> str:
    """All that is stored of a conversation, as `rig show RUN CONVERSATION --json` prints it for an arm."""
    return _indented(transcript_json(transcript))


def as_text(conversation: ConversationState) -> str:
    """A conversation as the view shows it, with all that the view keeps of calls and responses."""
    form = BlockLayout(_WIDTH, conversation.turns, full=True)
    entries = conversation.transcript.entries if conversation.transcript else []
    lines = [line for entry in entries if not isinstance(entry, Draft) for line in block(entry, form)]
    return f"{inert(conversation.where.conversation)}\n\n{plain(lines)}\n"


def file_name(run: str, where: Where, ending: str) -> str:
    """A name for a file of a conversation, harmless for any names of run and conversation."""
    arm = f"-arm{where.arm + 1}" if where.arm else ""
    repeat = f"-{where.repeat + 1}" if where.repeat else ""
    stem = re.sub(r"[^\w.-]+", "_", f"rig-{run}-{where.conversation}")[:120]
    return f"{stem}{arm}{repeat}.{ending}"


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
