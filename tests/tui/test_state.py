from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from counted import counts
from hypothesis import given, settings
from hypothesis import strategies as st

import tui.live.state
from rig.core.calls import Call, Difference, ExecutedCall, Outcome, Verdict
from rig.core.events import (
    ArmFinished,
    ArmInfo,
    ArmReady,
    ArmStarted,
    CallJudged,
    ConversationSkipped,
    ConversationStarted,
    Event,
    Notice,
    PieceGenerated,
    PredictionMade,
    PromptRead,
    RunFinished,
    RunStarted,
    Speed,
    TurnStarted,
    Where,
)
from rig.core.metrics import TASKS
from rig.core.models import Prediction
from rig.running.control import Control
from rig.show import signs
from rig.show.steps import Called, CallVerdict, Ended, Replied, Said, TurnHeading
from rig.store import Cell
from tui.live.layout import Draft, NoticeLine
from tui.live.live_run import EventQueue, LiveRun
from tui.live.state import ConversationState, RunState, StoredBefore


def folded(events: list[Any]) -> RunState:
    state = RunState()
    state.apply_all(events)
    return state


def check(state: RunState) -> None:
    """What holds of every state of a run that is going on."""
    assert state.turns_done <= state.turns_total
    assert state.turns_done == sum(one.turns_done for one in state.conversations.values())
    assert state.failures == sum(
        one.status in (signs.FAILED, signs.ERROR) for one in state.conversations.values()
    )
    assert state.current is None or state.current in state.conversations
    for one in state.conversations.values():
        entries = one.transcript.entries if one.transcript else []
        assert not any(isinstance(entry, Draft) for entry in entries[:-1])
        assert (one.status is signs.WAITING) <= (not entries or isinstance(entries[-1], NoticeLine))
        assert one.over == any(isinstance(entry, Ended) for entry in entries)
        assert one.turns_done <= len(one.expected) <= max(one.turns, one.turns_done)
        assert {e.place for turn in one.expected for e in turn} >= set(one.holds.values())


def test_every_prefix_of_a_run_is_a_consistent_state(whole_run: list[Event]) -> None:
    state = RunState()
    for event in whole_run:
        state.apply(event)
        check(state)
    assert state.finished
    assert Counter(one.status for one in state.conversations.values()) == {
        signs.SUCCESS: 2,
        signs.FAILED: 1,
        signs.ERROR: 1,
    }
    assert state.turns_done == state.turns_total == 8


def interleaved(stream: Callable[..., Any], order: list[int]) -> list[Event]:
    """The events of four conversations, taken from one after the other as `order` says, then what is left."""
    parts: list[list[Event]] = []
    for number, kind in enumerate(("success", "failure", "error", "half")):
        run = stream(conversations=4)
        start = len(run.events)
        getattr(run, kind)(number)
        parts.append(run.events[start:])
    taken = []
    for part in [*order, *(number for number in range(4) for _ in parts[number])]:
        taken += [parts[part].pop(0)] if parts[part] else []
    return [*stream(conversations=4).events, *taken]


@settings(deadline=None, max_examples=50)
@given(order=st.lists(st.integers(0, 3), max_size=400), stop=st.integers(0, 500))
def test_conversations_that_interleave_give_consistent_states(
    stream: Callable[..., Any], order: list[int], stop: int
) -> None:
    state = RunState()
    for event in interleaved(stream, order)[:stop]:
        state.apply(event)
        check(state)


@settings(deadline=None, max_examples=50)
@given(order=st.lists(st.integers(0, 3), max_size=200))
def test_what_is_told_of_a_conversation_does_not_depend_on_what_else_goes_on(
    stream: Callable[..., Any], order: list[int]
) -> None:
    feed = EventQueue()
    for event in interleaved(stream, order):
        feed.emit(event)
    mixed, one_by_one = folded(feed.drain()), folded(interleaved(stream, []))
    for where, expected in one_by_one.conversations.items():
        found = mixed.conversations[where]
        assert (found.status, found.expected, found.holds) == (
            expected.status,
            expected.expected,
            expected.holds,
        )
        assert _entries(found) == _entries(expected)


def _entries(conversation: ConversationState) -> list[Any]:
    """What is told of a conversation; how often a draft grew is no part of it."""
    entries = conversation.transcript.entries if conversation.transcript else []
    return [replace(each, revision=0) if isinstance(each, Draft) else each for each in entries]


