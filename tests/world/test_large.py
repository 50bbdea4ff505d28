"""Conversations of thousands of turns, calls and values are checked in time that grows with their size."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from rig.plugins.own_tools.folder import load_folder
from rig.plugins.tooltalk.check_written import check_own


def suite(place: Path, turns: list[list[Any]]) -> Path:
    numbers = {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]}
    tool = {"name": "f", "description": "d", "inputSchema": {"type": "object", "properties": {"n": numbers}}}
    (place / "tools.json").write_text(json.dumps({"tools": [tool]}))
    (place / "conversations").mkdir()
    written = [
        {"user": "Go on.", "reply": "Done.", "calls": [{"f": {"n": n}, "returns": n} for n in values]}
        for values in turns
    ]
    (place / "conversations" / "c.json").write_text(json.dumps({"turns": written}))
    return place


@pytest.mark.slow
@pytest.mark.parametrize(
    "turns",
    [
        [[n] for n in range(1_500)],
        [list(range(5_000))],
        [[7] * 5_000],
        [[{"$set": list(range(4_000))}]],
    ],
    ids=["turns", "calls", "the same call", "a set"],
)
def test_a_large_conversation_is_checked_in_seconds(tmp_path: Path, turns: list[list[Any]]) -> None:
    toolbox = load_folder(suite(tmp_path, turns))
    assert toolbox is not None
    start = time.process_time()
    checked = check_own(tmp_path / "conversations", toolbox)
    assert (checked.faults, time.process_time() - start < 8) == ((), True)


def test_the_same_call_made_twice_returns_what_was_recorded_in_turn(tmp_path: Path) -> None:
    toolbox = load_folder(suite(tmp_path, [[1, 2]]))
    assert toolbox is not None
    source = json.loads((tmp_path / "conversations" / "c.json").read_text())
    source["turns"][0]["calls"] = [{"f": {"n": 1}, "returns": word} for word in ("one", "two")]
    (tmp_path / "conversations" / "c.json").write_text(json.dumps(source))
    assert check_own(tmp_path / "conversations", toolbox).faults == ()
