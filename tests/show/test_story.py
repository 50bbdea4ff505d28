"""A story is the same whether it was heard as events or read from the store."""

import lzma
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import small_talks

from rig.compare.compare import compare
from rig.core.events import (
    ConversationFinished,
    ConversationStarted,
    Event,
    Speed,
    Where,
)
from rig.core.paths import DEMO
from rig.methods.scripted import Scripted
from rig.plugins.rescore.reexecute import notes_on
from rig.show.story import Story, errors_by_kind
from rig.show.transcript import transcript_text
from rig.store import Runs, StoredRun, Transcript
from tui.live.layout import LENGTHS
from tui.live.state import ConversationState, RunState
from tui.stored.record import read_state, turn_events


def heard(run: StoredRun, where: Where, transcript: Transcript) -> ConversationState:
    """The state that a conversation's events give."""
    events: list[Event] = [ConversationStarted(where)]
    for turn in transcript.turns:
        events += turn_events(where, transcript, turn)
    state = RunState(declaration=run.declaration)
    state.apply_all(events)
    if transcript.counts is not None:
        errors = dict(errors_by_kind(transcript.turns.values()))
        state.apply(ConversationFinished(where, transcript.counts, {}, Speed(), errors))
    conversation = state.conversation(where)
    conversation.turns = len(transcript.conversation.known_turns)
    conversation.turns_done = len(transcript.turns)
    return conversation


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "runs.sqlite"
    path.write_bytes(lzma.decompress(DEMO.read_bytes()))
    return path


@pytest.fixture(scope="module")
def erratic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("erratic") / "runs.sqlite"
    small_talks.play(small_talks.plan(path, Scripted(small_talks.erratic), repeats=4))
    return path


def conversations(path: Path) -> Iterator[tuple[StoredRun, Where, Transcript]]:
    with Runs.open(path) as runs:
        run = runs.get("latest")
        for arm in run.arms:
            for name in run.conversations:
                for repeat in range(run.repeats):
                    transcript = runs.transcript(run, name, arm.position, repeat)
                    yield run, Where(arm.position, name, repeat), transcript


@pytest.mark.parametrize("played", ["demo", "erratic"])
def test_events_and_rows_tell_the_same(played: str, request: pytest.FixtureRequest) -> None:
    store: Path = request.getfixturevalue(played)
    compared = 0
    for run, where, transcript in conversations(store):
        live, read = heard(run, where, transcript), read_state(store, run.id, where)
        assert live.transcript is not None
        assert read.transcript is not None
        assert read.transcript.entries == live.transcript.entries
        assert (read.holds, read.counts, read.sign) == (live.holds, live.counts, live.sign)
        assert (read.incorrect_actions, read.turns_done) == (live.incorrect_actions, live.turns_done)
        dues = [tuple(replace(due, by=None) for due in turn) for turn in read.expected]
        assert dues == live.expected
        compared += len(live.transcript.entries)
    assert compared > 100


def test_every_piece_of_a_story_is_in_its_text(erratic: Path) -> None:
    for _, _, transcript in conversations(erratic):
        story, text = Story.of(transcript, LENGTHS), transcript_text(transcript)
        for turn in story.turns:
            assert turn.heading.text() in text
            assert all(view.sign.label in text for view in turn.steps)
            assert turn.made == sum(due.by is not None for due in turn.due)


def test_the_demo_is_a_run_of_this_version(demo: Path) -> None:
    with Runs.open(demo) as runs:
        comparison = compare(runs, ["latest"])
        run = runs.get("latest")
        transcript = runs.transcript(run, run.conversations[0], 0, 0)
    assert len(comparison.arms) == 3
    # It was not started here, so what it names is checked as that of a stranger's run is.
    assert notes_on(run, transcript).lines