def test_an_interrupted_run_leaves_nothing_running(mid_run: list[Event]) -> None:
    state = folded([*mid_run, RunFinished("r", interrupted=True)])
    check(state)
    assert not any(one.status is signs.RUNNING for one in state.conversations.values())
    stopped = state.conversations[Where(0, "DeleteAlarm-easy")]
    assert stopped.transcript is not None
    assert isinstance(stopped.transcript.entries[-1], NoticeLine)


def test_current_stays_with_a_conversation_until_it_is_over(stream: Callable[..., Any]) -> None:
    run = stream(conversations=2)
    first, second = run.where(0), run.where(1)
    state = folded([*run.events, ConversationStarted(first), ConversationStarted(second)])
    state.apply(PieceGenerated(second, 1, 0, "x", 1, False))
    assert state.current == first
    other = stream(conversations=2)
    other.success(0)
    state.apply(other.events[-1])
    assert state.current == second


def test_a_conversation_that_is_skipped_is_not_waited_for(stream: Callable[..., Any]) -> None:
    run = stream(conversations=3)
    first, second, third = map(run.where, range(3))
    state = folded([*run.events, ConversationStarted(first), ConversationStarted(second)])
    before = state.changes
    state.apply(ConversationSkipped(first, 1))
    assert (state.current, state.conversations[first].status) == (second, signs.SKIPPED)
    assert state.changes > before
    state.apply(ConversationSkipped(third, 2))
    assert state.conversations[third].status is signs.SKIPPED
    assert state.failures == 0


def test_an_arm_that_fails_leaves_nothing_running(mid_run: list[Event]) -> None:
    state = folded([*mid_run, ArmFinished(0, {}, Speed(), {}, "out of memory")])
    assert not any(one.status is signs.RUNNING for one in state.conversations.values())
    transcript = state.conversations[Where(0, "DeleteAlarm-easy")].transcript
    assert transcript is not None
    assert transcript.entries[-1] == NoticeLine("the arm failed here")


def test_a_transcript_tells_what_was_said_and_done(whole_run: list[Event]) -> None:
    conversation = folded(whole_run).conversations[Where(0, "AddReminder-easy")]
    assert conversation.transcript is not None
    entries = conversation.transcript.entries
    assert next(entry for entry in entries if isinstance(entry, Said)).text.text.startswith("Which alarms")
    assert [entry.name.text for entry in entries if isinstance(entry, Called)] == [
        "FindAlarms",
        "DeleteAlarm",
        "AddReminder",
    ]
    assert [entry.bad_action for entry in entries if isinstance(entry, CallVerdict)] == [False, True, False]
    assert [entry.text.text for entry in entries if isinstance(entry, Replied)][-1] == "I took care of it."
    assert conversation.incorrect_actions == 1


def test_session_tokens_are_not_shown(mid_run: list[Event]) -> None:
    conversation = folded(mid_run).conversations[Where(0, "AddAlarm-easy")]
    assert [name.text for name, _ in conversation.expected[0][0].call.pairs] == ["time"]


def test_a_draft_gives_way_to_the_prediction() -> None:
    where = Where(0, "c")
    state = folded(
        [PieceGenerated(where, 1, 0, '{"to', 1, False), PieceGenerated(where, 1, 0, "ol", 1, False)]
    )
    transcript = state.conversations[where].transcript
    assert transcript is not None
    draft = transcript.entries[0]
    assert isinstance(draft, Draft)
    assert (draft.text, draft.tokens, draft.revision) == ('{"tool', 2, 2)
    state.apply(PredictionMade(where, 1, 0, Prediction(call=Call("T", {}))))
    assert [type(entry) for entry in transcript.entries] == [Called]


def test_texts_of_any_size_are_bounded() -> None:
    where = Where(0, "c")
    big = "x" * 5_000_000
    call = Call(big, {big: big})
    state = folded(
        [
            TurnStarted(where, 1, (big,), (ExecutedCall(call, Outcome(big)),), big),
            *(PieceGenerated(where, 1, 0, big, 1, False) for _ in range(3)),
            PredictionMade(where, 1, 0, Prediction(raw=big, call=call)),
            CallJudged(
                where,
                1,
                0,
                ExecutedCall(call, Outcome(None, big)),
                Verdict(False, reason=big, differences=(Difference(big, big, big),) * 100),
            ),
            PredictionMade(where, 1, 1, Prediction(reply=big)),
            Notice(big),
        ]
    )
    transcript = state.conversations[where].transcript
    assert transcript is not None
    assert len(repr(state)) < 100_000
    replied = transcript.entries[-1]
    assert isinstance(replied, Replied)
    assert replied.text.omitted == 5_000_000 - len(replied.text.text)


