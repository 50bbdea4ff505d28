"""Conversations about notes, for the toolbox of the tests that a user may have written."""

import json
from pathlib import Path

NOTES = Path(__file__).parent.parent / "world" / "notes"


def write(folder: Path, count: int) -> Path:
    """So many conversations in a folder: a note is made, and then all are listed."""
    folder.mkdir()
    for number in range(count):
        text = f"Please note that I have to buy {number + 2} stamps for the letters to my aunt in the north."
        call = {"request": {"api_name": "AddNote", "parameters": {"text": f"Buy {number + 2} stamps"}}}
        find = {"api_name": "FindNotes", "parameters": {}}
        talk = {
            "name": f"stamps {number}",
            "conversation_id": "1",
            "user": {"username": "mara"},
            "metadata": {"location": "Springfield", "timestamp": f"2024-03-0{number + 1} 09:00:00"},
            "conversation": [
                {"role": "user", "text": text},
                {"role": "assistant", "text": "Noted.", "apis": [call]},
                {"role": "user", "text": "Which notes do I have by now, and which of them is the oldest?"},
                {"role": "assistant", "text": "One.", "apis": [{"request": find}]},
            ],
        }
        (folder / f"{number}.json").write_text(json.dumps(talk))
    return folder
