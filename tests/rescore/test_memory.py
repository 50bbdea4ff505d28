"""Scoring a run keeps nothing of a conversation but what is printed of it."""

import gc
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_talks
import stored_runs

from rig.events import Where
from rig.methods.scripted import Scripted
from rig.rescore import Group, Scored, Spool, score_run

Rig = Callable[..., Any]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "runs.sqlite"
    models = (Scripted(small_talks.erratic), small_talks.oracle())
    small_talks.play(small_talks.plan(path, *models, repeats=3))
    return path


def test_conversations_are_let_go_of_once_they_are_taken(store: Path) -> None:
    run = small_talks.stored(store)
    group = Group("arm", run.declaration, as_json=True)
    alive: list[int] = []

    def take(_: Where, scored: Scored) -> None:
        group.add(scored)
        gc.collect()
        alive.append(sum(isinstance(each, Scored) for each in gc.get_objects()))

    score_run(store, run, small_talks.setup(), take)
    assert len(alive) == 2 * 3 * 3
    assert max(alive) == 1
    assert group.conversations.length == 18


def test_what_is_printed_is_one_json_value_whatever_is_in_it(tmp_path: Path, rig: Rig) -> None:
    done = rig("score", "abcde", "--json", "--runs", stored_runs.write(tmp_path / "runs.sqlite"))
    assert (done.code, done.err) == (0, "")
    value = json.loads(done.out)
    assert done.out == json.dumps(value, indent=2) + "\n"
    names = [(each["conversation"], each["repeat"]) for each in value["arms"][0]["conversations"]]
    assert len(names) == len(set(names)) == 3
    for arm in value["arms"]:
        assert arm["total"]["metrics"]["conversations"] == 3
        of_each = [each["metrics"]["matches"] for each in arm["conversations"]]
        assert arm["total"]["metrics"]["matches"] == sum(of_each)


def test_a_spool_gives_back_what_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rig.rescore.group._IN_MEMORY", 10)
    values = [{"a": "\x1e\n\ud800\u2028", "b": [number]} for number in range(40)]
    spool = Spool()
    for value in values:
        spool.add(value)
    assert [json.loads(text) for text in spool] == values
    assert [json.loads(text) for text in spool] == values
    assert spool.length == 40
    assert list(Spool()) == []
