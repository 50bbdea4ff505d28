"""A run is killed between any two messages; resumed, it is the same dialogue. Of both methods that talk."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from killed_runs import kill_at_every_event, messages

Rig = Callable[..., Any]

AUTODE = ("--suite", "dynamic", "--only", "light-for-reading")
LIVE = ("--method", "dynamic", "--suite", "easy", "--similarity", "exact", "--only", "AddAlarm-easy")


def counts(store: Path) -> list[Any]:
    """What was counted of each conversation."""
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
        return database.execute(
            "SELECT name, value FROM counts JOIN scores ON scores.id = counts.score ORDER BY conversation, 1"
        ).fetchall()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [AUTODE, (*AUTODE, "--set", "compat=true", "--set", "max_rounds=1"), LIVE],
    ids=["autode", "autode in compat", "dynamic"],
)
def test_killed_between_any_two_messages_it_goes_on_to_the_same_dialogue(
    rig: Rig, tmp_path: Path, options: tuple[str, ...]
) -> None:
    asked = ("run", "oracle", "--user", "scripted", *options, "--display", "none", "--json")
    whole = tmp_path / "whole"
    rig(*asked, "--runs", whole)
    expected = messages(whole), counts(whole)
    stores = kill_at_every_event(tmp_path, *asked, step=2)  # a message is two events at least
    left = [len(messages(store)) for store in stores]
    turns = {place[:2] for place in expected[0]}
    assert left == sorted(left)
    # A turn is stored as a whole, and after every turn there is a moment to be killed at.
    assert len(set(left)) == len(turns) + 1 - (min(left) > 0)
    for store in stores:
        rig("run", "--resume", "latest", "--runs", store, "--display", "none", "--json")
        assert (messages(store), counts(store)) == expected
