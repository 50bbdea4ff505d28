"""What is said to be wrong with a turn: a table of things a model may do, and what a user is told of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import pytest
import small_talks

from rig.core.calls import Call, CallPlace, ExecutedCall, Fault, FaultKind
from rig.plugins.matching.matching import Grader, Mode
from rig.plugins.tooltalk.conversations import Conversation, parse_conversation
from rig.plugins.tooltalk.faults import Acted, find_faults
from rig.plugins.tooltalk.scoring import count
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.scoring import Exact

Done: TypeAlias = Mapping[int, tuple[Sequence[Call], str | None]]
"""By turn: the calls a model makes, and its reply (None: the generation failed)."""

ALARM = Call("AddAlarm", {"time": "07:00:00"})
NOTE = Call("SendMessage", {"receiver": "theo", "message": "Lunch at noon"})
SEARCH = Call("FindAlarms", {"start_range": "18:00:00", "end_range": "18:00:00"})


def conversation() -> Conversation:
    """Turn 1 asks back, turn 3 sets an alarm, turn 5 looks one up and deletes it, turn 7 sends a message."""
    source = small_talks.source(
        "day",
        "Set an alarm for tomorrow morning, would you.",
        ("For what time?", []),
        "Seven.",
        ("Set.", [ALARM]),
        "I do not need the one at six in the evening any more.",
        ("It is gone.", [SEARCH, Call("DeleteAlarm", {"alarm_id": "0001-0001"})]),
        "Tell theo: Lunch at noon",
        ("Sent.", [NOTE]),
    )
    return parse_conversation(source, "day")


RIGHT: Done = {
    1: ([], "For what time?"),
    3: ([ALARM], "Set."),
    5: ([SEARCH, Call("DeleteAlarm", {"alarm_id": "0001-0001"})], "It is gone."),
    7: ([NOTE], "Sent."),
}


def faults(done: Done, mode: Mode = "default") -> tuple[Fault, ...]:
    """The faults of a model that does all else right. There are some whenever it is no success."""
    talk = conversation()
    simulator = small_talks.simulator()
    simulator.start(*talk.start)
    played: dict[int, list[ExecutedCall]] = {}
    truths = []
    for index, turn in enumerate(talk.turns):
        state = simulator.snapshot()
        if index in RIGHT:
            played[index] = [simulator.execute(call) for call in {**RIGHT, **done}[index][0]]
        simulator.restore(state)
        for number, truth in enumerate(turn.calls):
            named = replace(truth, username=simulator.execute(truth.call).username)
            truths.append((CallPlace(index, number), named))
    grader = Grader(mode, Exact(), TOOLTALK)
    matching = grader.start(truths)
    for index, calls in played.items():
        for call in calls:
            matching.add(index, call)
    verdicts = iter(matching.verdicts())
    acted = {}
    for index, calls in played.items():
        reply = {**RIGHT, **done}[index][1]
        error = "truncated" if reply is None else None
        acted[index] = Acted(tuple((call, next(verdicts)) for call in calls), reply, error)
    found = find_faults(talk, acted, truths, matching)
    counts = count(matching.judged(), len(truths), TOOLTALK.is_action)
    assert bool(found) is not bool(counts["successes"])
    return found


K = FaultKind
TABLE: list[tuple[str, Done, list[tuple[FaultKind, int, str, str]]]] = [
    ("all right", {}, []),
    ("a lookup too many", {3: ([SEARCH, ALARM], "Set.")}, []),
    (
        "called before the user gave the time",
        {1: ([Call("AddAlarm", {"time": "04:35:00"})], "Done.")},
        [(K.UNNEEDED_ACTION, 1, "AddAlarm", "")],
    ),
    (
        "a made-up id",
        {5: ([SEARCH, Call("DeleteAlarm", {"alarm_id": "9999-9999"})], "It is gone.")},
        [
            (K.MADE_UP, 5, "DeleteAlarm", "alarm_id"),
            (K.GAVE_UP, 5, "DeleteAlarm", ""),
            (K.CLAIMED_SUCCESS, 5, "DeleteAlarm", ""),
        ],
    ),
    (
        "a made-up receiver where nothing was due",
        {1: ([Call("SendMessage", {"receiver": "zelda", "message": "Hi"})], "For what time?")},
        [(K.MADE_UP, 1, "SendMessage", "receiver")],
    ),
    ("nothing done", {7: ([], "Who is theo?")}, [(K.MISSING_CALL, 7, "SendMessage", "")]),
    (
        "nothing done but said so",
        {7: ([], "I've sent it.")},
        [(K.MISSING_CALL, 7, "SendMessage", ""), (K.CLAIMED_SUCCESS, 7, "SendMessage", "")],
    ),
    (
        "the second call missing",
        {5: ([SEARCH], "There is one at six.")},
        [(K.MISSING_CALL, 5, "DeleteAlarm", "")],
    ),
    (
        "another tool",
        {7: ([Call("AddReminder", {"task": "Lunch at noon"})], "Noted.")},
        [(K.WRONG_TOOL, 7, "AddReminder", "")],
    ),
    (
        "another lookup",
        {5: ([Call("GetReminders"), Call("DeleteAlarm", {"alarm_id": "0001-0001"})], "It is gone.")},
        [(K.WRONG_TOOL, 5, "GetReminders", "")],
    ),
    (
        "no such tool",
        {7: ([Call("SendText", {"to": "theo"})], "Hm.")},
        [(K.WRONG_TOOL, 7, "SendText", ""), (K.GAVE_UP, 7, "SendText", "")],
    ),
    (
        "another argument",
        {3: ([Call("AddAlarm", {"time": "19:00:00"})], "Set.")},
        [(K.WRONG_ARGUMENT, 3, "AddAlarm", "time")],
    ),
    (
        "another text",
        {7: ([Call("SendMessage", {"receiver": "theo", "message": "Dinner"})], "Sent.")},
        [(K.WRONG_ARGUMENT, 7, "SendMessage", "message")],
    ),
    (
        "a wrong format, then nothing",
        {3: ([Call("AddAlarm", {"time": "7 am"})], "I could not.")},
        [(K.WRONG_FORMAT, 3, "AddAlarm", "time"), (K.GAVE_UP, 3, "AddAlarm", "")],
    ),
    (
        "a wrong format that comes right does no harm, but to the score of another turn",
        {3: ([Call("AddAlarm", {"time": "7 am"}), ALARM], "Set."), 7: ([], "No.")},
        [(K.WRONG_FORMAT, 3, "AddAlarm", "time"), (K.MISSING_CALL, 7, "SendMessage", "")],
    ),
    (
        "a missing, an unknown and a null argument",
        {7: ([Call("SendMessage", {"receiver": None, "urgent": True})], "Hm.")},
        [
            (K.WRONG_FORMAT, 7, "SendMessage", "receiver"),
            (K.WRONG_FORMAT, 7, "SendMessage", "urgent"),
            (K.WRONG_FORMAT, 7, "SendMessage", "message"),
            (K.GAVE_UP, 7, "SendMessage", ""),
        ],
    ),
    (
        "arguments that are no object",
        {7: ([Call("SendMessage", ["theo"])], "Hm.")},
        [(K.WRONG_FORMAT, 7, "SendMessage", "arguments"), (K.GAVE_UP, 7, "SendMessage", "")],
    ),
    ("done twice", {3: ([ALARM, ALARM], "Set.")}, [(K.REPEATED_CALL, 3, "AddAlarm", "")]),
    (
        "done again later",
        {5: ([*RIGHT[5][0], Call("AddAlarm", {"time": "7:00:00"})], "It is gone.")},
        [(K.REPEATED_CALL, 5, "AddAlarm", "")],
    ),
    (
        "tried again without a change",
        {7: ([Call("SendMessage", {"receiver": "theo"})] * 2, "Hm.")},
        [
            (K.WRONG_FORMAT, 7, "SendMessage", "message"),
            (K.REPEATED_CALL, 7, "SendMessage", ""),
            (K.GAVE_UP, 7, "SendMessage", ""),
        ],
    ),
    (
        "more than was asked for",
        {3: ([ALARM, Call("AddReminder", {"task": "wake up"})], "Set.")},
        [(K.UNNEEDED_ACTION, 3, "AddReminder", "")],
    ),
    ("the generation failed", {7: ([], None)}, [(K.GENERATION_FAILED, 7, "SendMessage", "")]),
    (
        "the generation failed when all was done",
        {7: ([NOTE], None), 3: ([], "What?")},
        [(K.MISSING_CALL, 3, "AddAlarm", "")],
    ),
]


@pytest.mark.parametrize(("name", "done", "expected"), TABLE, ids=[row[0] for row in TABLE])
def test_faults(name: str, done: Done, expected: list[tuple[FaultKind, int, str, str]]) -> None:
    found = faults(done)
    assert [(fault.kind, fault.turn, fault.tool, fault.argument) for fault in found] == expected


def test_a_wrong_argument_says_which_and_what_was_expected() -> None:
    [fault] = faults({3: ([Call("AddAlarm", {"time": "19:00:00"})], "Set.")})
    assert (fault.argument, fault.expected, fault.got) == ("time", "07:00:00", "19:00:00")
    assert (fault.step, fault.ground_truth) == (0, (3, 0))
    assert fault.text == "AddAlarm: time: expected '07:00:00', got '19:00:00'"


def test_each_of_two_calls_is_held_against_its_own_truth() -> None:
    late = Call("DeleteAlarm", {"alarm_id": "0001-0002"})
    found = faults({5: ([Call("FindAlarms", {"start_range": "19:00:00"}), late], "Gone.")})
    assert [(fault.tool, fault.argument, fault.ground_truth) for fault in found] == [
        ("FindAlarms", "response", (5, 0)),
        ("DeleteAlarm", "alarm_id", (5, 1)),
    ]


def test_an_action_too_early_says_when_it_is_due() -> None:
    [fault] = faults({1: ([Call("AddAlarm", {"time": "08:00:00"})], "Set.")})
    assert fault.text == "AddAlarm was not called for before turn 2"
    [fault] = faults({7: ([NOTE, Call("AddReminder", {"task": "x"})], "Sent.")})
    assert fault.text == "AddReminder was not called for at all"


def test_a_right_call_early_is_no_fault_unless_turns_are_graded_apart() -> None:
    early: Done = {5: ([*RIGHT[5][0], NOTE], "It is gone."), 7: ([], "As I said.")}
    assert faults(early) == ()
    kinds = [(fault.kind, fault.turn) for fault in faults(early, "per-turn")]
    assert kinds == [(K.MADE_UP, 5), (K.MISSING_CALL, 7)]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["default", "upstream", "per-turn"])
def test_whatever_is_done_a_failure_has_a_fault_and_a_success_has_none(mode: Mode) -> None:
    calls: list[Any] = [ALARM, NOTE, SEARCH, Call("LogoutUser"), Call("Nothing"), Call("AddAlarm", None)]
    for turn in RIGHT:
        for first in calls:
            for second in calls:
                done: Done = {turn: ([first, second], "Hm."), 7 if turn != 7 else 3: ([], "No.")}
                assert all(fault.text and "\n" not in fault.text for fault in faults(done, mode))


def test_what_is_missing_or_unknown_is_called_so() -> None:
    call = Call("SendMessage", {"receiver": None, "urgent": True})
    assert [fault.text for fault in faults({7: ([call], "Hm.")})[:3]] == [
        "SendMessage: 'receiver' should be a string, got None",
        "SendMessage: there is no argument 'urgent'",
        "SendMessage: 'message' is missing",
    ]


def test_values_in_a_text_are_short_and_inert() -> None:
    [first, *_] = faults({3: ([Call(small_talks.HOSTILE, {"x": "y" * 10**6})], "Hm.")})
    assert len(first.text) < 400
    assert first.text.isprintable()
