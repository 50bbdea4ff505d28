"""Scoring a run keeps nothing of a conversation but what is printed of it."""

import gc
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_talks
import stored_runs

from rig.core.events import Where
from rig.methods.scripted import Scripted
from rig.plugins.rescore.stored import Scored, score_run
from rig.plugins.rescore.verb import ScoredGroup, Spool
from rig.plugins.tooltalk import setup
from rig.plugins.tooltalk.conversations import Conversation
from rig.plugins.tooltalk.setup import replayed_truths
from rig.store import Runs

Rig = Callable[..., Any]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "runs.sqlite"
    models = (Scripted(small_talks.erratic), small_talks.oracle())
    small_talks.play(small_talks.plan(path, *models, repeats=3))
    return path


def test_conversations_are_let_go_of_once_they_are_taken(store: Path) -> None:
    run = small_talks.stored(store)
    group = ScoredGroup("arm", run.declaration, is_json=True)
    alive: list[int] = []

    def take(_: Where, scored: Scored) -> None:
        group.add(scored)
        gc.collect()
        # Some objects raise when they are asked for their class.
        alive.append(sum(type(each) is Scored for each in gc.get_objects()))

    gc.freeze()  # What other tests of this process have left is not looked at.
    try:
        score_run(store, run, small_talks.setup(), take)
    finally:
        gc.unfreeze()
    assert len(alive) == 2 * 3 * 3
    assert max(alive) == 1
    assert group.conversations.length == 18


@pytest.mark.parametrize(("most", "replays"), [(500, 3), (3, 3), (1, 18)])
def test_the_ground_truth_is_executed_once_for_all_repeats(
    store: Path, monkeypatch: pytest.MonkeyPatch, most: int, replays: int
) -> None:
    """As long as there is room for all conversations; the scores are the same without."""
    made: list[str] = []

    def counting(conversation: Conversation, *rest: Any) -> Any:
        made.append(conversation.name)
        return replayed_truths(conversation, *rest)

    monkeypatch.setattr(setup, "replayed_truths", counting)
    monkeypatch.setattr(setup, "_MOST_REPLAYED", most)
    run, found = small_talks.stored(store), []
    score_run(store, run, small_talks.setup(), lambda where, scored: found.append((where, scored.score)))
    assert len(made) == replays
    with Runs.open(store) as runs:
        for where, score in found:
            transcript = runs.transcript(run, where.conversation, where.arm, where.repeat)
            assert score.counts == transcript.counts


def test_what_is_printed_is_one_json_value_whatever_is_in_it(tmp_path: Path, rig: Rig) -> None:
    done = rig("score", "abcde", "--json", "--runs", stored_runs.write(tmp_path / "runs.sqlite"))
    assert (done.code, done.err) == (0, "")
    value = done.json
    assert done.out.splitlines()[-1] == json.dumps(value)
    names = [(each["conversation"], each["repeat"]) for each in value["arms"][0]["conversations"]]
    assert len(names) == len(set(names)) == 3
    for arm in value["arms"]:
        assert arm["total"]["metrics"]["conversations"] == 3
        of_each = [each["metrics"]["matches"] for each in arm["conversations"]]
        assert arm["total"]["metrics"]["matches"] == sum(of_each)


def test_a_spool_gives_back_what_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rig.plugins.rescore.verb._IN_MEMORY", 10)
    values = [{"a": "\x1e\n\ud800\u2028", "b": [number]} for number in range(40)]
    spool = Spool()
    for value in values:
        spool.add(value)
    assert list(spool) == values
    assert list(spool) == values
    assert spool.length == 40
    assert list(Spool()) == []