def test_arguments_that_no_json_can_hold_are_shown_as_such() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    where = Where(0, "c")
    state = folded([PredictionMade(where, 1, 0, Prediction(call=Call("T", nested)))])
    transcript = state.conversations[where].transcript
    assert transcript is not None
    called = transcript.entries[0]
    assert isinstance(called, Called)
    assert "cannot be shown" in called.arguments.text


def test_memory_is_bounded_over_many_conversations(stream: Callable[..., Any], monkeypatch: Any) -> None:
    monkeypatch.setattr(tui.live.state, "MEMORY", 100_000)
    run = stream(conversations=500)
    state = folded(run.events)
    for number in range(500):
        part = stream(conversations=500)
        skipped = len(part.events)
        part.failure(number)
        state.apply_all(part.events[skipped:])
        held = [one.transcript.weight for one in state.conversations.values() if one.transcript]
        assert sum(held) <= 100_000
    kept = [one for one in state.conversations.values() if one.transcript is not None]
    assert 5 < len(kept) < 100
    assert state.conversations[run.where(499)].transcript is not None
    first = state.conversations[run.where(0)]
    assert first.dropped
    assert first.status is signs.FAILED
    assert not first.expected


def test_a_resumed_run_knows_what_was_over_before(stream: Callable[..., Any]) -> None:
    run = stream(conversations=5, turns=3)
    won, lost = counts(successes=1), counts()
    cells = (
        Cell(0, run.names[0], 0, 3, 3, won),
        Cell(0, run.names[1], 0, 3, 3, lost),
        Cell(0, run.names[2], 0, 3, 3, lost, {"invalid": 1}),
        Cell(0, run.names[3], 0, 3, 1),
        Cell(0, run.names[4], 0, 3, 0),
    )
    state = folded([*run.events, StoredBefore(cells)])
    assert [one.status.word for one in state.conversations.values()] == [
        *("success", "failed", "error", "waiting", "waiting")
    ]
    assert state.failures == 2
    resumed = run.where(3)
    state.apply_all([ConversationStarted(resumed, 3), TurnStarted(resumed, 3, (), (), "")])
    transcript = state.conversations[resumed].transcript
    assert transcript is not None
    heading = transcript.entries[-1]
    assert isinstance(heading, TurnHeading)
    assert heading.number == 2


def test_the_latest_metrics_of_an_arm_are_those_of_its_events(mid_run: list[Event]) -> None:
    state = folded(mid_run)
    assert state.arms[0].counts is not None
    assert state.arms[0].counts[TASKS] == 4
    state.apply(ArmFinished(0, counts(9), state.arms[0].speed, {}, "out of memory"))  # type: ignore[arg-type]
    assert state.arms[0].counts[TASKS] == 9
    assert state.arms[0].failure == "out of memory"


def test_arms_and_conversations_nobody_announced_are_made_up() -> None:
    state = folded([ConversationStarted(Where(2, "surprise"))])
    assert len(state.arms) == 0
    state.apply(ArmFinished(2, {}, state.arm(2).speed, {}))  # type: ignore[arg-type]
    assert len(state.arms) == 3
    assert state.conversations[Where(2, "surprise")].status is signs.RUNNING


def test_a_fault_that_no_verdict_names_marks_a_conversation_as_in_the_store(stream: Any) -> None:
    run = stream(1)
    run.finish(run.start(0), counts(1, 0, 0.0, 1, 1, bad_actions=1))
    state = folded(run.events)
    assert [one.sign for one in state.conversations.values()] == [signs.INCORRECT]


def test_the_view_says_how_far_the_beginning_of_all_prompts_is_read() -> None:
    queue = EventQueue()
    live = LiveRun(queue, Control())
    conditions = []
    arm = ArmInfo("qwen")
    for event in (
        RunStarted("abcde", "runs.sqlite", (arm,), ()),
        ArmStarted(0),
        PromptRead(0, 512, 3450),
        ArmReady(0, arm, 70.0),
    ):
        queue.emit(event)
        live.catch_up()
        conditions.append(live.condition)
    assert conditions == ["", "loading the model", "reading the prompt, 14%", ""]
