"""Tools of one's own from the command line: run, shown with what they did, and scored again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rig.plugins.tooltalk.prompt import ToolTalkSettings
from rig.world.toolbox import find_toolbox

NOTES = Path(__file__).parent / "notes"


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    """One conversation in which a note is written down."""
    call = {"api_name": "AddNote", "parameters": {"text": "Buy stamps"}}
    conversation = {
        "name": "stamps",
        "conversation_id": "1",
        "user": {"username": "mara"},
        "metadata": {"location": "Springfield", "timestamp": "2024-03-05 09:00:00"},
        "conversation": [
            {"role": "user", "text": "note: buy stamps"},
            {
                "role": "assistant",
                "text": "Noted.",
                "apis": [{"request": call, "response": {"note_id": "5bff"}, "exception": None}],
            },
        ],
    }
    directory = tmp_path / "talks"
    directory.mkdir()
    (directory / "stamps.json").write_text(json.dumps(conversation))
    return directory


def test_tools_of_ones_own(rig: Callable[..., Any], talks: Path) -> None:
    asked = ("--conversations", talks, "--similarity", "exact", "--display", "none")
    done = rig("run", "oracle", "--toolbox", NOTES, *asked, "--json")
    assert done.code == 0, done.err
    run = done.json["run"]
    assert done.json["arms"][0]["success_rate"] == 1
    shown = rig("--open", NOTES, "show", run, "stamps", "--diff")
    assert shown.code == 0, shown.err
    assert "Buy stamps" in shown.out
    assert "5bff" in shown.out.split("notes")[-1]
    again = rig("--open", NOTES, "score", run, "--reexecute", "--json")
    assert again.code == 0, again.err
    assert again.json["arms"]
    refused = rig("run", "oracle", *asked)
    assert refused.code == 2
    assert "no tool is named AddNote" in refused.err


def test_the_fingerprint_names_tools_of_ones_own() -> None:
    own = ToolTalkSettings(toolbox=find_toolbox(str(NOTES))).fingerprint
    assert own.keys() - ToolTalkSettings().fingerprint.keys() == {"toolbox", "toolbox_sha256"}
    assert (own["toolbox"], len(own["toolbox_sha256"])) == ("notes", 64)
