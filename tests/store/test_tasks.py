"""Tasks can be read without their method, from a view that is stored beside their source."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import small_talks

from rig import methods
from rig.core.errors import RigError
from rig.store import Runs
from rig.store.rows import StoredTask, view_of

SUITES = [(name, suite) for name, method in methods.known().items() for suite in method.suites()]


def read_back(task: Any) -> StoredTask:
    view = json.loads(json.dumps(view_of(task)))
    row = {
        "name": task.name,
        "suite": task.suite,
        "known_turns": list(task.known_turns),
        "ground_truths": task.ground_truth_count,
    }
    return StoredTask.of(row, task.source, view)


@pytest.mark.parametrize(("name", "suite"), SUITES)
def test_the_view_of_a_task_says_what_the_task_says(name: str, suite: str) -> None:
    method = methods.get(name)
    for task in method.load(method.suites()[suite])[:20]:
        stored = read_back(task)
        assert (stored.name, stored.suite, stored.source) == (task.name, task.suite, task.source)
        assert (stored.known_turns, stored.closing) == (tuple(task.known_turns), tuple(task.closing))
        assert (stored.facts, stored.ground_truth_count) == (dict(task.facts), task.ground_truth_count)
        for turn in task.known_turns or range(30):
            ours, theirs = stored.expected(turn), task.expected(turn)
            assert (ours.said, ours.reply) == (tuple(theirs.said), theirs.reply)
            assert [call.as_json() for call in ours.calls] == [call.as_json() for call in theirs.calls]


@pytest.fixture
def without_methods(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def forget() -> None:
        def get(name: str) -> None:
            raise RigError(f"no method is called {name!r}")

        monkeypatch.setattr(methods, "get", get)

    return forget


def test_a_transcript_is_the_same_without_the_method(
    tmp_path: Path, without_methods: Callable[[], None]
) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    with Runs.open(path) as runs:
        before = runs.transcript(runs.get("latest"), "alarms")
    without_methods()
    with Runs.open(path) as runs:
        after = runs.transcript(runs.get("latest"), "alarms")
    assert isinstance(after.conversation, StoredTask)
    assert after.turns == before.turns
    for turn in before.turn_numbers:
        assert after.conversation.expected(turn).said == before.conversation.expected(turn).said


@pytest.mark.parametrize("change", ["DELETE FROM task_views", "UPDATE task_views SET json = '{}'"])
def test_of_an_older_store_what_is_stored_is_shown(
    tmp_path: Path, without_methods: Callable[[], None], change: str
) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    with closing(sqlite3.connect(path)) as database:
        database.execute(change)
        database.commit()
    without_methods()
    with Runs.open(path) as runs:
        transcript = runs.transcript(runs.get("latest"), "alarms")
    assert len(transcript.turns) == len(transcript.conversation.known_turns)
    assert all(not transcript.conversation.expected(turn).calls for turn in transcript.turn_numbers)
