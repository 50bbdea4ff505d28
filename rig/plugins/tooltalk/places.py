"""Where a conversation is written: its file, and the line of a turn, to open them in an editor."""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rig.core.errors import RigError
from rig.core.files import read_text
from rig.plugins.documents.documents import YAML_ENDINGS
from rig.plugins.tooltalk.conversations import (
    MAX_FILE_BYTES,
    Conversation,
    Turn,
    files_of,
    is_in_tooltalks_shape,
    load_file,
)
from rig.plugins.tooltalk.written import conversation_parts, turn_parts


def place_of(folder: Path, task: Conversation, turn: int | None) -> tuple[Path, int] | None:
    """Return the file of a folder that a conversation is in, and the line of a turn or, with None, that of
    the conversation; None if no file has it. Raises RigError if there is no such folder.
    """
    # A file often has the name of its conversation, or how it begins.
    for path in sorted(files_of(folder), key=lambda path: not task.name.startswith(path.stem)):
        with suppress(RigError):
            names = [conversation.name for conversation in load_file(path)]
            if task.name in names:
                return path, _line(path, names.index(task.name), task, turn)
    return None


def _line(path: Path, number: int, task: Conversation, turn: int | None) -> int:
    if path.suffix.lower() in YAML_ENDINGS and not is_in_tooltalks_shape(path):
        return _line_of_part(path, number, turn)
    turns = [] if turn is None else task.turns[: turn + 1]
    return _line_in_text(read_text(path, MAX_FILE_BYTES), task.name, turns)


def _line_of_part(path: Path, number: int, turn: int | None) -> int:
    """Return the line of a turn of a YAML file's conversation, whose reader knows the lines of all values."""
    conversation = list(conversation_parts(path))[number]
    place, position = conversation.path, 0
    for part in turn_parts(conversation) if turn is not None else ():
        place = part.path
        # One turn of the user for each text, and one of the assistant.
        position += len(part.fields()["user"].texts()) + 1
        if turn is not None and turn < position:
            break
    return conversation.lines.get(place, 1)


def _line_in_text(text: str, name: str, said: Sequence[Turn]) -> int:
    """Return the line of the last of these turns that is found in the text of a JSON file, in order."""
    at = max(_find(text, name, 0), 0)
    for turn in said:
        if turn.role == "user":
            at = max(_find(text, turn.text, at), at)
    return text.count("\n", 0, at) + 1


def _find(text: str, words: str, start: int) -> int:
    """Return where the words are in a JSON text, as JSON has them with or without escapes; -1 if nowhere."""
    places = (text.find(json.dumps(words, ensure_ascii=escaped), start) for escaped in (False, True))
    return min((place for place in places if place >= 0), default=-1)
